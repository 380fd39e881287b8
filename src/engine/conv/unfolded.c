/* unfolded.c - convolutions of any kind as products with the unfolded input, row-major.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each weight sees at each place makes a matrix U [ic kh kw, places] for every sample and
 * group. Then y = W U, dU = W^T dy, which is folded back into dx, and dW is the sum over
 * samples of dy U^T. This takes groups, windows that are no squares and single samples, where
 * nothing may be left to oneDNN.
 */
#include "engine/conv/conv.h"

#include "engine/graph/dnnl.h"

#include <string.h>

typedef struct unfolded_args {
    eg_conv c;
    eg_conv_pass pass;
    bool bias, relu;
} unfolded_args;

/* The convolution of one group of one sample. */
static eg_conv unfolded_group(const eg_conv *c)
{
    eg_conv one = *c;
    one.n = one.groups = 1;
    one.ic /= c->groups;
    one.oc /= c->groups;
    return one;
}

/* Where the place q of the results meets the image with tap (r, s); -1: outside. */
static int64_t unfolded_meets(const eg_conv *c, int64_t q, int64_t r, int64_t s)
{
    int64_t row = q / c->ow * c->stride - c->padding + r;
    int64_t col = q % c->ow * c->stride - c->padding + s;
    return row >= 0 && row < c->h && col >= 0 && col < c->w ? row * c->w + col : -1;
}

void eg_conv_unfold(const eg_conv *c, const float *x, float *u)
{
    int64_t taps = c->kh * c->kw, places = c->oh * c->ow;
    for (int64_t k = 0; k < c->ic * taps; k++)
        for (int64_t q = 0; q < places; q++) {
            int64_t at = unfolded_meets(c, q, k / c->kw % c->kh, k % c->kw);
            u[k * places + q] = at < 0 ? 0 : x[k / taps * c->h * c->w + at];
        }
}

/* dx, which is zeros before: every number of u is added where it came from. */
static void unfolded_fold(const eg_conv *c, const float *u, float *dx)
{
    int64_t taps = c->kh * c->kw, places = c->oh * c->ow;
    for (int64_t k = 0; k < c->ic * taps; k++)
        for (int64_t q = 0; q < places; q++) {
            int64_t at = unfolded_meets(c, q, k / c->kw % c->kh, k % c->kw);
            if (at >= 0)
                dx[k / taps * c->h * c->w + at] += u[k * places + q];
        }
}

static void unfolded_forward(const eg_kernels *k, const eg_conv *c, const float *x,
                             const float *w, float *u, float *y)
{
    int64_t places = c->oh * c->ow;
    eg_conv_unfold(c, x, u);
    k->product(y, w, u,
               &(eg_product_shape){.m = c->oc, .n = places, .k = c->ic * c->kh * c->kw});
}

static void unfolded_back_data(const eg_kernels *k, const eg_conv *c, const float *dy,
                               const float *w, float *u, float *dx)
{
    int64_t places = c->oh * c->ow;
    k->product(
        u, w, dy,
        &(eg_product_shape){.ta = true, .m = c->ic * c->kh * c->kw, .n = places, .k = c->oc});
    memset(dx, 0, (size_t)(c->ic * c->h * c->w) * sizeof *dx);
    unfolded_fold(c, u, dx);
}

static void unfolded_back_weights(const eg_kernels *k, const eg_conv *c, const float *x,
                                  const float *dy, bool add, float *u, float *dw)
{
    int64_t places = c->oh * c->ow;
    eg_conv_unfold(c, x, u);
    k->product(
        dw, dy, u,
        &(eg_product_shape){
            .tb = true, .m = c->oc, .n = c->ic * c->kh * c->kw, .k = places, .add = add});
}

static void unfolded_finish(const eg_step *s, const unfolded_args *a)
{
    eg_channels d = {.n = a->c.n, .c = a->c.oc, .area = a->c.oh * a->c.ow};
    float *y = s->out[0]->data;
    size_t size = (size_t)(d.n * d.c * d.area);
    if (a->bias)
        for (int64_t i = 0; i < d.n * d.c; i++)
            s->k->affine(y + i * d.area, y + i * d.area, 1, s->in[2]->data[i % d.c],
                         (size_t)d.area);
    if (a->relu)
        s->k->rectify(y, y, 0, size);
}

/* in: x or dy, and weights or dy; out: the result, and room for U. */
static eg_status unfolded_run(const eg_step *s)
{
    const unfolded_args *a = s->args;
    const eg_conv *c = &a->c, one = unfolded_group(c);
    int64_t x = one.ic * c->h * c->w, y = one.oc * c->oh * c->ow;
    int64_t w = one.oc * one.ic * c->kh * c->kw;
    float *out = s->out[0]->data, *u = s->out[1]->data;
    const float *first = s->in[0]->data, *second = s->in[1]->data;
    for (int64_t i = 0; i < c->n * c->groups; i++) {
        int64_t g = i % c->groups;
        if (a->pass == EG_CONV_FORWARD)
            unfolded_forward(s->k, &one, first + i * x, second + g * w, u, out + i * y);
        else if (a->pass == EG_CONV_BACK_DATA)
            unfolded_back_data(s->k, &one, first + i * y, second + g * w, u, out + i * x);
        else
            unfolded_back_weights(s->k, &one, first + i * x, second + i * y, i >= c->groups, u,
                                  out + g * w);
    }
    unfolded_finish(s, a);
    return EG_OK;
}

static eg_value *unfolded_room(eg_plan *p, const eg_conv *c)
{
    int64_t size = c->ic / c->groups * c->kh * c->kw * c->oh * c->ow;
    return eg_plan_scratch(p, (size_t)size * sizeof(float));
}

eg_status eg_unfolded_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                           const eg_conv_nodes *nodes)
{
    unfolded_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    bool forward = pass == EG_CONV_FORWARD, weights = pass == EG_CONV_BACK_WEIGHTS;
    *a = (unfolded_args){*c, pass, forward && nodes->bias, forward && nodes->relu};
    const eg_node *first = pass == EG_CONV_BACK_DATA ? nodes->dy : nodes->x;
    const eg_node *second = weights ? nodes->dy : nodes->weights;
    eg_value *in[] = {eg_plan_read(p, first, EG_ROWMAJOR), eg_plan_read(p, second, EG_ROWMAJOR),
                      a->bias ? eg_plan_read(p, nodes->bias, EG_ROWMAJOR) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR), unfolded_room(p, c)};
    eg_step *s = eg_plan_step(p, y, unfolded_run, a->bias ? 3 : 2, in, 2, out);
    if (!s)
        return EG_ENOMEM;
    if (a->relu)
        eg_plan_fused(p, nodes->relu, out[0]);
    s->args = a;
    s->kernel = "unfolded";
    s->flops = eg_conv_flops(c);
    return EG_OK;
}

/* in: x, dy; out: norms, room for U and for one sample's gradient. */
static eg_status unfolded_run_norms(const eg_step *s)
{
    const eg_conv *c = &((const unfolded_args *)s->args)->c, one = unfolded_group(c);
    int64_t x = one.ic * c->h * c->w, y = one.oc * c->oh * c->ow;
    int64_t w = one.oc * one.ic * c->kh * c->kw;
    float *dw = s->out[2]->data;
    for (int64_t n = 0; n < c->n; n++) {
        for (int64_t g = 0; g < c->groups; g++) {
            int64_t i = n * c->groups + g;
            unfolded_back_weights(s->k, &one, s->in[0]->data + i * x, s->in[1]->data + i * y,
                                  false, s->out[1]->data, dw + g * w);
        }
        double norm;
        s->k->dot(&norm, dw, dw, (size_t)(c->groups * w));
        s->out[0]->data[n] = (float)norm;
    }
    return EG_OK;
}

eg_status eg_unfolded_sample_norms(eg_plan *p, const eg_node *y, const eg_conv *c,
                                   const eg_node *x, const eg_node *dy)
{
    unfolded_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    a->c = *c;
    int64_t weights = c->oc * (c->ic / c->groups) * c->kh * c->kw;
    eg_value *in[] = {eg_plan_read(p, x, EG_ROWMAJOR), eg_plan_read(p, dy, EG_ROWMAJOR)};
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR), unfolded_room(p, c),
                       eg_plan_scratch(p, (size_t)weights * sizeof(float))};
    eg_step *s = eg_plan_step(p, y, unfolded_run_norms, 2, in, 3, out);
    if (!s)
        return EG_ENOMEM;
    s->args = a;
    s->kernel = "unfolded";
    s->flops = eg_conv_flops(c);
    return EG_OK;
}
