/* engram/op.h - the ops a graph is recorded with; op.inc says what each computes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_OP_H
#define EG_OP_H

#include <engram/component.h>
#include <engram/graph.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* How a window slides over an image, the same in both directions. Pooling reads kernel; for a
 * convolution the weights give it. groups 0 counts as 1. */
typedef struct eg_window {
    int64_t kernel, stride, padding, groups;
    int64_t output_padding; /* transposed convolutions only */
} eg_window;

/* What a network puts out that looks for boxes (Redmon and Farhadi, 2017): for every cell of a
 * grid over the image, and every anchor, 5 + classes numbers tx, ty, tw, th, to and one score
 * per class: [n, anchors, 5 + classes, rows, columns]. The box has its centre at column +
 * sigmoid(tx) and row + sigmoid(ty), in cells, and the size of the anchor times e^tw and e^th;
 * sigmoid(to) says how sure it is. Then how the loss weighs. */
enum { EG_MAX_ANCHORS = 8 };
typedef struct eg_region {
    int64_t rows, columns, anchors, classes;
    double anchor[EG_MAX_ANCHORS][2]; /* width and height, as shares of the image */
    double coordinates, object, background, kinds; /* factors of the loss's terms */
    double ignore; /* what overlaps a true box by more is not held to be background */
} eg_region;

/* Bit masks of axes: EG_AXIS(0) | EG_AXIS(2) is the first and the third. */
#define EG_AXIS(i)  (1u << (i))
#define EG_ALL_AXES (~0u)

#define X(name, args, help) eg_node *eg_##name args;
#include <engram/op.inc>
#undef X

extern const eg_family eg_op_family; /* name and help of each */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
