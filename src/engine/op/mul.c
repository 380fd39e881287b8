/* mul.c - product of two tensors, element by element: da = dy b, db = dy a.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *mul_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return eg_mul(g, dy, y->in[1 - wrt]);
}

static void mul_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] * in[1][i];
}

static eg_status mul_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->mul, true);
}

static eg_node *mul_sample(eg_graph *g, int i)
{
    return eg_sample_pair(g, i, -1, 1, eg_mul);
}

const eg_op eg_op_mul = {.name = "mul",
                         .vjp = mul_vjp,
                         .reference = mul_reference,
                         .emit = mul_emit,
                         .sample = mul_sample};

eg_node *eg_mul(eg_graph *g, eg_node *a, eg_node *b)
{
    if (!eg_broadcast(g, "mul", &a, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_mul, a->shape, a, b);
}
