/* relu.c - rectifier: y = max(0, x), recorded as a leaky relu with slope 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *relu_sample(eg_graph *g, int i)
{
    return i < 1 ? eg_relu(g, eg_sample_input(g, eg_dims(3, 4), -1, 1)) : NULL;
}

const eg_op eg_op_relu = {.name = "relu", .sample = relu_sample};

eg_node *eg_relu(eg_graph *g, eg_node *x)
{
    return eg_leaky_relu(g, x, 0);
}
