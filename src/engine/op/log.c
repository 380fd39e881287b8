/* log.c - natural logarithm; dx = dy / x.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *log_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_div(g, dy, y->in[0]);
}

static void log_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, log);
}

static eg_status log_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->log, false);
}

static eg_node *log_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_log(g, eg_sample_input(g, s[i], 0.5, 2)) : NULL;
}

const eg_op eg_op_log = {.name = "log",
                         .vjp = log_vjp,
                         .reference = log_reference,
                         .emit = log_emit,
                         .sample = log_sample};

eg_node *eg_log(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_log, x->shape, x);
}
