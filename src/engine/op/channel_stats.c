/* channel_stats.c - mean and biased variance of every channel: [2, c].
 * SPDX-License-Identifier: Apache-2.0
 *
 * When running statistics are given, a run moves them as PyTorch does:
 * new = (1 - momentum) old + momentum batch, with the unbiased variance.
 */
#include "engine/op/op.h"

static void channel_stats_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y->in[0], EG_ROWMAJOR);
    double count = (double)(d.n * d.area);
    for (int64_t c = 0; c < 2 * d.c; c++)
        out[c] = 0;
    for (int64_t i = 0; i < d.n * d.c * d.area; i++)
        out[i / d.area % d.c] += in[0][i] / count;
    for (int64_t i = 0; i < d.n * d.c * d.area; i++) {
        int64_t c = i / d.area % d.c;
        out[d.c + c] += (in[0][i] - out[c]) * (in[0][i] - out[c]) / count;
    }
}

static eg_status channel_stats_share(const eg_step *s, const eg_team_part *part)
{
    eg_range own;
    eg_channels d = eg_channels_of(s->k, s->node->in[0], s->in[0]->layout);
    if (!eg_channels_part(s->k, part, &d, &own))
        return EG_OK;
    float *stats = s->out[0]->data; /* [2, c] */
    s->k->channel_stats(stats, s->in[0]->data, &d);
    if (s->n_out == 1)
        return EG_OK;
    float a = (float)*(const double *)s->node->attr,
          count = (float)(d.n * d.area); /* equal in every layout */
    float *mean = s->out[1]->data, *var = s->out[2]->data;
    for (int64_t c = own.from; c < own.to; c++) {
        mean[c] = (1 - a) * mean[c] + a * stats[c];
        var[c] = (1 - a) * var[c] + a * stats[d.c + c] * (count / (count - 1));
    }
    return EG_OK;
}

static eg_status channel_stats_emit(eg_plan *p, const eg_node *y)
{
    eg_value *x = eg_plan_read(p, y->in[0], eg_channel_layout(p, y->in[0]));
    eg_value *out[3] = {eg_plan_write(p, y, EG_ROWMAJOR)};
    for (int i = 1; i < y->n_in; i++)
        out[i] = eg_plan_read(p, y->in[i], EG_ROWMAJOR);
    return eg_plan_share(eg_plan_step(p, y, NULL, 1, &x, y->n_in, out), channel_stats_share);
}

static eg_node *channel_stats_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {5, 4}}, {4, {2, 5, 3, 2}}, {4, {2, 19, 2, 3}}};
    return i > 2 ? NULL : eg_channel_stats(g, eg_sample_input(g, s[i], -1, 1), NULL, NULL, 0);
}

const eg_op eg_op_channel_stats = {.name = "channel_stats",
                                   .reference = channel_stats_reference,
                                   .emit = channel_stats_emit,
                                   .sample = channel_stats_sample,
                                   .no_vjp = "batch_norm's gradient holds its part",
                                   .impure = true};

eg_node *eg_channel_stats(eg_graph *g, eg_node *x, eg_node *mean, eg_node *var, double momentum)
{
    if (!eg_check_channels(g, "channel_stats", x, mean ? 2 : 0, (eg_node *[]){mean, var}))
        return g->poison;
    eg_channels d = eg_channels_of(NULL, x, EG_ROWMAJOR);
    if (d.n * d.area < 2)
        return eg_poison(g, EG_ESHAPE, "channel_stats: one value per channel has no variance");
    return eg_graph_record(g, &eg_op_channel_stats, eg_dims(2, d.c), &momentum, sizeof momentum,
                           mean ? 3 : 1, (eg_node *[]){x, mean, var});
}
