/* winograd_batched.c - Winograd's F(4x4, 5x5) with the batch innermost, as steps of a plan.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters are transformed in a step of their own, then one kernel does a whole pass. The
 * gradients are the transposed form of the forward pass and read nothing of it.
 */
#include "engine/conv/conv.h"

enum { POINTS = 64, TAPS = 5 };

typedef struct batched_args {
    eg_conv c;
    bool relu;
} batched_args;

bool eg_winograd_batched_can(const eg_conv *c)
{
    return c->groups == 1 && c->kh == TAPS && c->kw == TAPS && c->stride == 1;
}

/* A tile of 16 places costs 64 operations per pair of channels instead of 400, and the
 * transforms 416 an input channel and 192 a result. With one input channel nothing is won;
 * tiles must be full by half. */
bool eg_winograd_batched_pays(const eg_conv *c)
{
    int64_t tiles = (c->oh + 3) / 4 * ((c->ow + 3) / 4);
    return eg_winograd_batched_can(c) && c->ic >= 4 && c->oc >= 4 &&
           2 * c->oh * c->ow >= 16 * tiles;
}

static size_t batched_filter_bytes(const eg_kernels *k, const eg_conv *c)
{
    return POINTS * eg_round_up((size_t)(c->oc * c->ic), (size_t)k->width) * sizeof(float);
}

static eg_value *batched_scratch(eg_plan *p, const eg_conv *c, int64_t units, int64_t more)
{
    int64_t vectors = POINTS * (c->ic + c->oc) * units + more;
    return eg_plan_scratch(p, (size_t)(vectors * eg_plan_kernels(p)->width) * sizeof(float));
}

static eg_status batched_run_filter(const eg_step *s)
{
    s->k->winograd_batched_filter(s->out[0]->data, s->in[0]->data,
                                  &((const batched_args *)s->args)->c);
    return EG_OK;
}

static eg_status batched_run_filter_back(const eg_step *s)
{
    s->k->winograd_batched_filter_back(s->out[0]->data, s->in[0]->data,
                                       &((const batched_args *)s->args)->c);
    return EG_OK;
}

static eg_status batched_run_forward(const eg_step *s)
{
    const batched_args *a = s->args;
    eg_winograd_data d = {.x = s->in[0]->data, .u = s->in[1]->data, .scratch = s->out[1]->data};
    s->k->winograd_batched_forward(s->out[0]->data, &d, s->n_in > 2 ? s->in[2]->data : NULL,
                                   a->relu, &a->c);
    return EG_OK;
}

static eg_status batched_run_back_data(const eg_step *s)
{
    const batched_args *a = s->args;
    eg_winograd_data d = {
        .dy = s->in[0]->data, .u = s->in[1]->data, .scratch = s->out[1]->data};
    s->k->winograd_batched_back_data(s->out[0]->data, &d, &a->c);
    return EG_OK;
}

static eg_status batched_run_back_weights(const eg_step *s)
{
    const batched_args *a = s->args;
    eg_winograd_data d = {
        .x = s->in[0]->data, .dy = s->in[1]->data, .scratch = s->out[1]->data};
    s->k->winograd_batched_back_weights(s->out[0]->data, &d, &a->c);
    return EG_OK;
}

/* Adds a step with its arguments and its name. */
static eg_step *batched_step(eg_plan *p, const eg_node *y, eg_status (*run)(const eg_step *),
                             batched_args *a, int n_in, eg_value *const *in, int n_out,
                             eg_value *const *out)
{
    eg_step *s = eg_plan_step(p, y, run, n_in, in, n_out, out);
    if (!s)
        return NULL;
    s->args = a;
    s->kernel = "winograd";
    return s;
}

/* The filters, transformed; NULL when memory is out. */
static eg_value *batched_filter(eg_plan *p, const eg_node *y, const eg_node *weights,
                                batched_args *a)
{
    eg_value *w = eg_plan_read(p, weights, EG_ROWMAJOR);
    eg_value *u = eg_plan_scratch(p, batched_filter_bytes(eg_plan_kernels(p), &a->c));
    return batched_step(p, y, batched_run_filter, a, 1, &w, 1, &u) ? u : NULL;
}

static eg_status batched_forward(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                 batched_args *a)
{
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BATCHED),
                      batched_filter(p, y, nodes->weights, a),
                      nodes->bias ? eg_plan_read(p, nodes->bias, EG_ROWMAJOR) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, EG_BATCHED),
                       batched_scratch(p, &a->c, EG_WINOGRAD_UNITS, 0)};
    eg_step *s = batched_step(p, y, batched_run_forward, a, nodes->bias ? 3 : 2, in, 2, out);
    if (!s)
        return EG_ENOMEM;
    a->relu = nodes->relu != NULL;
    if (nodes->relu)
        eg_plan_fused(p, nodes->relu, out[0]);
    s->flops = eg_conv_flops(&a->c);
    return EG_OK;
}

static eg_status batched_back_data(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                   batched_args *a)
{
    eg_value *in[] = {eg_plan_read(p, nodes->dy, EG_BATCHED),
                      batched_filter(p, y, nodes->weights, a)};
    eg_value *out[] = {eg_plan_write(p, y, EG_BATCHED),
                       batched_scratch(p, &a->c, EG_WINOGRAD_UNITS, 0)};
    eg_step *s = batched_step(p, y, batched_run_back_data, a, 2, in, 2, out);
    if (!s)
        return EG_ENOMEM;
    s->flops = eg_conv_flops(&a->c);
    return EG_OK;
}

static eg_status batched_back_weights(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                      batched_args *a)
{
    const eg_kernels *k = eg_plan_kernels(p);
    int64_t pairs = (int64_t)eg_round_up((size_t)(a->c.oc * a->c.ic), (size_t)k->width);
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BATCHED),
                      eg_plan_read(p, nodes->dy, EG_BATCHED)};
    eg_value *out[] = {eg_plan_scratch(p, batched_filter_bytes(k, &a->c)),
                       batched_scratch(p, &a->c, EG_WINOGRAD_GRAD_UNITS, pairs)};
    eg_step *s = batched_step(p, y, batched_run_back_weights, a, 2, in, 2, out);
    if (!s)
        return EG_ENOMEM;
    s->flops = eg_conv_flops(&a->c);
    eg_value *dw = eg_plan_write(p, y, EG_ROWMAJOR);
    return batched_step(p, y, batched_run_filter_back, a, 1, out, 1, &dw) ? EG_OK : EG_ENOMEM;
}

eg_status eg_winograd_batched_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass,
                                   const eg_conv *c, const eg_conv_nodes *nodes)
{
    batched_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    a->c = *c;
    a->c.lanes = eg_batch_lanes(eg_plan_kernels(p), c->n);
    switch (pass) {
    case EG_CONV_FORWARD:
        return batched_forward(p, y, nodes, a);
    case EG_CONV_BACK_DATA:
        return batched_back_data(p, y, nodes, a);
    default:
        return batched_back_weights(p, y, nodes, a);
    }
}
