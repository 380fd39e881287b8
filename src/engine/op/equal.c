/* equal.c - 1 where two tensors are equal, else 0; constant almost everywhere, so no gradient.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static void equal_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] == in[1][i];
}

static eg_status equal_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->equal, false);
}

static eg_node *equal_sample(eg_graph *g, int i)
{
    if (i == 0)
        return eg_equal(g, eg_sample_index(g, eg_dims(3, 4), 3),
                        eg_sample_index(g, eg_dims(3, 4), 3));
    if (i == 1) /* b broadcast */
        return eg_equal(g, eg_sample_index(g, eg_dims(4, 5), 2),
                        eg_sample_index(g, eg_dims(5), 2));
    return NULL;
}

const eg_op eg_op_equal = {
    .name = "equal", .reference = equal_reference, .emit = equal_emit, .sample = equal_sample};

eg_node *eg_equal(eg_graph *g, eg_node *a, eg_node *b)
{
    if (!eg_broadcast(g, "equal", &a, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_equal, a->shape, a, b);
}
