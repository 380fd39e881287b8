/* max.c - maximum over the axes of a bit mask, which become 1; elements that tie share dy.
 * SPDX-License-Identifier: Apache-2.0
 *
 * EG_ALL_AXES gives a scalar of rank 0.
 */
#include "engine/op/view.h"

#include <math.h>

static eg_node *max_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *ties = eg_equal(g, y->in[0], y);
    eg_node *n = eg_sum(g, ties, *(const unsigned *)y->attr);
    return eg_mul(g, ties, eg_div(g, dy, n));
}

static void max_reference(const eg_node *y, const double *const *in, double *out)
{
    unsigned axes = *(const unsigned *)y->attr;
    eg_shape s = y->in[0]->shape;
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = -INFINITY;
    for (int64_t i = 0; i < eg_shape_size(s); i++) {
        double *to = &out[eg_reduced_index(s, axes, i)];
        *to = in[0][i] > *to || isnan(in[0][i]) ? in[0][i] : *to;
    }
}

static eg_status max_emit(eg_plan *p, const eg_node *y)
{
    const eg_kernels *k = eg_plan_kernels(p);
    return eg_emit_reduction(p, y, *(const unsigned *)y->attr, k->row_max, k->column_max);
}

static eg_node *max_sample(eg_graph *g, int i)
{
    static const unsigned axes[] = {EG_ALL_AXES, EG_AXIS(2), EG_AXIS(0) | EG_AXIS(2)};
    return i < 3 ? eg_max(g, eg_sample_input(g, eg_dims(3, 4, 5 + 30 * i), -1, 1), axes[i])
                 : NULL;
}

const eg_op eg_op_max = {.name = "max",
                         .vjp = max_vjp,
                         .reference = max_reference,
                         .emit = max_emit,
                         .sample = max_sample};

eg_node *eg_max(eg_graph *g, eg_node *x, unsigned axes)
{
    if (!eg_axes_fit(g, "max", x, axes))
        return g->poison;
    if (axes == 0)
        return x;
    return eg_graph_record(g, &eg_op_max, eg_reduced_shape(x->shape, axes), &axes, sizeof axes,
                           1, &x);
}
