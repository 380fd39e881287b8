/* batch_norm_back.c - the gradient of batch_norm for x, through the statistics too:
 * dx = weight / s (dy - mean(dy) - z mean(dy z)), z = (x - mean) / s, s = sqrt(var + eps).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static void batch_norm_back_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y, EG_ROWMAJOR);
    const double *x = in[0], *stats = in[1], *weight = in[2], *dy = in[3], *sums = in[4];
    double eps = *(const double *)y->attr, count = (double)(d.n * d.area);
    for (int64_t i = 0; i < d.n * d.c * d.area; i++) {
        int64_t c = i / d.area % d.c;
        double s = sqrt(stats[d.c + c] + eps), z = (x[i] - stats[c]) / s;
        out[i] = weight[c] / s * (dy[i] - sums[c] / count - z * sums[d.c + c] / count);
    }
}

/* As dx = a dy + b x + c for each channel, so that one pass reads x and dy and writes dx. */
static eg_status batch_norm_back_share(const eg_step *s, const eg_team_part *part)
{
    eg_range own;
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    if (!eg_channels_part(s->k, part, &d, &own))
        return EG_OK;
    const float *stats = s->in[1]->data, *weight = s->in[2]->data, *sums = s->in[4]->data;
    float eps = (float)*(const double *)s->node->attr, count = (float)(d.n * d.area);
    float *a = s->out[1]->data, *b = a + d.c, *c = b + d.c;
    for (int64_t i = own.from; i < own.to; i++) {
        float r = 1 / sqrtf(stats[d.c + i] + eps);
        a[i] = weight[i] * r;
        b[i] = -a[i] * r * sums[d.c + i] / count;
        c[i] = -a[i] * sums[i] / count - b[i] * stats[i];
    }
    s->k->channel_back(s->out[0]->data, s->in[0]->data, s->n_in > 5 ? s->in[5]->data : NULL,
                       s->in[3]->data, a, &d);
    return EG_OK;
}

static eg_status batch_norm_back_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_channel_layout(p, y->in[0]);
    const eg_node *dy = y->in[3];
    bool masked = eg_plan_skipped(p, dy);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[2], EG_ROWMAJOR),
                      eg_plan_read(p, masked ? dy->in[1] : dy, layout),
                      eg_plan_read(p, y->in[4], EG_ROWMAJOR),
                      masked ? eg_plan_read(p, dy->in[0], layout) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, layout),
                       eg_plan_scratch(p, 3 * (size_t)y->shape.dim[1] * sizeof(float))};
    EG_TRY(eg_plan_share(eg_plan_step(p, y, NULL, masked ? 6 : 5, in, 2, out),
                         batch_norm_back_share));
    eg_plan_in_place(p, out[0], in[3]);
    return EG_OK;
}

static eg_node *batch_norm_back_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {5, 4}}, {4, {2, 19, 3, 3}}};
    if (i > 1)
        return NULL;
    eg_node *x = eg_sample_input(g, s[i], -1, 1), *dy = eg_sample_input(g, s[i], -1, 1);
    eg_node *weight = eg_sample_input(g, eg_dims(s[i].dim[1]), 0.5, 1.5);
    eg_node *stats = eg_channel_stats(g, x, NULL, NULL, 0);
    eg_node *sums = eg_batch_norm_sums(g, x, stats, dy, 1e-5);
    return eg_batch_norm_back(g, x, stats, weight, dy, sums, 1e-5);
}

const eg_op eg_op_batch_norm_back = {.name = "batch_norm_back",
                                     .reference = batch_norm_back_reference,
                                     .emit = batch_norm_back_emit,
                                     .sample = batch_norm_back_sample,
                                     .no_vjp = "it is a fused backward"};

eg_node *eg_batch_norm_back(eg_graph *g, eg_node *x, eg_node *stats, eg_node *weight,
                            eg_node *dy, eg_node *sums, double eps)
{
    eg_node *in[] = {x, stats, weight, dy, sums};
    if (eg_any_poison(5, in))
        return g->poison;
    return eg_graph_record(g, &eg_op_batch_norm_back, x->shape, &eps, sizeof eps, 5, in);
}
