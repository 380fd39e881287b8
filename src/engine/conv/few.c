/* few.c - gradients of convolutions whose input has few channels, as products of windows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A window of an image of 1 to 4 channels is a short row. For the input, the gradient of a
 * sample's results by all weights gives a row for each place, which are added up where windows
 * meet; for the weights, the rows that windows read are multiplied by the gradient. The image
 * stays in row-major order, the gradient blocked. oneDNN has reference code for the first, and
 * for the second where the padding is large.
 */
#include "engine/conv/conv.h"

enum { FEW_CHANNELS = 4 };

bool eg_few_can(const eg_kernels *k, const eg_conv *c)
{
    return c->groups == 1 && c->ic <= FEW_CHANNELS && c->oc % k->width == 0;
}

/* Weights of a filter, filled up to whole vectors. */
static int64_t few_columns(const eg_kernels *k, const eg_conv *c)
{
    return (int64_t)eg_round_up((size_t)(c->ic * c->kh * c->kw), (size_t)k->width);
}

/* in: dy, weights; out: dx, room for the weights and for a sample's rows. */
static eg_status few_run_back_data(const eg_step *s)
{
    const eg_conv *c = s->args;
    int64_t area = c->oh * c->ow;
    float *u = s->out[1]->data, *m = s->out[2]->data;
    eg_panel_product d = {
        .points = 1, .n = area, .ic = c->oc, .oc = few_columns(s->k, c), .rows = c->oc};
    s->k->few_filter(u, s->in[1]->data, c);
    for (int64_t i = 0; i < c->n; i++) {
        s->k->panel_product(m, s->in[0]->data + i * c->oc * area, u, &d);
        s->k->few_spread(s->out[0]->data + i * c->ic * c->h * c->w, m, c);
    }
    return EG_OK;
}

/* in: x, dy; out: dw, room for a sample's rows, for its gradient and for that of the weights.
 */
static eg_status few_run_back_weights(const eg_step *s)
{
    const eg_conv *c = s->args;
    int64_t area = c->oh * c->ow;
    float *v = s->out[1]->data, *dm = s->out[2]->data, *du = s->out[3]->data;
    int64_t columns = few_columns(s->k, c);
    eg_panel_product d = {.points = 1, .n = area, .ic = columns, .oc = c->oc, .rows = columns};
    eg_places all = {.n = 1, .c = c->oc, .h = c->oh, .w = c->ow, .stride = 1};
    all.rows = c->oh, all.cols = c->ow;
    for (int64_t i = 0; i < c->n; i++) {
        d.add = i > 0;
        s->k->few_read(v, s->in[0]->data + i * c->ic * c->h * c->w, c);
        s->k->places_read(dm, s->in[1]->data + i * c->oc * area, &all, true);
        s->k->panel_product_back(du, v, dm, &d);
    }
    s->k->few_filter_back(s->out[0]->data, du, c);
    return EG_OK;
}

static eg_value *few_scratch(eg_plan *p, int64_t floats)
{
    return eg_plan_scratch(p, (size_t)floats * sizeof(float));
}

eg_status eg_few_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                      const eg_conv_nodes *nodes)
{
    bool back = pass == EG_CONV_BACK_DATA;
    int64_t columns = few_columns(eg_plan_kernels(p), c), area = c->oh * c->ow;
    eg_value *in[] = {
        eg_plan_read(p, back ? nodes->dy : nodes->x, back ? EG_BLOCKED : EG_ROWMAJOR),
        eg_plan_read(p, back ? nodes->weights : nodes->dy, back ? EG_ROWMAJOR : EG_BLOCKED)};
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       few_scratch(p, columns * (back ? c->oc : area)),
                       few_scratch(p, area * (back ? columns : c->oc)),
                       back ? NULL : few_scratch(p, columns * c->oc)};
    eg_step *s = eg_plan_step(p, y, back ? few_run_back_data : few_run_back_weights, 2, in,
                              back ? 3 : 4, out);
    eg_conv *args = eg_plan_alloc(p, sizeof *args);
    if (!s || !args)
        return EG_ENOMEM;
    *args = *c;
    s->args = args;
    s->kernel = "product";
    s->flops = eg_conv_flops(c);
    return EG_OK;
}
