/* cross_entropy.c - mean cross entropy of rows of logits [n, c].
 * SPDX-License-Identifier: Apache-2.0
 *
 * Labels are class indices [n] or rows of targets [n, c]. With weights [n] every row counts by
 * its weight and the sum is divided by n, not by the sum of the weights: a weight of 1 is no
 * weight.
 */
#include "engine/op/op.h"

static eg_node *cross_entropy_sample(eg_graph *g, int i)
{
    if (i >= 4)
        return NULL;
    eg_node *logits = eg_sample_input(g, eg_dims(4, 5), -2, 2);
    eg_node *labels =
        i & 1 ? eg_sample_input(g, eg_dims(4, 5), 0, 1) : eg_sample_index(g, eg_dims(4), 5);
    return eg_cross_entropy(g, logits, labels,
                            i & 2 ? eg_sample_input(g, eg_dims(4), 0, 2) : NULL);
}

const eg_op eg_op_cross_entropy = {.name = "cross_entropy", .sample = cross_entropy_sample};

eg_node *eg_cross_entropy(eg_graph *g, eg_node *logits, eg_node *labels, eg_node *weights)
{
    if (eg_is_poison(logits) || eg_is_poison(labels) || (weights && eg_is_poison(weights)))
        return g->poison;
    if (labels->shape.rank == 1 && logits->shape.rank == 2)
        labels = eg_one_hot(g, labels, logits->shape.dim[1]);
    eg_node *rows = eg_cross_entropies(g, logits, labels);
    if (eg_is_poison(rows) || !weights)
        return eg_mean(g, rows, EG_ALL_AXES);
    if (!eg_shape_equal(weights->shape, rows->shape)) {
        char a[64];
        eg_shape_print(weights->shape, a);
        return eg_poison(g, EG_ESHAPE, "cross entropy: weights are %s for %lld rows", a,
                         (long long)rows->shape.dim[0]);
    }
    return eg_mean(g, eg_mul(g, rows, weights), EG_ALL_AXES);
}
