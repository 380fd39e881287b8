/* channel_sum.c - sum over all axes but axis 1: [c].
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *channel_sum_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_shape s = y->in[0]->shape, row = s;
    for (int i = 0; i < s.rank; i++)
        row.dim[i] = i == 1 ? s.dim[1] : 1;
    return eg_expand(g, eg_reshape(g, dy, row), s);
}

static void channel_sum_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y->in[0], EG_ROWMAJOR);
    for (int64_t c = 0; c < d.c; c++)
        out[c] = 0;
    for (int64_t i = 0; i < d.n * d.c * d.area; i++)
        out[i / d.area % d.c] += in[0][i];
}

static eg_status channel_sum_share(const eg_step *s, const eg_team_part *part)
{
    const eg_node *x = s->node->in[0];
    eg_range own;
    eg_channels d = eg_channels_of(s->k, x, s->in[0]->layout);
    bool rows = d.area == 1 && !d.blocked, some = eg_channels_part(s->k, part, &d, &own);
    if (rows && part->i == 0)
        s->k->column_sum(s->out[0]->data, s->in[0]->data, d.n, d.c);
    else if (!rows && some)
        s->k->channel_sum(s->out[0]->data, s->in[0]->data, &d);
    return EG_OK;
}

static eg_status channel_sum_emit(eg_plan *p, const eg_node *y)
{
    eg_value *x = eg_plan_read(p, y->in[0], eg_channel_layout(p, y->in[0]));
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_share(eg_plan_step(p, y, NULL, 1, &x, 1, &out), channel_sum_share);
}

static eg_node *channel_sum_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 4}}, {4, {2, 5, 3, 2}}, {4, {2, 19, 2, 3}}};
    return i > 2 ? NULL : eg_channel_sum(g, eg_sample_input(g, s[i], -1, 1));
}

const eg_op eg_op_channel_sum = {.name = "channel_sum",
                                 .vjp = channel_sum_vjp,
                                 .reference = channel_sum_reference,
                                 .emit = channel_sum_emit,
                                 .sample = channel_sum_sample};

eg_node *eg_channel_sum(eg_graph *g, eg_node *x)
{
    if (!eg_check_channels(g, "channel_sum", x, 0, NULL))
        return g->poison;
    return eg_graph_record1(g, &eg_op_channel_sum, eg_dims(x->shape.dim[1]), x);
}
