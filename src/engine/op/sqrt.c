/* sqrt.c - square root; dx = dy / (2 y).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *sqrt_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_affine(g, eg_div(g, dy, y), 0.5, 0);
}

static void sqrt_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, sqrt);
}

static eg_status sqrt_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->sqrt, true);
}

static eg_node *sqrt_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_sqrt(g, eg_sample_input(g, s[i], 0.5, 2)) : NULL;
}

const eg_op eg_op_sqrt = {.name = "sqrt",
                          .vjp = sqrt_vjp,
                          .reference = sqrt_reference,
                          .emit = sqrt_emit,
                          .sample = sqrt_sample};

eg_node *eg_sqrt(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_sqrt, x->shape, x);
}
