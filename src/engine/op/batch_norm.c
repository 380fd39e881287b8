/* batch_norm.c - y = (x - mean) / sqrt(var + eps) * weight + bias by the batch's statistics.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gradient for x holds the part that flows through the statistics; the second derivative is
 * not defined here.
 */
#include "engine/op/op.h"

#include <math.h>

static double batch_norm_eps(const eg_node *y)
{
    return *(const double *)y->attr;
}

static eg_node *batch_norm_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *x = y->in[0], *stats = y->in[1], *weight = y->in[2];
    if (wrt == 1)
        return NULL; /* part of the gradient for x */
    eg_node *sums = eg_batch_norm_sums(g, x, stats, dy, batch_norm_eps(y));
    if (wrt == 0)
        return eg_batch_norm_back(g, x, stats, weight, dy, sums, batch_norm_eps(y));
    eg_node *row = eg_slice(g, sums, 0, wrt == 2 ? 1 : 0, 1);
    return eg_reshape(g, row, weight->shape);
}

static void batch_norm_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y, EG_ROWMAJOR);
    for (int64_t i = 0; i < d.n * d.c * d.area; i++) {
        int64_t c = i / d.area % d.c;
        double z = (in[0][i] - in[1][c]) / sqrt(in[1][d.c + c] + batch_norm_eps(y));
        out[i] = z * in[2][c] + in[3][c];
    }
}

static eg_status batch_norm_share(const eg_step *s, const eg_team_part *part)
{
    const eg_node *y = s->node;
    eg_range own;
    eg_channels d = eg_channels_of(s->k, y, s->out[0]->layout);
    if (!eg_channels_part(s->k, part, &d, &own))
        return EG_OK;
    const float *stats = s->in[1]->data, *weight = s->in[2]->data, *bias = s->in[3]->data;
    float *scale = s->out[1]->data, *shift = scale + d.c, eps = (float)batch_norm_eps(y);
    for (int64_t c = own.from; c < own.to; c++) {
        scale[c] = weight[c] / sqrtf(stats[d.c + c] + eps);
        shift[c] = bias[c] - stats[c] * scale[c];
    }
    s->k->channel_affine(s->out[0]->data, s->in[0]->data, scale, shift,
                         s->n_in > 4 ? s->in[4]->data : NULL, s->with_relu, &d);
    return EG_OK;
}

/* The other summand of an add that alone reads y, when it is there already: a residual. */
static const eg_node *batch_norm_residual(const eg_plan *p, const eg_node *y,
                                          const eg_node **sum)
{
    *sum = eg_plan_sole_reader(p, y, &eg_op_add);
    if (!*sum)
        return NULL;
    const eg_node *other = (*sum)->in[(*sum)->in[0] == y];
    if (other == y || !eg_plan_has(p, other) || eg_plan_skipped(p, other)) {
        *sum = NULL;
        return NULL;
    }
    return other;
}

/* One pass does the scaling, a residual's addition and a relu. */
static eg_status batch_norm_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_channel_layout(p, y->in[0]);
    const eg_node *sum, *other = batch_norm_residual(p, y, &sum);
    const eg_node *relu = eg_sole_relu(p, sum ? sum : y);
    eg_value *in[5] = {
        eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], EG_ROWMAJOR),
        eg_plan_read(p, y->in[2], EG_ROWMAJOR), eg_plan_read(p, y->in[3], EG_ROWMAJOR),
        other ? eg_plan_read(p, other, layout) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, layout),
                       eg_plan_scratch(p, 2 * (size_t)y->shape.dim[1] * sizeof(float))};
    eg_step *s = eg_plan_step(p, y, NULL, other ? 5 : 4, in, 2, out);
    EG_TRY(eg_plan_share(s, batch_norm_share));
    s->with_relu = relu != NULL;
    if (sum)
        eg_plan_fused(p, sum, out[0]);
    if (relu)
        eg_plan_fused(p, relu, out[0]);
    return EG_OK;
}

static eg_node *batch_norm_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {5, 4}}, {4, {3, 5, 3, 2}}, {4, {2, 19, 3, 3}}};
    if (i > 2)
        return NULL;
    eg_node *x = eg_sample_input(g, s[i], -1, 1);
    eg_shape c = eg_dims(s[i].dim[1]);
    return eg_batch_norm(g, x, eg_channel_stats(g, x, NULL, NULL, 0),
                         eg_sample_input(g, c, 0.5, 1.5), eg_sample_input(g, c, -1, 1), 1e-5);
}

const eg_op eg_op_batch_norm = {.name = "batch_norm",
                                .vjp = batch_norm_vjp,
                                .reference = batch_norm_reference,
                                .emit = batch_norm_emit,
                                .sample = batch_norm_sample};

eg_node *eg_batch_norm(eg_graph *g, eg_node *x, eg_node *stats, eg_node *weight, eg_node *bias,
                       double eps)
{
    eg_node *in[] = {x, stats, weight, bias};
    if (!eg_check_channels(g, "batch_norm", x, 3, in + 1))
        return g->poison;
    return eg_graph_record(g, &eg_op_batch_norm, x->shape, &eps, sizeof eps, 4, in);
}
