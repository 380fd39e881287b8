/* dropout.c - x times a dropout mask when training, x itself otherwise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *dropout_sample(eg_graph *g, int i)
{
    return i < 2
               ? eg_dropout(g, eg_sample_input(g, eg_dims(4, 6 + 15 * i), -1, 1), i ? 0.1 : 0.5)
               : NULL;
}

const eg_op eg_op_dropout = {.name = "dropout", .sample = dropout_sample};

eg_node *eg_dropout(eg_graph *g, eg_node *x, double p)
{
    if (eg_is_poison(x))
        return g->poison;
    if (!g->training || p == 0)
        return x;
    return eg_mul(g, x, eg_dropout_mask(g, x->shape, p));
}
