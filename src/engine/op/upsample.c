/* upsample.c - nearest up-sampling by a whole factor: the gradient of a sum over windows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *upsample_sample(eg_graph *g, int i)
{
    return i > 1 ? NULL : eg_upsample(g, eg_sample_input(g, eg_dims(2, 3, 2, 3), -1, 1), 2 + i);
}

const eg_op eg_op_upsample = {.name = "upsample", .sample = upsample_sample};

eg_node *eg_upsample(eg_graph *g, eg_node *x, int64_t factor)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 4 || factor < 1)
        return eg_poison(g, EG_ESHAPE, "upsample: %d axes by a factor of %lld", x->shape.rank,
                         (long long)factor);
    return eg_sum_pool_back(g, x, (eg_window){.kernel = factor, .stride = factor},
                            x->shape.dim[2] * factor, x->shape.dim[3] * factor);
}
