/* sub.c - difference of two tensors: y = a - b; da = dy, db = -dy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *sub_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)y;
    return wrt == 0 ? dy : eg_affine(g, dy, -1, 0);
}

static void sub_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] - in[1][i];
}

static eg_status sub_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->sub, true);
}

static eg_node *sub_sample(eg_graph *g, int i)
{
    return eg_sample_pair(g, i, -1, 1, eg_sub);
}

const eg_op eg_op_sub = {.name = "sub",
                         .vjp = sub_vjp,
                         .reference = sub_reference,
                         .emit = sub_emit,
                         .sample = sub_sample};

eg_node *eg_sub(eg_graph *g, eg_node *a, eg_node *b)
{
    if (!eg_broadcast(g, "sub", &a, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_sub, a->shape, a, b);
}
