/* row_normalize.c - each row of a matrix minus its mean, over its standard deviation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = (x - mean) r, r = 1 / sqrt(var + eps); dx = r (dy - mean(dy) - y mean(dy y)).
 */
#include "op/op.h"

#include <math.h>

static eg_node *row_normalize_vjp(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *self = (eg_node *)(uintptr_t)y;
    eg_node *r = eg_row_rstd(g, y->in[0], *(const double *)y->attr);
    eg_node *along = eg_mul(g, self, eg_mean(g, eg_mul(g, dy, self), EG_AXIS(1)));
    eg_node *level = eg_mean(g, dy, EG_AXIS(1));
    return eg_mul(g, r, eg_sub(g, eg_sub(g, dy, level), along));
}

static void row_normalize_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t cols = y->in[0]->shape.dim[1];
    for (int64_t i = 0; i < y->shape.dim[0]; i++) {
        const double *x = in[0] + i * cols;
        double mean, var;
        eg_reference_moments(x, cols, &mean, &var);
        double rstd = 1 / sqrt(var + *(const double *)y->attr);
        double *row = out + i * cols;
        for (int64_t j = 0; j < cols; j++)
            row[j] = (x[j] - mean) * rstd;
    }
}

static eg_status row_normalize_run(const eg_step *s)
{
    eg_shape x = s->node->in[0]->shape;
    s->k->row_normalize(s->out[0]->data, s->in[0]->data, (float)*(const double *)s->node->attr,
                        x.dim[0], x.dim[1]);
    return EG_OK;
}

static eg_status row_normalize_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, row_normalize_run, EG_ROWMAJOR);
}

static eg_node *row_normalize_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_row_normalize(g, eg_sample_input(g, eg_dims(3, 5 + 30 * i), -1, 1),
                                    i ? 0.1 : 1e-5)
                 : NULL;
}

const eg_op eg_op_row_normalize = {.name = "row_normalize",
                                   .vjp = row_normalize_vjp,
                                   .reference = row_normalize_reference,
                                   .emit = row_normalize_emit,
                                   .sample = row_normalize_sample};

eg_node *eg_row_normalize(eg_graph *g, eg_node *x, double eps)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 2)
        return eg_poison(g, EG_ESHAPE, "row_normalize: a tensor with %d axes, not 2",
                         x->shape.rank);
    return eg_record(g, &eg_op_row_normalize, x->shape, &eps, sizeof eps, 1, &x);
}
