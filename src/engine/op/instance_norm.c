/* instance_norm.c - normalises every channel of a sample: group_norm of one channel per group.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *instance_norm_sample(eg_graph *g, int i)
{
    if (i >= 3)
        return NULL;
    eg_shape s = i == 1 ? eg_dims(2, 3, 7) : eg_dims(2, i ? 32 : 3, 4, 3);
    eg_node *x = eg_sample_input(g, s, -1, 1), *w = NULL, *b = NULL;
    if (i != 1) {
        w = eg_sample_input(g, eg_dims(s.dim[1]), 0.5, 1.5);
        b = eg_sample_input(g, eg_dims(s.dim[1]), -1, 1);
    }
    return eg_instance_norm(g, x, w, b, 1e-5);
}

const eg_op eg_op_instance_norm = {.name = "instance_norm", .sample = instance_norm_sample};

eg_node *eg_instance_norm(eg_graph *g, eg_node *x, eg_node *weight, eg_node *bias, double eps)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank < 3)
        return eg_poison(g, EG_ESHAPE, "instance_norm: a tensor with %d axes", x->shape.rank);
    return eg_group_norm(g, x, x->shape.dim[1], weight, bias, eps);
}
