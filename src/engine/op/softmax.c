/* softmax.c - softmax over the last axis; dx = y (dy - sum(dy y)).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *softmax_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *dot = eg_sum(g, eg_mul(g, dy, y), EG_AXIS(y->shape.rank - 1));
    return eg_mul(g, y, eg_sub(g, dy, dot));
}

void eg_reference_softmax(const eg_node *y, const double *const *in, double *out)
{
    int64_t cols = y->shape.dim[y->shape.rank - 1];
    for (int64_t i = 0; i < eg_shape_size(y->shape) / cols; i++) {
        const double *x = in[0] + i * cols;
        double max = x[0], sum = 0, *row = out + i * cols;
        for (int64_t j = 0; j < cols; j++)
            max = fmax(max, x[j]);
        for (int64_t j = 0; j < cols; j++)
            sum += exp(x[j] - max);
        for (int64_t j = 0; j < cols; j++)
            row[j] = exp(x[j] - max) / sum;
    }
}

static eg_status softmax_run(const eg_step *s)
{
    int64_t cols = s->node->shape.dim[s->node->shape.rank - 1];
    s->k->softmax(s->out[0]->data, s->in[0]->data, eg_shape_size(s->node->shape) / cols, cols);
    return EG_OK;
}

static eg_status softmax_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, softmax_run, EG_ROWMAJOR);
}

static eg_node *softmax_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 37}}, {1, {4}}};
    return i < 3 ? eg_softmax(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_softmax = {.name = "softmax",
                             .vjp = softmax_vjp,
                             .reference = eg_reference_softmax,
                             .emit = softmax_emit,
                             .sample = softmax_sample};

eg_node *eg_softmax(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank == 0)
        return eg_poison(g, EG_ESHAPE, "softmax: a scalar has no last axis");
    return eg_graph_record1(g, &eg_op_softmax, x->shape, x);
}
