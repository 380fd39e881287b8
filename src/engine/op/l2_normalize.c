/* l2_normalize.c - each row of the last axis over its norm: x / sqrt(sum x^2 + 1e-24).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *l2_normalize_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 4}}, {1, {6}}};
    return i < 3 ? eg_l2_normalize(g, eg_sample_input(g, s[i], 0.1, 1)) : NULL;
}

const eg_op eg_op_l2_normalize = {.name = "l2_normalize", .sample = l2_normalize_sample};

eg_node *eg_l2_normalize(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank == 0)
        return eg_poison(g, EG_ESHAPE, "l2_normalize: a scalar has no last axis");
    eg_node *squares = eg_sum(g, eg_mul(g, x, x), EG_AXIS(x->shape.rank - 1));
    return eg_div(g, x, eg_sqrt(g, eg_affine(g, squares, 1, 1e-24)));
}
