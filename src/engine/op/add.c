/* add.c - sum of two tensors: y = a + b; da = db = dy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *add_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)g, (void)y, (void)wrt; /* broadcasting is recorded apart, by expand */
    return dy;
}

static void add_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] + in[1][i];
}

static eg_status add_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->add, true);
}

static eg_node *add_sample(eg_graph *g, int i)
{
    return eg_sample_pair(g, i, -1, 1, eg_add);
}

const eg_op eg_op_add = {.name = "add",
                         .vjp = add_vjp,
                         .reference = add_reference,
                         .emit = add_emit,
                         .sample = add_sample};

eg_node *eg_add(eg_graph *g, eg_node *a, eg_node *b)
{
    if (!eg_broadcast(g, "add", &a, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_add, a->shape, a, b);
}
