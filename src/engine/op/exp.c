/* exp.c - e to the x; dx = dy y.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *exp_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_mul(g, dy, y);
}

static void exp_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, exp);
}

static eg_status exp_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->exp, false);
}

static eg_node *exp_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_exp(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_exp = {.name = "exp",
                         .vjp = exp_vjp,
                         .reference = exp_reference,
                         .emit = exp_emit,
                         .sample = exp_sample};

eg_node *eg_exp(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_exp, x->shape, x);
}
