/* cross_entropies.c - -sum targets log softmax(logits) for each row: [n, c] and [n, c] -> [n].
 * SPDX-License-Identifier: Apache-2.0
 *
 * d logits = (softmax(logits) sum(targets) - targets) dy; d targets = -log_softmax(logits) dy.
 * A target of 0 adds 0 even where the logit is minus infinity, as for classes that are masked
 * out.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *cross_entropies_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *logits = y->in[0], *targets = y->in[1];
    eg_node *column = eg_reshape(g, dy, eg_dims(y->shape.dim[0], 1));
    if (wrt == 1)
        return eg_mul(g, eg_log_softmax(g, logits), eg_affine(g, column, -1, 0));
    eg_node *mass = eg_sum(g, targets, EG_AXIS(1));
    return eg_mul(g, eg_sub(g, eg_mul(g, eg_softmax(g, logits), mass), targets), column);
}

static void cross_entropies_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t c = y->in[0]->shape.dim[1];
    for (int64_t i = 0; i < y->shape.dim[0]; i++) {
        const double *x = in[0] + i * c, *t = in[1] + i * c;
        double max = x[0], sum = 0;
        for (int64_t j = 0; j < c; j++)
            max = fmax(max, x[j]);
        for (int64_t j = 0; j < c; j++)
            sum += exp(x[j] - max);
        out[i] = 0;
        for (int64_t j = 0; j < c; j++)
            out[i] -= t[j] == 0 ? 0 : t[j] * (x[j] - max - log(sum));
    }
}

static eg_status cross_entropies_run(const eg_step *s)
{
    int64_t n = s->node->shape.dim[0], c = s->node->in[0]->shape.dim[1];
    const float *t = s->in[1]->data;
    float *log_p = s->out[1]->data; /* [n, c] */
    s->k->log_softmax(log_p, s->in[0]->data, n, c);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = i * c; j < (i + 1) * c; j++)
            if (t[j] != 0)
                sum -= (double)t[j] * (double)log_p[j];
        s->out[0]->data[i] = (float)sum;
    }
    return EG_OK;
}

static eg_status cross_entropies_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    size_t bytes = (size_t)eg_shape_size(y->in[0]->shape) * sizeof(float);
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR), eg_plan_scratch(p, bytes)};
    return eg_plan_step(p, y, cross_entropies_run, 2, in, 2, out) ? EG_OK : EG_ENOMEM;
}

static eg_node *cross_entropies_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_shape s = i ? eg_dims(2, 37) : eg_dims(4, 5);
    return eg_cross_entropies(g, eg_sample_input(g, s, -2, 2), eg_sample_input(g, s, 0, 1));
}

const eg_op eg_op_cross_entropies = {.name = "cross_entropies",
                                     .vjp = cross_entropies_vjp,
                                     .reference = cross_entropies_reference,
                                     .emit = cross_entropies_emit,
                                     .sample = cross_entropies_sample};

eg_node *eg_cross_entropies(eg_graph *g, eg_node *logits, eg_node *targets)
{
    if (eg_is_poison(logits) || eg_is_poison(targets))
        return g->poison;
    if (logits->shape.rank != 2 || !eg_shape_equal(logits->shape, targets->shape)) {
        char a[64], b[64];
        eg_shape_print(logits->shape, a);
        eg_shape_print(targets->shape, b);
        return eg_poison(g, EG_ESHAPE, "cross entropy: logits are %s, targets are %s", a, b);
    }
    return eg_graph_record2(g, &eg_op_cross_entropies, eg_dims(logits->shape.dim[0]), logits,
                            targets);
}
