/* winograd.c - 3x3 and 5x5 convolutions of stride 1 by Winograd's F(4x4, 3x3) and F(4x4, 5x5),
 * in blocked layouts.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights are transformed by a step of their own, once a pass; then stretches of tiles are
 * transformed, multiplied and transformed back while the caches hold them. Of 512 x 512 filters
 * the matrices would pass through memory; if one stretch holds all tiles, they are made and
 * used piece by piece instead. The gradient for the input is the same step with weights turned
 * by half a turn and their channels exchanged.
 */
#include "tensor/conv/conv.h"

enum { WINOGRAD_TILE = 4 };

/* From WINOGRAD_MANY filters on the transformed set leaves the cache; blocks of WINOGRAD_PIECE
 * channels stay. */
enum { WINOGRAD_MANY = 256 * 256, WINOGRAD_PIECE = 64 };

/* What a step needs beside its values. */
typedef struct winograd_args {
    eg_winograd_tiles in, out; /* of the tensor with ic channels, and of that with oc */
    eg_panel_product product;
    eg_winograd_filters filters;
    int64_t ic, oc, tiles; /* in all */
    bool pieces;           /* filters are transformed piece by piece, between the products */
    double flops;          /* by the definition */
    bool relu;
} winograd_args;

/* A matrix of so many floats, with a line between it and the next: at powers of two the
 * places of one tile would meet in one set of the first cache. */
static int64_t winograd_step(const eg_kernels *k, int64_t size)
{
    return size + k->width;
}

/* The tiles of one stretch: enough of them to pay for the filters that go by, few enough for
 * their matrices, of which 5x5 has more, to stay in the caches. Many filters, or their
 * gradient, which is read and written once a stretch, want longer ones. */
static int64_t winograd_stretch(const eg_conv *c, int64_t tiles, bool gradient)
{
    int64_t few = c->kh == 5 ? 24 : 64, more = c->kh == 5 ? 64 : 128;
    int64_t n = c->ic * c->oc >= WINOGRAD_MANY ? 256 : gradient ? more : few;
    return n < tiles ? n : tiles;
}

/* Fills in the arguments of a convolution of stride 1. */
static void winograd_describe(const eg_kernels *k, const eg_conv *c, eg_conv_pass pass,
                              winograd_args *a)
{
    int64_t rows = (c->oh + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    int64_t cols = (c->ow + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    a->tiles = c->n * rows * cols;
    int64_t n = winograd_stretch(c, a->tiles, pass == EG_CONV_BACK_WEIGHTS);
    bool turned = pass == EG_CONV_BACK_DATA;
    a->pieces = n == a->tiles && c->ic * c->oc >= WINOGRAD_MANY;
    int64_t taps = c->kh, square = taps * taps, window = taps + WINOGRAD_TILE - 1;
    int64_t ic = a->pieces && c->ic > WINOGRAD_PIECE ? WINOGRAD_PIECE : c->ic;
    int64_t oc = a->pieces && c->oc > WINOGRAD_PIECE ? WINOGRAD_PIECE : c->oc;
    a->ic = c->ic, a->oc = c->oc;
    a->product = (eg_panel_product){.points = window * window,
                                    .n = n,
                                    .ic = ic,
                                    .oc = oc,
                                    .in_step = winograd_step(k, n * c->ic),
                                    .weight_step = winograd_step(k, ic * oc),
                                    .out_step = winograd_step(k, n * c->oc)};
    a->filters = (eg_winograd_filters){.taps = taps,
                                       .ic = ic,
                                       .oc = oc,
                                       .ic_step = turned ? c->oc * square : square,
                                       .oc_step = turned ? square : c->ic * square,
                                       .step = a->product.weight_step,
                                       .turned = turned};
    a->in = (eg_winograd_tiles){.taps = taps,
                                .c = c->ic,
                                .h = c->h,
                                .w = c->w,
                                .rows = rows,
                                .cols = cols,
                                .padding = c->padding,
                                .step = a->product.in_step};
    a->out = (eg_winograd_tiles){.taps = taps,
                                 .c = c->oc,
                                 .h = c->oh,
                                 .w = c->ow,
                                 .rows = rows,
                                 .cols = cols,
                                 .step = a->product.out_step};
}

/* Points the three parts at the stretch that begins with tile i. */
static void winograd_move(winograd_args *a, int64_t i)
{
    int64_t n = a->tiles - i < a->product.n ? a->tiles - i : a->product.n;
    a->in.from = a->out.from = i;
    a->in.n = a->out.n = a->product.n = n;
}

/* Sets the sizes of the piece of filters from channel i to channel o on. */
static void winograd_cut(winograd_args *a, int64_t i, int64_t o)
{
    int64_t ic = a->ic - i < WINOGRAD_PIECE ? a->ic - i : WINOGRAD_PIECE;
    int64_t oc = a->oc - o < WINOGRAD_PIECE ? a->oc - o : WINOGRAD_PIECE;
    a->product.ic = a->filters.ic = ic;
    a->product.oc = a->filters.oc = oc;
}

static eg_status winograd_run_filter(const eg_step *s)
{
    const winograd_args *a = s->args;
    s->k->winograd_filter(s->out[0]->data, s->in[0]->data, &a->filters);
    return EG_OK;
}

/* m = v w, the filters transformed into u piece by piece. */
static void winograd_multiply(const eg_step *s, winograd_args *a, float *m, const float *v,
                              float *u)
{
    const eg_winograd_filters *f = &a->filters;
    for (int64_t o = 0; o < a->oc; o += WINOGRAD_PIECE)
        for (int64_t i = 0; i < a->ic; i += WINOGRAD_PIECE) {
            winograd_cut(a, i, o);
            a->product.add = i > 0;
            s->k->winograd_filter(u, s->in[1]->data + i * f->ic_step + o * f->oc_step, f);
            s->k->panel_product(m + o * a->tiles, v + i * a->tiles, u, &a->product);
        }
}

/* in: x, weights (transformed, or for pieces as they are), maybe a bias; out: y, room for both
 * sides' matrices and for those of a piece. */
static eg_status winograd_run_forward(const eg_step *s)
{
    winograd_args a = *(const winograd_args *)s->args;
    float *v = s->out[1]->data, *m = s->out[2]->data;
    for (int64_t i = 0; i < a.tiles; i += a.product.n) {
        winograd_move(&a, i);
        s->k->winograd_input(v, s->in[0]->data, &a.in);
        if (a.pieces)
            winograd_multiply(s, &a, m, v, s->out[3]->data);
        else
            s->k->panel_product(m, v, s->in[1]->data, &a.product);
        s->k->winograd_output(s->out[0]->data, m, s->n_in > 2 ? s->in[2]->data : NULL, a.relu,
                              &a.out);
    }
    return EG_OK;
}

/* dw = v^T dm, by way of du piece by piece. */
static void winograd_multiply_back(const eg_step *s, winograd_args *a, const float *v,
                                   const float *dm, float *du)
{
    const eg_winograd_filters *f = &a->filters;
    for (int64_t o = 0; o < a->oc; o += WINOGRAD_PIECE)
        for (int64_t i = 0; i < a->ic; i += WINOGRAD_PIECE) {
            winograd_cut(a, i, o);
            s->k->panel_product_back(du, v + i * a->tiles, dm + o * a->tiles, &a->product);
            s->k->winograd_filter_back(s->out[0]->data + i * f->ic_step + o * f->oc_step, du,
                                       f);
        }
}

/* in: x, dy; out: dw, room for both sides' matrices and the gradient's. */
static eg_status winograd_run_back_weights(const eg_step *s)
{
    winograd_args a = *(const winograd_args *)s->args;
    float *v = s->out[1]->data, *dm = s->out[2]->data, *du = s->out[3]->data;
    for (int64_t i = 0; i < a.tiles; i += a.product.n) {
        winograd_move(&a, i);
        a.product.add = i > 0;
        s->k->winograd_input(v, s->in[0]->data, &a.in);
        s->k->winograd_output_back(dm, s->in[1]->data, &a.out);
        if (a.pieces)
            winograd_multiply_back(s, &a, v, dm, du);
        else
            s->k->panel_product_back(du, v, dm, &a.product);
    }
    if (!a.pieces)
        s->k->winograd_filter_back(s->out[0]->data, du, &a.filters);
    return EG_OK;
}

/* Room for the matrices of all points. */
static eg_value *winograd_scratch(eg_plan *p, const winograd_args *a, int64_t step)
{
    return eg_plan_scratch(p, (size_t)(a->product.points * step) * sizeof(float));
}

/* The transformed weights, by a step of their own; NULL when memory is out. */
static eg_value *winograd_emit_filter(eg_plan *p, const eg_node *weights, winograd_args *a)
{
    eg_value *w = eg_plan_read(p, weights, EG_ROWMAJOR);
    eg_value *u = winograd_scratch(p, a, a->product.weight_step);
    eg_step *s = eg_plan_step(p, weights, winograd_run_filter, 1, &w, 1, &u);
    if (!s)
        return NULL;
    s->args = a;
    s->kernel = "winograd";
    s->reorder = true;
    return u;
}

static eg_status winograd_emit_forward(eg_plan *p, const eg_node *y, eg_value *x,
                                       const eg_conv_nodes *nodes, winograd_args *a)
{
    eg_value *w = a->pieces ? eg_plan_read(p, nodes->weights, EG_ROWMAJOR)
                            : winograd_emit_filter(p, nodes->weights, a);
    eg_value *in[] = {x, w, nodes->bias ? eg_plan_read(p, nodes->bias, EG_ROWMAJOR) : NULL};
    eg_value *out[] = {eg_plan_write(p, y, EG_BLOCKED),
                       winograd_scratch(p, a, a->product.in_step),
                       winograd_scratch(p, a, a->product.out_step),
                       a->pieces ? winograd_scratch(p, a, a->product.weight_step) : NULL};
    eg_step *s = eg_plan_step(p, y, winograd_run_forward, nodes->bias ? 3 : 2, in,
                              a->pieces ? 4 : 3, out);
    if (!s)
        return EG_ENOMEM;
    a->relu = nodes->relu != NULL;
    if (nodes->relu)
        eg_plan_fused(p, nodes->relu, out[0]);
    s->args = a;
    s->kernel = "winograd";
    s->flops = a->flops;
    return EG_OK;
}

static eg_status winograd_emit_back_weights(eg_plan *p, const eg_node *y,
                                            const eg_conv_nodes *nodes, winograd_args *a)
{
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BLOCKED),
                      eg_plan_read(p, nodes->dy, EG_BLOCKED)};
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       winograd_scratch(p, a, a->product.in_step),
                       winograd_scratch(p, a, a->product.out_step),
                       winograd_scratch(p, a, a->product.weight_step)};
    eg_step *s = eg_plan_step(p, y, winograd_run_back_weights, 2, in, 4, out);
    if (!s)
        return EG_ENOMEM;
    s->args = a;
    s->kernel = "winograd";
    s->flops = a->flops;
    return EG_OK;
}

/* The convolution that a gradient for the input is: over dy, of stride 1 too. */
static eg_conv winograd_exchanged(const eg_conv *c)
{
    eg_conv back = *c;
    back.ic = c->oc, back.h = c->oh, back.w = c->ow;
    back.oc = c->ic, back.oh = c->h, back.ow = c->w;
    back.padding = c->kh - 1 - c->padding;
    return back;
}

eg_status eg_winograd_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                           const eg_conv_nodes *nodes)
{
    winograd_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    eg_conv back = winograd_exchanged(c);
    bool turned = pass == EG_CONV_BACK_DATA;
    winograd_describe(eg_plan_kernels(p), turned ? &back : c, pass, a);
    a->flops = eg_conv_flops(c);
    if (pass == EG_CONV_BACK_WEIGHTS)
        EG_TRY(winograd_emit_back_weights(p, y, nodes, a));
    else
        EG_TRY(winograd_emit_forward(
            p, y, eg_plan_read(p, turned ? nodes->dy : nodes->x, EG_BLOCKED), nodes, a));
    return EG_OK;
}

bool eg_winograd_can(const eg_kernels *k, const eg_conv *c)
{
    return (c->kh == 3 || c->kh == 5) && c->kw == c->kh && c->stride == 1 && c->groups == 1 &&
           c->padding < c->kh && c->ic % k->width == 0 && c->oc % k->width == 0;
}
