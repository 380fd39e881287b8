/* pooled.c - a convolution and the max pooling behind it as one step, batch innermost.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/conv/conv.h"

typedef struct pooled_args {
    eg_conv c;
    bool relu, bias, keeps, winners, masked, sums;
} pooled_args;

/* Where Winograd does not pay: few input channels, so that most of the work is around the
 * multiplications. The kernels take 5x5 windows and whole pairs of rows and columns. */
bool eg_pooled_takes(const eg_kernels *k, const eg_conv *c)
{
    return eg_conv_is_batched(k, c) && !eg_winograd_batched_pays(c) && c->kh == 5 &&
           c->stride == 1 && c->padding == 0 && c->oh % 2 == 0 && c->ow % 2 == 0;
}

static pooled_args *pooled_args_new(eg_plan *p, const eg_conv *c)
{
    pooled_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return NULL;
    a->c = *c;
    a->c.lanes = eg_batch_lanes(eg_plan_kernels(p), c->n);
    return a;
}

/* Windows of all channels and lanes. */
static size_t pooled_places(const eg_conv *c)
{
    return (size_t)(c->oc * c->oh * c->ow / 4 * c->lanes);
}

enum { POOLED_CHANNELS = 5 }; /* that the kernels have at once */

/* A part has channels of results for its own. */
static eg_status pooled_share_forward(const eg_step *s, const eg_team_part *part)
{
    const pooled_args *a = s->args;
    eg_conv c = a->c;
    eg_range r = eg_team_range(part, c.oc, POOLED_CHANNELS);
    int64_t map = c.oh * c.ow * c.lanes;
    c.oc = r.to - r.from;
    eg_conv_pool d = {.max = s->out[0]->data + r.from * map / 4,
                      .winner =
                          a->winners ? (uint8_t *)s->out[1]->data + r.from * map / 4 : NULL,
                      .y = a->keeps ? s->out[1]->data + r.from * map : NULL,
                      .relu = a->relu};
    s->k->pooled_forward(&d, s->in[0]->data, s->in[1]->data + r.from * c.ic * c.kh * c.kw,
                         a->bias ? s->in[2]->data + r.from : NULL, &c);
    return EG_OK;
}

eg_status eg_pooled_forward(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    const eg_node *by[2];
    pooled_args *a = pooled_args_new(p, c);
    if (!a)
        return EG_ENOMEM;
    a->relu = nodes->pool_relu != NULL;
    a->bias = nodes->bias != NULL;
    a->winners = nodes->winners;
    a->keeps = !a->winners && eg_plan_readers(p, y, by) > 1;
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BATCHED),
                      eg_plan_read(p, nodes->weights, EG_ROWMAJOR),
                      a->bias ? eg_plan_read(p, nodes->bias, EG_ROWMAJOR) : NULL};
    eg_value *out[] = {eg_plan_write(p, nodes->pool, EG_BATCHED),
                       a->keeps     ? eg_plan_write(p, y, EG_BATCHED)
                       : a->winners ? eg_plan_scratch(p, pooled_places(&a->c))
                                    : NULL};
    eg_step *s =
        eg_plan_step(p, y, NULL, a->bias ? 3 : 2, in, a->keeps || a->winners ? 2 : 1, out);
    EG_TRY(eg_plan_share(s, pooled_share_forward));
    if (a->winners)
        eg_plan_leave(p, y, out[1]);
    if (nodes->pool_relu)
        eg_plan_fused(p, nodes->pool_relu, out[0]);
    s->args = a;
    s->flops = eg_conv_flops(c);
    return EG_OK;
}

static eg_status pooled_share_back_weights(const eg_step *s, const eg_team_part *part)
{
    const pooled_args *a = s->args;
    eg_conv c = a->c;
    eg_range r = eg_team_range(part, c.oc, 1);
    int64_t at = r.from * c.oh * c.ow * c.lanes / 4;
    c.oc = r.to - r.from;
    eg_pool_gradient d = {.winner = (const uint8_t *)s->in[1]->data + at,
                          .dy = s->in[2]->data + at,
                          .mask = a->masked ? s->in[3]->data + at : NULL};
    s->k->pooled_back_weights(s->out[0]->data + r.from * c.ic * c.kh * c.kw,
                              a->sums ? s->out[1]->data + r.from : NULL, s->in[0]->data, &d,
                              &c);
    return EG_OK;
}

eg_status eg_pooled_back_weights(eg_plan *p, const eg_node *y, const eg_conv *c,
                                 const eg_conv_nodes *nodes)
{
    pooled_args *a = pooled_args_new(p, c);
    if (!a)
        return EG_ENOMEM;
    a->masked = nodes->mask != NULL;
    a->sums = nodes->sum != NULL;
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BATCHED), eg_plan_left(p, nodes->pooled),
                      eg_plan_read(p, nodes->dy, EG_BATCHED),
                      a->masked ? eg_plan_read(p, nodes->mask, EG_BATCHED) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       a->sums ? eg_plan_write(p, nodes->sum, EG_ROWMAJOR) : NULL};
    eg_step *s = eg_plan_step(p, y, NULL, a->masked ? 4 : 3, in, a->sums ? 2 : 1, out);
    EG_TRY(eg_plan_share(s, pooled_share_back_weights));
    s->args = a;
    s->flops = eg_conv_flops(c);
    return EG_OK;
}
