/* mse.c - mean of (a - b)^2 over all elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *mse_sample(eg_graph *g, int i)
{
    eg_shape s = i ? eg_dims(2, 3, 4) : eg_dims(3, 5);
    return i < 2 ? eg_mse(g, eg_sample_input(g, s, -1, 1), eg_sample_input(g, s, -1, 1)) : NULL;
}

const eg_op eg_op_mse = {.name = "mse", .sample = mse_sample};

eg_node *eg_mse(eg_graph *g, eg_node *a, eg_node *b)
{
    if (eg_is_poison(a) || eg_is_poison(b))
        return g->poison;
    if (!eg_shape_equal(a->shape, b->shape)) { /* [n] and [n, 1] would broadcast to [n, n] */
        char s[64], t[64];
        eg_shape_print(a->shape, s);
        eg_shape_print(b->shape, t);
        return eg_poison(g, EG_ESHAPE, "mse: a is %s, b is %s", s, t);
    }
    eg_node *gap = eg_sub(g, a, b);
    return eg_mean(g, eg_mul(g, gap, gap), EG_ALL_AXES);
}
