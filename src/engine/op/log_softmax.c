/* log_softmax.c - logarithm of the softmax over the last axis; dx = dy - exp(y) sum(dy).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *log_softmax_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *total = eg_sum(g, dy, EG_AXIS(y->shape.rank - 1));
    return eg_sub(g, dy, eg_mul(g, eg_exp(g, y), total));
}

static void log_softmax_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_softmax(y, in, out);
    eg_reference_map(y, out, out, log);
}

static eg_status log_softmax_run(const eg_step *s)
{
    int64_t cols = s->node->shape.dim[s->node->shape.rank - 1];
    s->k->log_softmax(s->out[0]->data, s->in[0]->data, eg_shape_size(s->node->shape) / cols,
                      cols);
    return EG_OK;
}

static eg_status log_softmax_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, log_softmax_run, EG_ROWMAJOR);
}

static eg_node *log_softmax_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 37}}, {1, {4}}};
    return i < 3 ? eg_log_softmax(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_log_softmax = {.name = "log_softmax",
                                 .vjp = log_softmax_vjp,
                                 .reference = log_softmax_reference,
                                 .emit = log_softmax_emit,
                                 .sample = log_softmax_sample};

eg_node *eg_log_softmax(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank == 0)
        return eg_poison(g, EG_ESHAPE, "log_softmax: a scalar has no last axis");
    return eg_graph_record1(g, &eg_op_log_softmax, x->shape, x);
}
