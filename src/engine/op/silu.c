/* silu.c - x sigmoid(x).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *silu_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_silu(g, eg_sample_input(g, eg_dims(3, 5 + 12 * i), -2, 2)) : NULL;
}

const eg_op eg_op_silu = {.name = "silu", .sample = silu_sample};

eg_node *eg_silu(eg_graph *g, eg_node *x)
{
    return eg_mul(g, x, eg_sigmoid(g, x));
}
