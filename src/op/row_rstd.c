/* row_rstd.c - r = 1 / sqrt(var + eps) of each row of a matrix, [rows, 1].
 * SPDX-License-Identifier: Apache-2.0
 *
 * dx = -dy r^2 y / cols, where y is the normalised row.
 */
#include "op/op.h"

#include <math.h>

static eg_node *row_rstd_vjp(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *self = (eg_node *)(uintptr_t)y, *x = y->in[0];
    eg_node *unit = eg_row_normalize(g, x, *(const double *)y->attr);
    eg_node *scale = eg_mul(g, dy, eg_mul(g, self, self));
    return eg_mul(g, unit, eg_affine(g, scale, -1.0 / (double)x->shape.dim[1], 0));
}

static void row_rstd_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t cols = y->in[0]->shape.dim[1];
    for (int64_t i = 0; i < y->shape.dim[0]; i++) {
        const double *x = in[0] + i * cols;
        double mean, var;
        eg_reference_moments(x, cols, &mean, &var);
        double rstd = 1 / sqrt(var + *(const double *)y->attr);
        out[i] = rstd;
    }
}

static eg_status row_rstd_run(const eg_step *s)
{
    eg_shape x = s->node->in[0]->shape;
    s->k->row_rstd(s->out[0]->data, s->in[0]->data, (float)*(const double *)s->node->attr,
                   x.dim[0], x.dim[1]);
    return EG_OK;
}

static eg_status row_rstd_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, row_rstd_run, EG_ROWMAJOR);
}

static eg_node *row_rstd_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_row_rstd(g, eg_sample_input(g, eg_dims(3, 5 + 30 * i), -1, 1),
                               i ? 0.1 : 1e-5)
                 : NULL;
}

const eg_op eg_op_row_rstd = {.name = "row_rstd",
                              .vjp = row_rstd_vjp,
                              .reference = row_rstd_reference,
                              .emit = row_rstd_emit,
                              .sample = row_rstd_sample};

eg_node *eg_row_rstd(eg_graph *g, eg_node *x, double eps)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 2)
        return eg_poison(g, EG_ESHAPE, "row_rstd: a tensor with %d axes, not 2", x->shape.rank);
    return eg_record(g, &eg_op_row_rstd, eg_dims(x->shape.dim[0], 1), &eps, sizeof eps, 1, &x);
}
