/* channel_dropout.c - whole channels of x dropped when training: its maps scaled by a mask.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *channel_dropout_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_channel_dropout(g, eg_sample_input(g, eg_dims(3, 4 + 5 * i, 2, 3), -1, 1),
                                      0.5)
                 : NULL;
}

const eg_op eg_op_channel_dropout = {.name = "channel_dropout",
                                     .sample = channel_dropout_sample};

eg_node *eg_channel_dropout(eg_graph *g, eg_node *x, double p)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 4)
        return eg_poison(g, EG_ESHAPE, "channel_dropout: a tensor with %d axes", x->shape.rank);
    if (!g->training || p == 0)
        return x;
    return eg_scale_maps(g, x,
                         eg_dropout_mask(g, eg_dims(x->shape.dim[0], x->shape.dim[1]), p));
}
