/* bce_with_logits.c - mean of softplus(x) - x t: binary cross entropy of sigmoid(x).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *bce_with_logits_sample(eg_graph *g, int i)
{
    eg_shape s = i ? eg_dims(2, 3, 4) : eg_dims(6);
    return i < 2 ? eg_bce_with_logits(g, eg_sample_input(g, s, -3, 3),
                                      eg_sample_input(g, s, 0, 1))
                 : NULL;
}

const eg_op eg_op_bce_with_logits = {.name = "bce_with_logits",
                                     .sample = bce_with_logits_sample};

eg_node *eg_bce_with_logits(eg_graph *g, eg_node *logits, eg_node *targets)
{
    if (eg_is_poison(logits) || eg_is_poison(targets))
        return g->poison;
    if (!eg_shape_equal(logits->shape, targets->shape)) {
        char a[64], b[64];
        eg_shape_print(logits->shape, a);
        eg_shape_print(targets->shape, b);
        return eg_poison(g, EG_ESHAPE, "bce_with_logits: logits are %s, targets are %s", a, b);
    }
    eg_node *losses = eg_sub(g, eg_softplus(g, logits), eg_mul(g, logits, targets));
    return eg_mean(g, losses, EG_ALL_AXES);
}
