/* group_rstd.c - r = 1 / sqrt(var + eps) of groups of channels within a sample, [n, groups].
 * SPDX-License-Identifier: Apache-2.0
 *
 * dx = -dr r^2 y / count, where y is the normalised group of so many numbers.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *group_rstd_vjp(eg_graph *g, eg_node *r, eg_node *dr, int wrt)
{
    (void)wrt;
    const eg_group_attr *a = r->attr;
    eg_node *x = r->in[0];
    double count = (double)eg_shape_size(x->shape) / (double)eg_shape_size(r->shape);
    eg_node *scale = eg_affine(g, eg_mul(g, dr, eg_mul(g, r, r)), -1 / count, 0);
    return eg_scale_maps(g, eg_group_normalize(g, x, a->groups, a->eps),
                         eg_group_spread(g, scale, x->shape.dim[1]));
}

static void group_rstd_reference(const eg_node *r, const double *const *in, double *out)
{
    const eg_group_attr *a = r->attr;
    int64_t rows = eg_shape_size(r->shape), cols = eg_shape_size(r->in[0]->shape) / rows;
    for (int64_t i = 0; i < rows; i++) {
        double mean, var;
        eg_reference_moments(in[0] + i * cols, cols, &mean, &var);
        out[i] = 1 / sqrt(var + a->eps);
    }
}

/* in: x; out: r, room for two rows of channels. */
static eg_status group_rstd_run(const eg_step *s)
{
    const eg_group_attr *a = s->node->attr;
    eg_channels d = eg_channels_of(s->k, s->node->in[0], s->in[0]->layout);
    int64_t n = d.n, size = (int64_t)(s->in[0]->bytes / sizeof(float)) / n;
    float *stats = s->out[1]->data;
    d.n = 1;
    for (int64_t i = 0; i < n; i++) {
        eg_group_moments(s->k, s->in[0]->data + i * size, &d, a, stats);
        for (int64_t k = 0; k < a->groups; k++)
            s->out[0]->data[i * a->groups + k] = stats[d.c + k * (d.c / a->groups)];
    }
    return EG_OK;
}

static eg_status group_rstd_emit(eg_plan *p, const eg_node *r)
{
    const eg_node *node = r->in[0];
    eg_value *x = eg_plan_read(p, node, eg_group_layout(p, node));
    eg_value *out[] = {
        eg_plan_write(p, r, EG_ROWMAJOR),
        eg_plan_scratch(p, 2 * (size_t)node->shape.dim[1] * sizeof(float)),
    };
    return eg_plan_step(p, r, group_rstd_run, 1, &x, 2, out) ? EG_OK : EG_ENOMEM;
}

static eg_node *group_rstd_sample(eg_graph *g, int i)
{
    static const int64_t c[] = {4, 19, 18}, groups[] = {2, 19, 3};
    return i > 2 ? NULL
                 : eg_group_rstd(g, eg_sample_input(g, eg_dims(2, c[i], 3, 2), -1, 1),
                                 groups[i], i ? 1e-5 : 0.1);
}

const eg_op eg_op_group_rstd = {.name = "group_rstd",
                                .vjp = group_rstd_vjp,
                                .reference = group_rstd_reference,
                                .emit = group_rstd_emit,
                                .sample = group_rstd_sample};

eg_node *eg_group_rstd(eg_graph *g, eg_node *x, int64_t groups, double eps)
{
    if (!eg_check_groups(g, "group_rstd", x, groups))
        return g->poison;
    eg_group_attr a = {groups, eps};
    return eg_graph_record(g, &eg_op_group_rstd, eg_dims(x->shape.dim[0], groups), &a, sizeof a,
                           1, &x);
}
