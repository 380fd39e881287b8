/* row_rstd.c - r = 1 / sqrt(var + eps) of each row of a matrix, [rows, 1].
 * SPDX-License-Identifier: Apache-2.0
 *
 * dx = -dy r^2 y / cols, where y is the normalised row.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *row_rstd_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *x = y->in[0];
    eg_node *unit = eg_row_normalize(g, x, *(const double *)y->attr);
    eg_node *scale = eg_mul(g, dy, eg_mul(g, y, y));
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
    return eg_row_run(s, s->k->row_rstd);
}

static eg_status row_rstd_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, row_rstd_run, EG_ROWMAJOR);
}

static eg_node *row_rstd_sample(eg_graph *g, int i)
{
    return eg_sample_rows(g, i, eg_row_rstd);
}

const eg_op eg_op_row_rstd = {.name = "row_rstd",
                              .vjp = row_rstd_vjp,
                              .reference = row_rstd_reference,
                              .emit = row_rstd_emit,
                              .sample = row_rstd_sample};

eg_node *eg_row_rstd(eg_graph *g, eg_node *x, double eps)
{
    return eg_record_rows(g, &eg_op_row_rstd, x, eps, false);
}
