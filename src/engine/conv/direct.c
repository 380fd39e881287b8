/* direct.c - convolutions by their definition, with the batch innermost: [c, h, w, lanes].
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forward is a kernel of its own. The gradient for the input is the same kernel on the gradient
 * of the result, with the weights turned by half a turn and their channels exchanged. The
 * gradient for the weights reads an input whose border is filled with zeros.
 */
#include "engine/conv/conv.h"

#include <string.h>

/* What a step needs beside its values. */
typedef struct direct_args {
    eg_conv c;     /* what the kernel computes */
    eg_conv whole; /* the convolution it is a pass of */
    bool relu;
} direct_args;

/* This part's channels of results: the convolution without the others. */
static eg_range direct_part(const eg_team_part *part, eg_conv *c)
{
    eg_range r =
        eg_team_range(part, c->oc, c->oc % 5 ? 4 : 5); /* what the kernels have at once */
    c->oc = r.to - r.from;
    return r;
}

static eg_status direct_share_forward(const eg_step *s, const eg_team_part *part)
{
    const direct_args *a = s->args;
    eg_conv c = a->c;
    eg_range r = direct_part(part, &c);
    s->k->conv_forward(s->out[0]->data + r.from * c.oh * c.ow * c.lanes, s->in[0]->data,
                       s->in[1]->data + r.from * c.ic * c.kh * c.kw,
                       s->n_in > 2 ? s->in[2]->data + r.from : NULL, a->relu, &c);
    return EG_OK;
}

/* to [ic, oc, kh, kw] = from [oc, ic, kh, kw] with both sides turned. */
static eg_status direct_run_turn(const eg_step *s)
{
    const eg_conv *c = &((const direct_args *)s->args)->whole;
    int64_t area = c->kh * c->kw;
    for (int64_t o = 0; o < c->oc; o++)
        for (int64_t i = 0; i < c->ic; i++)
            for (int64_t k = 0; k < area; k++)
                s->out[0]->data[(i * c->oc + o) * area + area - 1 - k] =
                    s->in[0]->data[(o * c->ic + i) * area + k];
    return EG_OK;
}

/* Rows of `lanes` floats set apart: place (y, x) goes to (y * step + border, x * step +
 * border). */
typedef struct direct_spread {
    int64_t c, h, w, step, border, to_h, to_w, lanes;
} direct_spread;

static eg_status direct_run_spread(const eg_step *s)
{
    const direct_spread *d = s->args;
    size_t place = (size_t)d->lanes * sizeof(float);
    memset(s->out[0]->data, 0, (size_t)(d->c * d->to_h * d->to_w) * place);
    for (int64_t c = 0; c < d->c; c++)
        for (int64_t y = 0; y < d->h; y++)
            for (int64_t x = 0; x < d->w; x++) {
                int64_t to = (c * d->to_h + y * d->step + d->border) * d->to_w;
                memcpy(s->out[0]->data + (to + x * d->step + d->border) * d->lanes,
                       s->in[0]->data + ((c * d->h + y) * d->w + x) * d->lanes, place);
            }
    return EG_OK;
}

/* Adds a step that spreads v; NULL when memory is out. */
static eg_value *direct_emit_spread(eg_plan *p, const eg_node *node, eg_value *v,
                                    const direct_spread *d)
{
    direct_spread *args = eg_plan_alloc(p, sizeof *args);
    eg_value *out =
        eg_plan_scratch(p, (size_t)(d->c * d->to_h * d->to_w * d->lanes) * sizeof(float));
    eg_step *s = eg_plan_step(p, node, direct_run_spread, 1, &v, 1, &out);
    if (!args || !s)
        return NULL;
    *args = *d;
    s->args = args;
    return out;
}

static eg_status direct_share_back_weights(const eg_step *s, const eg_team_part *part)
{
    const direct_args *a = s->args;
    eg_conv c = a->c;
    eg_range r = direct_part(part, &c);
    s->k->conv_back_weights(s->out[0]->data + r.from * c.ic * c.kh * c.kw, s->in[0]->data,
                            s->in[1]->data + r.from * c.oh * c.ow * c.lanes, &c);
    return EG_OK;
}

static eg_status direct_forward(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                direct_args *a)
{
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BATCHED),
                      eg_plan_read(p, nodes->weights, EG_ROWMAJOR),
                      nodes->bias ? eg_plan_read(p, nodes->bias, EG_ROWMAJOR) : NULL};
    eg_value *out = eg_plan_write(p, y, EG_BATCHED);
    eg_step *s = eg_plan_step(p, y, NULL, nodes->bias ? 3 : 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, direct_share_forward));
    a->relu = nodes->relu != NULL;
    if (nodes->relu)
        eg_plan_fused(p, nodes->relu, out);
    s->args = a;
    s->flops = eg_conv_flops(&a->c);
    return EG_OK;
}

/* dy with stride - 1 zeros between its places, as a stride of 1 would have made it. */
static eg_value *direct_dilated(eg_plan *p, const eg_node *y, eg_value *dy, const eg_conv *c)
{
    if (c->stride == 1)
        return dy;
    return direct_emit_spread(p, y, dy,
                              &(direct_spread){.c = c->oc,
                                               .h = c->oh,
                                               .w = c->ow,
                                               .step = c->stride,
                                               .to_h = (c->oh - 1) * c->stride + 1,
                                               .to_w = (c->ow - 1) * c->stride + 1,
                                               .lanes = c->lanes});
}

static eg_status direct_back_data(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                  direct_args *a)
{
    const eg_conv *c = &a->whole;
    eg_value *weights = eg_plan_read(p, nodes->weights, EG_ROWMAJOR);
    eg_value *turned = weights ? eg_plan_scratch(p, weights->bytes) : NULL;
    eg_step *turn = eg_plan_step(p, y, direct_run_turn, 1, &weights, 1, &turned);
    if (!turn)
        return EG_ENOMEM;
    turn->args = a;
    eg_value *dy = direct_dilated(p, y, eg_plan_read(p, nodes->dy, EG_BATCHED), c);
    eg_value *in[] = {dy, turned}, *out = eg_plan_write(p, y, EG_BATCHED);
    a->c = (eg_conv){.n = c->n,
                     .ic = c->oc,
                     .h = (c->oh - 1) * c->stride + 1,
                     .w = (c->ow - 1) * c->stride + 1,
                     .oc = c->ic,
                     .oh = c->h,
                     .ow = c->w,
                     .kh = c->kh,
                     .kw = c->kw,
                     .stride = 1,
                     .padding = c->kh - 1 - c->padding,
                     .groups = 1,
                     .lanes = c->lanes};
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, direct_share_forward));
    s->args = a;
    s->flops = eg_conv_flops(c);
    return EG_OK;
}

static eg_status direct_back_weights(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                     direct_args *a)
{
    const eg_conv *c = &a->whole;
    eg_value *x = eg_plan_read(p, nodes->x, EG_BATCHED);
    eg_value *dy = eg_plan_read(p, nodes->dy, EG_BATCHED);
    if (c->padding) {
        a->c.h = c->h + 2 * c->padding;
        a->c.w = c->w + 2 * c->padding;
        a->c.padding = 0;
        x = direct_emit_spread(p, y, x,
                               &(direct_spread){.c = c->ic,
                                                .h = c->h,
                                                .w = c->w,
                                                .step = 1,
                                                .border = c->padding,
                                                .to_h = a->c.h,
                                                .to_w = a->c.w,
                                                .lanes = c->lanes});
    }
    eg_value *in[] = {x, dy}, *out = eg_plan_write(p, y, EG_ROWMAJOR);
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, direct_share_back_weights));
    s->args = a;
    s->flops = eg_conv_flops(c);
    return EG_OK;
}

eg_status eg_direct_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                         const eg_conv_nodes *nodes)
{
    if (eg_winograd_batched_pays(c))
        return eg_winograd_batched_conv(p, y, pass, c, nodes);
    if (nodes->pool && eg_pooled_takes(eg_plan_kernels(p), c))
        return eg_pooled_forward(p, y, c, nodes);
    if (nodes->pooled)
        return eg_pooled_back_weights(p, y, c, nodes);
    direct_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    a->whole = *c;
    a->whole.lanes = eg_batch_lanes(eg_plan_kernels(p), c->n);
    a->c = a->whole;
    switch (pass) {
    case EG_CONV_FORWARD:
        return direct_forward(p, y, nodes, a);
    case EG_CONV_BACK_DATA:
        return direct_back_data(p, y, nodes, a);
    default:
        return direct_back_weights(p, y, nodes, a);
    }
}
