/* div.c - quotient of two tensors: y = a / b; da = dy / b, db = -da y.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *div_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *da = eg_div(g, dy, y->in[1]);
    return wrt == 0 ? da : eg_affine(g, eg_mul(g, da, y), -1, 0);
}

static void div_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] / in[1][i];
}

static eg_status div_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->div, false);
}

static eg_node *div_sample(eg_graph *g, int i)
{
    return eg_sample_pair(g, i, 0.5, 2, eg_div);
}

const eg_op eg_op_div = {.name = "div",
                         .vjp = div_vjp,
                         .reference = div_reference,
                         .emit = div_emit,
                         .sample = div_sample};

eg_node *eg_div(eg_graph *g, eg_node *a, eg_node *b)
{
    if (!eg_broadcast(g, "div", &a, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_div, a->shape, a, b);
}
