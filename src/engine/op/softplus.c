/* softplus.c - y = log(1 + exp(x)); dx = dy sigmoid(x).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *softplus_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_mul(g, dy, eg_sigmoid(g, y->in[0]));
}

static double softplus_of(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); /* without overflow */
}

static void softplus_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, softplus_of);
}

static eg_status softplus_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->softplus, false);
}

static eg_node *softplus_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_softplus(g, eg_sample_input(g, s[i], -3, 3)) : NULL;
}

const eg_op eg_op_softplus = {.name = "softplus",
                              .vjp = softplus_vjp,
                              .reference = softplus_reference,
                              .emit = softplus_emit,
                              .sample = softplus_sample};

eg_node *eg_softplus(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_softplus, x->shape, x);
}
