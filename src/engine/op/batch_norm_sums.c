/* batch_norm_sums.c - what the gradient of batch_norm needs of dy: [2, c], the sums of dy and
 * of dy times the normalised x, which are the gradients for bias and weight.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static void batch_norm_sums_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y->in[0], EG_ROWMAJOR);
    double eps = *(const double *)y->attr;
    for (int64_t c = 0; c < 2 * d.c; c++)
        out[c] = 0;
    for (int64_t i = 0; i < d.n * d.c * d.area; i++) {
        int64_t c = i / d.area % d.c;
        out[c] += in[2][i];
        out[d.c + c] += in[2][i] * (in[0][i] - in[1][c]) / sqrt(in[1][d.c + c] + eps);
    }
}

static eg_status batch_norm_sums_share(const eg_step *s, const eg_team_part *part)
{
    eg_range own;
    eg_channels d = eg_channels_of(s->k, s->node->in[0], s->in[0]->layout);
    if (!eg_channels_part(s->k, part, &d, &own))
        return EG_OK;
    const float *stats = s->in[1]->data;
    float *sums = s->out[0]->data, eps = (float)*(const double *)s->node->attr;
    s->k->channel_dots(sums, s->in[0]->data, stats, s->n_in > 3 ? s->in[3]->data : NULL,
                       s->in[2]->data, &d);
    for (int64_t c = own.from; c < own.to; c++)
        sums[d.c + c] /= sqrtf(stats[d.c + c] + eps);
    return EG_OK;
}

static eg_status batch_norm_sums_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_channel_layout(p, y->in[0]);
    const eg_node *dy = y->in[2];
    bool masked = eg_plan_skipped(p, dy); /* by a relu: read its result and its dy instead */
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], EG_ROWMAJOR),
                      eg_plan_read(p, masked ? dy->in[1] : dy, layout),
                      masked ? eg_plan_read(p, dy->in[0], layout) : NULL};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_share(eg_plan_step(p, y, NULL, masked ? 4 : 3, in, 1, &out),
                         batch_norm_sums_share);
}

static eg_node *batch_norm_sums_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {5, 4}}, {4, {2, 19, 3, 3}}};
    if (i > 1)
        return NULL;
    eg_node *x = eg_sample_input(g, s[i], -1, 1), *dy = eg_sample_input(g, s[i], -1, 1);
    return eg_batch_norm_sums(g, x, eg_channel_stats(g, x, NULL, NULL, 0), dy, 1e-5);
}

const eg_op eg_op_batch_norm_sums = {.name = "batch_norm_sums",
                                     .reference = batch_norm_sums_reference,
                                     .emit = batch_norm_sums_emit,
                                     .sample = batch_norm_sums_sample,
                                     .no_vjp = "it is part of a fused backward"};

eg_node *eg_batch_norm_sums(eg_graph *g, eg_node *x, eg_node *stats, eg_node *dy, double eps)
{
    if (!eg_check_channels(g, "batch_norm_sums", x, 1, &stats) || eg_is_poison(dy))
        return g->poison;
    return eg_graph_record(g, &eg_op_batch_norm_sums, eg_dims(2, x->shape.dim[1]), &eps,
                           sizeof eps, 3, (eg_node *[]){x, stats, dy});
}
