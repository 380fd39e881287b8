/* gelu.c - x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel, 2016).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *gelu_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_gelu(g, eg_sample_input(g, eg_dims(3, 5 + 12 * i), -2, 2)) : NULL;
}

const eg_op eg_op_gelu = {.name = "gelu", .sample = gelu_sample};

eg_node *eg_gelu(eg_graph *g, eg_node *x)
{
    eg_node *e = eg_erf(g, eg_affine(g, x, 0.70710678118654752, 0));
    return eg_mul(g, x, eg_affine(g, e, 0.5, 0.5));
}
