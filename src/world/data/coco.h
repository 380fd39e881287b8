/* coco.h - the boxes of many pictures as COCO has them: one JSON file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_COCO_H
#define EG_COCO_H

#include "world/data/yolo_text.h"

/* It has the pictures' boxes, checked and in the pictures' order, and the names of classes. */
typedef struct eg_coco eg_coco;

/* Reads a file of n bytes; name is for errors. Free with eg_coco_free. EG_EFORMAT: it is no
 * JSON or misses what must be there; a box is of no picture or no category. */
eg_status eg_coco_parse(const char *name, const void *bytes, size_t n, eg_coco **out);
void eg_coco_free(eg_coco *c); /* NULL is fine */

/* The names of its categories, by their numbers: [*n], borrowed. */
const char *const *eg_coco_names(const eg_coco *c, int64_t *n);

/* The boxes of a picture, by its file's name without folders; size: [height, width] of the
 * picture, where the file tells none. Classes are told by name: names [to->classes]. EG_ENOENT:
 * the file does not know the picture. */
eg_status eg_coco_boxes(const eg_coco *c, const char *picture, const int64_t size[2],
                        const char *const *names, eg_box_list *to);

#endif
