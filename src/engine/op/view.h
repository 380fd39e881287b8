/* view.h - what ops over axes share: reductions, strided copies, indices.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_VIEW_H
#define EG_SRC_VIEW_H

#include "engine/op/op.h"

/* Reductions over a bit mask of axes (sum.c). */

/* The shape with these axes made 1; EG_ALL_AXES gives a scalar of rank 0. */
eg_shape eg_reduced_shape(eg_shape s, unsigned axes);
/* Where element i of shape s goes in the result. */
int64_t eg_reduced_index(eg_shape s, unsigned axes, int64_t i);
/* Poisons g and returns false when x is poison or has no such axes. */
bool eg_axes_fit(eg_graph *g, const char *op, const eg_node *x, unsigned axes);

typedef void (*eg_reducer)(float *y, const float *x, int64_t rows, int64_t cols);
/* Steps that reduce y's input: rows reduces each row, columns each column of a matrix. */
eg_status eg_emit_reduction(eg_plan *p, const eg_node *y, unsigned axes, eg_reducer rows,
                            eg_reducer columns);

/* A tensor read in another order (expand.c): element [i, j, ..] is x[i stride[0] + j stride[1]
 * ..]; a stride of 0 repeats. */
typedef struct eg_strided {
    int rank;
    int64_t dim[EG_MAX_RANK], stride[EG_MAX_RANK];
} eg_strided;

void eg_reference_strided(const eg_strided *v, const double *x, double *out);
/* One step that writes y, seen through v, from its input. */
eg_status eg_emit_strided(eg_plan *p, const eg_node *y, const eg_strided *v);

/* A tensor as [outer, n, inner] around one axis (slice.c). */
typedef struct eg_around {
    int64_t outer, n, inner;
} eg_around;
eg_around eg_around_axis(eg_shape s, int axis);
/* Poisons g and returns false when x is poison or has no such axis. */
bool eg_axis_fits(eg_graph *g, const char *op, const eg_node *x, int axis);

/* An index kept as a float (gather.c): whole and in [0, n), or an error that names it. */
eg_status eg_index_of(const char *op, float value, int64_t n, int64_t *out);
/* The same for definitions, where a bad index is a bug of the test. */
int64_t eg_reference_index(double value, int64_t n);

#endif
