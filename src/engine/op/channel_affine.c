/* channel_affine.c - y = scale[c] x + shift[c] along axis 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *channel_affine_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    if (wrt == 0)
        return eg_channel_affine(g, dy, y->in[1], eg_constant(g, y->in[2]->shape, 0));
    return eg_channel_sum(g, wrt == 1 ? eg_mul(g, dy, y->in[0]) : dy);
}

static void channel_affine_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y, EG_ROWMAJOR);
    for (int64_t i = 0; i < d.n * d.c * d.area; i++)
        out[i] = in[1][i / d.area % d.c] * in[0][i] + in[2][i / d.area % d.c];
}

static eg_status channel_affine_share(const eg_step *s, const eg_team_part *part)
{
    eg_range own;
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    if (s->node->shape.rank == 2 && s->out[0]->layout == EG_ROWMAJOR && !s->args) {
        own = eg_team_range(part, d.n, 1);
        s->k->row_affine(s->out[0]->data + own.from * d.c, s->in[0]->data + own.from * d.c,
                         s->in[1]->data, s->in[2]->data, own.to - own.from, d.c);
        return EG_OK;
    }
    if (!eg_channels_part(s->k, part, &d, &own))
        return EG_OK;
    s->k->channel_affine(s->out[0]->data, s->in[0]->data, s->in[1]->data, s->in[2]->data, NULL,
                         s->with_relu, &d);
    return EG_OK;
}

static eg_status channel_affine_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[2], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, layout);
    const eg_node *relu = eg_sole_relu(p, y);
    eg_step *s = eg_plan_step(p, y, NULL, 3, in, 1, &out);
    EG_TRY(eg_plan_share(s, channel_affine_share));
    s->with_relu = relu != NULL;
    if (relu)
        eg_plan_fused(p, relu, out);
    eg_plan_in_place(p, out, in[0]);
    return EG_OK;
}

static eg_node *channel_affine_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 4}}, {4, {2, 5, 3, 2}}, {4, {2, 19, 2, 3}}};
    if (i > 2)
        return NULL;
    eg_shape c = eg_dims(s[i].dim[1]);
    return eg_channel_affine(g, eg_sample_input(g, s[i], -1, 1), eg_sample_input(g, c, -1, 1),
                             eg_sample_input(g, c, -1, 1));
}

const eg_op eg_op_channel_affine = {.name = "channel_affine",
                                    .vjp = channel_affine_vjp,
                                    .reference = channel_affine_reference,
                                    .emit = channel_affine_emit,
                                    .sample = channel_affine_sample};

eg_node *eg_channel_affine(eg_graph *g, eg_node *x, eg_node *scale, eg_node *shift)
{
    if (!eg_check_channels(g, "channel_affine", x, 2, (eg_node *[]){scale, shift}))
        return g->poison;
    return eg_graph_record(g, &eg_op_channel_affine, x->shape, NULL, 0, 3,
                           (eg_node *[]){x, scale, shift});
}
