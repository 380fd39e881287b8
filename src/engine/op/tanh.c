/* tanh.c - hyperbolic tangent; dx = dy (1 - y^2).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *tanh_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_mul(g, dy, eg_affine(g, eg_mul(g, y, y), -1, 1));
}

static void tanh_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, tanh);
}

static eg_status tanh_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->tanh, true);
}

static eg_node *tanh_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_tanh(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_tanh = {.name = "tanh",
                          .vjp = tanh_vjp,
                          .reference = tanh_reference,
                          .emit = tanh_emit,
                          .sample = tanh_sample};

eg_node *eg_tanh(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_tanh, x->shape, x);
}
