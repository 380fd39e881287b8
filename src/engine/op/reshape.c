/* reshape.c - the same elements, in row-major order, with another shape.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <string.h>

static eg_node *reshape_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_reshape(g, dy, y->in[0]->shape);
}

static void reshape_reference(const eg_node *y, const double *const *in, double *out)
{
    memcpy(out, in[0], (size_t)eg_shape_size(y->shape) * sizeof *out);
}

static eg_status reshape_emit(eg_plan *p, const eg_node *y)
{
    return eg_plan_alias(p, y, y->in[0]);
}

static eg_node *reshape_sample(eg_graph *g, int i)
{
    if (i == 0)
        return eg_reshape(g, eg_sample_input(g, eg_dims(3, 4, 5), -1, 1), eg_dims(12, 5));
    return i == 1 ? eg_reshape(g, eg_sample_input(g, eg_scalar(), -1, 1), eg_dims(1, 1)) : NULL;
}

const eg_op eg_op_reshape = {.name = "reshape",
                             .vjp = reshape_vjp,
                             .reference = reshape_reference,
                             .emit = reshape_emit,
                             .sample = reshape_sample};

eg_node *eg_reshape(eg_graph *g, eg_node *x, eg_shape shape)
{
    if (eg_is_poison(x))
        return g->poison;
    if (eg_shape_equal(x->shape, shape))
        return x;
    if (eg_shape_size(x->shape) != eg_shape_size(shape)) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(shape, b);
        return eg_poison(g, EG_ESHAPE, "reshape: %s has %lld elements, %s has %lld", a,
                         (long long)eg_shape_size(x->shape), b,
                         (long long)eg_shape_size(shape));
    }
    return eg_graph_record1(g, &eg_op_reshape, shape, x);
}
