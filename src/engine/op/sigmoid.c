/* sigmoid.c - y = 1 / (1 + exp(-x)); dx = dy y (1 - y).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *sigmoid_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_mul(g, dy, eg_mul(g, y, eg_affine(g, y, -1, 1)));
}

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static void sigmoid_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, sigmoid_of);
}

static eg_status sigmoid_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->sigmoid, false);
}

static eg_node *sigmoid_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_sigmoid(g, eg_sample_input(g, s[i], -3, 3)) : NULL;
}

const eg_op eg_op_sigmoid = {.name = "sigmoid",
                             .vjp = sigmoid_vjp,
                             .reference = sigmoid_reference,
                             .emit = sigmoid_emit,
                             .sample = sigmoid_sample};

eg_node *eg_sigmoid(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_sigmoid, x->shape, x);
}
