/* row_normalize.c - each row of a matrix minus its mean, over its standard deviation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = (x - mean) r, r = 1 / sqrt(var + eps); dx = r (dy - mean(dy) - y mean(dy y)).
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *row_normalize_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *r = eg_row_rstd(g, y->in[0], *(const double *)y->attr);
    eg_node *along = eg_mul(g, y, eg_mean(g, eg_mul(g, dy, y), EG_AXIS(1)));
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

eg_status eg_row_run(const eg_step *s, eg_row_kernel kernel)
{
    eg_shape x = s->node->in[0]->shape;
    kernel(s->out[0]->data, s->in[0]->data, (float)*(const double *)s->node->attr, x.dim[0],
           x.dim[1]);
    return EG_OK;
}

static eg_status row_normalize_run(const eg_step *s)
{
    return eg_row_run(s, s->k->row_normalize);
}

static eg_status row_normalize_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, row_normalize_run, EG_ROWMAJOR);
}

eg_node *eg_sample_rows(eg_graph *g, int i, eg_node *(*f)(eg_graph *, eg_node *, double))
{
    return i < 2 ? f(g, eg_sample_input(g, eg_dims(3, 5 + 30 * i), -1, 1), i ? 0.1 : 1e-5)
                 : NULL;
}

static eg_node *row_normalize_sample(eg_graph *g, int i)
{
    return eg_sample_rows(g, i, eg_row_normalize);
}

const eg_op eg_op_row_normalize = {.name = "row_normalize",
                                   .vjp = row_normalize_vjp,
                                   .reference = row_normalize_reference,
                                   .emit = row_normalize_emit,
                                   .sample = row_normalize_sample};

eg_node *eg_record_rows(eg_graph *g, const eg_op *op, eg_node *x, double eps, bool whole)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 2)
        return eg_poison(g, EG_ESHAPE, "%s: a tensor with %d axes, not 2", op->name,
                         x->shape.rank);
    eg_shape y = whole ? x->shape : eg_dims(x->shape.dim[0], 1);
    return eg_graph_record(g, op, y, &eps, sizeof eps, 1, &x);
}

/* What its gradient needs is recorded here too: made with the result, it spares keeping x. */
eg_node *eg_row_normalize(eg_graph *g, eg_node *x, double eps)
{
    eg_row_rstd(g, x, eps);
    return eg_record_rows(g, &eg_op_row_normalize, x, eps, true);
}
