/* avg_pool.c - the mean over windows, padding counted as zeros: a scaled sum_pool.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *avg_pool_sample(eg_graph *g, int i)
{
    return i > 1 ? NULL
                 : eg_avg_pool(g, eg_sample_input(g, eg_dims(2, 3, 6, 5), -1, 1),
                               (eg_window){.kernel = 2 + i, .stride = 2, .padding = i});
}

const eg_op eg_op_avg_pool = {.name = "avg_pool", .sample = avg_pool_sample};

eg_node *eg_avg_pool(eg_graph *g, eg_node *x, eg_window win)
{
    eg_node *sum = eg_sum_pool(g, x, win);
    return eg_is_poison(sum) ? sum
                             : eg_affine(g, sum, 1.0 / (double)(win.kernel * win.kernel), 0);
}
