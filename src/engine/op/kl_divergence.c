/* kl_divergence.c - sum of p (log p - log_q) over the number of rows (all axes but the last).
 * SPDX-License-Identifier: Apache-2.0
 *
 * 0 log 0 is 0: where p is 0 the logarithm is taken of 1.
 */
#include "engine/op/op.h"

static eg_node *kl_divergence_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_shape s = i ? eg_dims(2, 3, 4) : eg_dims(3, 5);
    eg_node *log_q = eg_log_softmax(g, eg_sample_input(g, s, -1, 1));
    return eg_kl_divergence(g, log_q, eg_softmax(g, eg_sample_input(g, s, -1, 1)));
}

const eg_op eg_op_kl_divergence = {.name = "kl_divergence", .sample = kl_divergence_sample};

eg_node *eg_kl_divergence(eg_graph *g, eg_node *log_q, eg_node *p)
{
    if (eg_is_poison(log_q) || eg_is_poison(p))
        return g->poison;
    eg_shape s = p->shape;
    if (s.rank == 0 || !eg_shape_equal(log_q->shape, s)) {
        char a[64], b[64];
        eg_shape_print(log_q->shape, a);
        eg_shape_print(s, b);
        return eg_poison(g, EG_ESHAPE, "kl_divergence: log_q is %s, p is %s", a, b);
    }
    eg_node *log_p = eg_log(g, eg_add(g, p, eg_equal(g, p, eg_constant(g, s, 0))));
    eg_node *sum = eg_sum(g, eg_mul(g, p, eg_sub(g, log_p, log_q)), EG_ALL_AXES);
    return eg_affine(g, sum, (double)s.dim[s.rank - 1] / (double)eg_shape_size(s), 0);
}
