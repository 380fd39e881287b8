/* engram/box.h - boxes on images: overlap, suppression, typical shapes, average precision.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A box is its centre and its size, as shares of the image, and its class. A target of `width`
 * floats is so many boxes, one after the other, filled up with boxes of class EG_NO_BOX. A box
 * whose class is EG_CROWD or less marks a crowd of class EG_CROWD - class: nothing is learned
 * of it, and what is found there is neither right nor wrong.
 */
#ifndef EG_BOX_H
#define EG_BOX_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum { EG_NO_BOX = -1, EG_CROWD = -2, EG_MAX_BOXES = 128 };

typedef struct eg_box {
    float label, x, y, w, h; /* its class, or EG_NO_BOX, or EG_CROWD less it */
} eg_box;

enum { EG_BOX_SIZE = 5, EG_MOST_FOUND = 100 }; /* floats of a box in a target */

/* A box that was found, and how surely. */
typedef struct eg_found {
    eg_box box;
    float score;
} eg_found;

/* Area of both over the area of either; 0 where there is none. Of a crowd and a box: over the
 * area of the box. */
double eg_box_overlap(const eg_box *a, const eg_box *b);

/* Moves the boxes of a target as a crop and a flip move their image: `left` and `top` shares of
 * it are cut off there (below 0: added), then it is mirrored. What of a box is outside is cut
 * off; one with its centre outside is no longer there. */
typedef struct eg_box_move {
    double left, top;
    bool flip;
} eg_box_move;
void eg_boxes_move(float *target, int64_t width, const eg_box_move *how);

/* Greedy suppression: sorts by score, the first of equals first, and takes away every box that
 * overlaps one of its class before it by more than `most`; EG_MOST_FOUND of a class may stay.
 * Returns how many do. */
int64_t eg_boxes_suppress(eg_found *found, int64_t n, double most);

/* The n shapes [n, 2] that suit sizes [n_sizes, 2] best: k-means by 1 - overlap of boxes with
 * one centre (Redmon and Farhadi, 2017), from sizes of evenly spaced areas. Ascending by area.
 * EG_EINVAL: fewer different sizes than n. */
eg_status eg_boxes_shapes(const float *sizes, int64_t n_sizes, int64_t n, double *shapes);

/* --- Average precision by COCO's rules: of each class, 101 points of recall, the 100 surest
 * boxes of an image, each of which takes the free true box that it overlaps most. */

enum { EG_OVERLAPS = 10, EG_RECALLS = 101 }; /* overlaps 0.50 to 0.95 */

typedef struct eg_precision eg_precision;
eg_status eg_precision_new(int64_t classes, eg_precision **out);
void eg_precision_free(eg_precision *p); /* NULL is fine */

/* Adds an image: boxes that were found on it, sorted by score, and its target. */
eg_status eg_precision_add(eg_precision *p, const eg_found *found, int64_t n,
                           const float *target, int64_t width);

/* What all images together come to. Classes without a true box do not count, and have -1. */
typedef struct eg_precisions {
    double at_half, mean; /* over classes: at overlap 0.5; over all overlaps too */
    double *half, *each;  /* [classes] the same of each class */
    float *curve;         /* [classes, EG_RECALLS] precision at overlap 0.5 */
} eg_precisions;
/* Fills what is not NULL. */
eg_status eg_precision_get(const eg_precision *p, eg_precisions *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
