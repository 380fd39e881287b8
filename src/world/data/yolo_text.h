/* yolo_text.h - the text beside a picture: a line "class x y w h" for every box.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_YOLO_TEXT_H
#define EG_YOLO_TEXT_H

#include <engram/box.h>

/* Boxes of one picture, and how many classes there may be. */
typedef struct eg_box_list {
    int64_t classes;
    int64_t n;
    eg_box box[EG_MAX_BOXES];
} eg_box_list;

/* Adds a box, cut to its picture; one that cannot be is EG_EFORMAT: a class that is none, a
 * size of 0 or less, a centre outside, more than EG_MAX_BOXES on one picture. */
eg_status eg_box_list_add(eg_box_list *to, const eg_box *b);

/* Reads a text, which is followed by a zero. name is for errors, which have the line. */
eg_status eg_yolo_text_parse(const char *name, const char *text, eg_box_list *to);

#endif
