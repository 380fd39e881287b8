/* mean.c - mean over the axes of a bit mask, which become 1; EG_ALL_AXES gives a scalar.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

static eg_node *mean_sample(eg_graph *g, int i)
{
    static const unsigned axes[] = {EG_ALL_AXES, EG_AXIS(0), EG_AXIS(0) | EG_AXIS(2)};
    return i < 3 ? eg_mean(g, eg_sample_input(g, eg_dims(3, 4, 5), -1, 1), axes[i]) : NULL;
}

const eg_op eg_op_mean = {.name = "mean", .sample = mean_sample};

eg_node *eg_mean(eg_graph *g, eg_node *x, unsigned axes)
{
    if (!eg_axes_fit(g, "mean", x, axes))
        return g->poison;
    int64_t n = eg_shape_size(x->shape) / eg_shape_size(eg_reduced_shape(x->shape, axes));
    return eg_affine(g, eg_sum(g, x, axes), 1.0 / (double)n, 0);
}
