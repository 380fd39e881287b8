/* gelu.c - x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel, 2016);
 * dx = dy (Phi(x) + x phi(x)).
 * SPDX-License-Identifier: Apache-2.0
 *
 * One step forward and one back, which read x alone: so only x is kept for the gradient.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *gelu_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_gelu_back(g, y->in[0], dy);
}

static double gelu_of(double x)
{
    return x * 0.5 * (1 + erf(x / sqrt(2)));
}

static void gelu_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, gelu_of);
}

static eg_status gelu_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->gelu, true);
}

static eg_node *gelu_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_gelu(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_gelu = {.name = "gelu",
                          .vjp = gelu_vjp,
                          .reference = gelu_reference,
                          .emit = gelu_emit,
                          .sample = gelu_sample};

eg_node *eg_gelu(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_gelu, x->shape, x);
}
