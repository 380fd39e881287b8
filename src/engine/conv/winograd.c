/* winograd.c - convolutions by Winograd's F(4x4, 2x2), F(4x4, 3x3) and F(4x4, 5x5), blocked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights are transformed by a step of their own, once a pass; then stretches of tiles are
 * transformed, multiplied and transformed back while the caches hold them. Of 512 x 512 filters
 * the matrices would pass through memory; if one stretch holds all tiles, they are made and
 * used piece by piece instead. The gradient for the input is the same step with weights turned
 * by half a turn and their channels exchanged.
 *
 * A 4x4 window of stride 2 is a 2x2 one of stride 1 on four phases of the input: its places of
 * even and odd rows and columns. Their channels are summed over together; the gradient for the
 * input has four phases of results instead, each a convolution with filters of its own.
 */
#include "engine/conv/conv.h"

enum { WINOGRAD_TILE = 4, WINOGRAD_PHASES = 4 };

/* From WINOGRAD_MANY filters on the transformed set leaves the cache; blocks of WINOGRAD_PIECE
 * channels stay. */
enum { WINOGRAD_MANY = 256 * 256, WINOGRAD_PIECE = 64 };

/* One phase: its places, its filters, and the first of their weights. */
typedef struct winograd_phase {
    eg_winograd_tiles in, out; /* of the tensor with ic channels, and of that with oc */
    eg_winograd_filters filters;
    int64_t first;
} winograd_phase;

/* What a step needs beside its values. */
typedef struct winograd_args {
    winograd_phase phase[WINOGRAD_PHASES];
    int64_t n_phases;
    bool apart; /* each phase is a convolution of its own; else they are summed over together */
    eg_panel_product product;
    int64_t ic, oc, tiles; /* channels of a phase; tiles in all */
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
static int64_t winograd_stretch(const eg_conv *c, int64_t tiles, bool many, bool gradient)
{
    int64_t few = c->kh == 5 ? 24 : 64, more = c->kh == 5 ? 64 : 128;
    int64_t n = many ? 256 : gradient ? more : few;
    return n < tiles ? n : tiles;
}

/* The only phase of a convolution of stride 1. */
static void winograd_one_phase(const eg_conv *c, winograd_phase *f)
{
    int64_t square = c->kh * c->kh;
    f->filters = (eg_winograd_filters){
        .taps = c->kh, .ic_step = square, .oc_step = c->ic * square, .tap_step = 1};
    f->filters.line_step = c->kh;
    f->in = (eg_winograd_tiles){.row = -c->padding, .col = -c->padding, .stride = 1};
    f->out = (eg_winograd_tiles){.stride = 1};
}

/* Phase k of a 4x4 window of stride 2. Row a of each pair of its rows meets the places 2 i + a
 * - padding of x: those of one phase. The gradient for x of the places 2 q + e comes from the
 * rows with the same evenness, whose first tap falls on result q + shift. */
static void winograd_strided_phase(const eg_conv *c, int k, bool back, winograd_phase *f)
{
    int64_t e[2] = {k / 2, k % 2}, a[2], shift[2];
    for (int i = 0; i < 2; i++) {
        a[i] = back ? (e[i] + c->padding) % 2 : e[i];
        shift[i] = (e[i] + c->padding - a[i]) / 2;
    }
    f->first = a[0] * c->kw + a[1];
    f->filters = (eg_winograd_filters){
        .taps = 2, .ic_step = 16, .oc_step = c->ic * 16, .tap_step = 2, .line_step = 8};
    if (back) {
        f->in = (eg_winograd_tiles){.row = shift[0] - 1, .col = shift[1] - 1, .stride = 1};
        f->out = (eg_winograd_tiles){.row = e[0], .col = e[1], .stride = 2};
    } else {
        f->in = (eg_winograd_tiles){
            .row = a[0] - c->padding, .col = a[1] - c->padding, .stride = 2};
        f->out = (eg_winograd_tiles){.stride = 1};
    }
}

/* Gives both sides of a phase the sizes of their tensors, and the tiles. */
static void winograd_size(winograd_phase *f, const eg_conv *c, bool back, int64_t rows,
                          int64_t cols)
{
    eg_winograd_tiles *x = back ? &f->out : &f->in, *y = back ? &f->in : &f->out;
    x->c = c->ic, x->h = c->h, x->w = c->w;
    y->c = c->oc, y->h = c->oh, y->w = c->ow;
    x->rows = y->rows = rows;
    x->cols = y->cols = cols;
    x->taps = y->taps = f->filters.taps;
}

/* Turns a filter of the forward pass into that of the gradient for the input. */
static void winograd_turn(eg_winograd_filters *f)
{
    int64_t ic_step = f->ic_step;
    f->ic_step = f->oc_step;
    f->oc_step = ic_step;
    f->turned = true;
}

/* Fills in the phases, but for what depends on the size of a stretch. */
static void winograd_describe_phases(const eg_conv *c, eg_conv_pass pass, winograd_args *a)
{
    bool back = pass == EG_CONV_BACK_DATA;
    a->n_phases = c->stride == 1 ? 1 : WINOGRAD_PHASES;
    a->apart = back;
    int64_t h = back ? (c->h + c->stride - 1) / c->stride : c->oh;
    int64_t w = back ? (c->w + c->stride - 1) / c->stride : c->ow;
    int64_t rows = (h + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    int64_t cols = (w + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    a->tiles = c->n * rows * cols;
    for (int k = 0; k < a->n_phases; k++) {
        winograd_phase *f = &a->phase[k];
        if (c->stride == 1)
            winograd_one_phase(c, f);
        else
            winograd_strided_phase(c, k, back, f);
        if (back && c->stride == 1)
            f->in.row = f->in.col = c->padding + 1 - c->kh;
        winograd_size(f, c, back, rows, cols);
        if (back)
            winograd_turn(&f->filters);
    }
}

/* Fills in the arguments of a pass. */
static void winograd_describe(const eg_kernels *k, const eg_conv *c, eg_conv_pass pass,
                              winograd_args *a)
{
    winograd_describe_phases(c, pass, a);
    bool back = pass == EG_CONV_BACK_DATA;
    bool many = a->n_phases * c->ic * c->oc >= WINOGRAD_MANY;
    int64_t n = winograd_stretch(c, a->tiles, many, pass == EG_CONV_BACK_WEIGHTS);
    a->ic = back ? c->oc : c->ic, a->oc = back ? c->ic : c->oc;
    a->pieces = many && n == a->tiles;
    int64_t summed = a->apart ? a->ic : a->n_phases * a->ic; /* channels */
    int64_t window = a->phase[0].filters.taps + WINOGRAD_TILE - 1;
    int64_t in = a->ic < WINOGRAD_PIECE ? a->ic : WINOGRAD_PIECE;
    int64_t ic = a->pieces ? in : summed;
    int64_t oc = a->pieces && a->oc > WINOGRAD_PIECE ? WINOGRAD_PIECE : a->oc;
    a->product = (eg_panel_product){.points = window * window,
                                    .n = n,
                                    .ic = ic,
                                    .oc = oc,
                                    .in_step = winograd_step(k, n * summed),
                                    .weight_step = winograd_step(k, ic * oc),
                                    .out_step = winograd_step(k, n * a->oc)};
    for (int64_t i = 0; i < a->n_phases; i++) {
        winograd_phase *f = &a->phase[i];
        f->in.step = a->product.in_step;
        f->out.step = a->product.out_step;
        f->filters.ic = a->ic, f->filters.oc = oc;
        f->filters.rows = ic, f->filters.row = a->apart ? 0 : i * a->ic;
        f->filters.step = a->product.weight_step;
    }
}

/* Points all parts at the stretch that begins with tile i. */
static void winograd_move(winograd_args *a, int64_t i)
{
    int64_t n = a->tiles - i < a->product.n ? a->tiles - i : a->product.n;
    a->product.n = n;
    for (int64_t k = 0; k < a->n_phases; k++) {
        a->phase[k].in.from = a->phase[k].out.from = i;
        a->phase[k].in.n = a->phase[k].out.n = n;
    }
}

/* The filters of a phase's piece, from channel i to channel o on. */
static eg_winograd_filters winograd_cut(winograd_args *a, const winograd_phase *f, int64_t i,
                                        int64_t o)
{
    int64_t ic = a->ic - i < WINOGRAD_PIECE ? a->ic - i : WINOGRAD_PIECE;
    int64_t oc = a->oc - o < WINOGRAD_PIECE ? a->oc - o : WINOGRAD_PIECE;
    eg_winograd_filters piece = f->filters;
    a->product.ic = piece.ic = piece.rows = ic;
    a->product.oc = piece.oc = oc;
    piece.row = 0;
    return piece;
}

/* Where a piece's weights begin. */
static int64_t winograd_weights_at(const winograd_phase *f, int64_t i, int64_t o)
{
    return f->first + i * f->filters.ic_step + o * f->filters.oc_step;
}

/* Floats of one transformed set of filters. */
static int64_t winograd_set(const winograd_args *a)
{
    return a->product.points * a->product.weight_step;
}

static eg_status winograd_run_filter(const eg_step *s)
{
    const winograd_args *a = s->args;
    for (int64_t k = 0; k < a->n_phases; k++)
        s->k->winograd_filter(s->out[0]->data + (a->apart ? k * winograd_set(a) : 0),
                              s->in[0]->data + a->phase[k].first, &a->phase[k].filters);
    return EG_OK;
}

/* v: the matrices of the input's tiles, of one phase or of all. */
static void winograd_read(const eg_step *s, const winograd_args *a, int64_t from, int64_t to,
                          float *v)
{
    for (int64_t k = from; k < to; k++)
        s->k->winograd_input(v + (k - from) * a->ic * a->product.n, s->in[0]->data,
                             &a->phase[k].in);
}

/* m = v w of the phases [from, to), the filters transformed into u piece by piece. */
static void winograd_multiply(const eg_step *s, winograd_args *a, int64_t from, int64_t to,
                              float *m, const float *v, float *u)
{
    for (int64_t o = 0; o < a->oc; o += WINOGRAD_PIECE)
        for (int64_t k = from; k < to; k++)
            for (int64_t i = 0; i < a->ic; i += WINOGRAD_PIECE) {
                const winograd_phase *f = &a->phase[k];
                eg_winograd_filters piece = winograd_cut(a, f, i, o);
                a->product.add = i > 0 || k > from;
                s->k->winograd_filter(u, s->in[1]->data + winograd_weights_at(f, i, o), &piece);
                s->k->panel_product(m + o * a->tiles, v + ((k - from) * a->ic + i) * a->tiles,
                                    u, &a->product);
            }
}

/* in: x, weights (transformed, or for pieces as they are), maybe a bias; out: y, room for both
 * sides' matrices and for those of a piece. */
static eg_status winograd_run_forward(const eg_step *s)
{
    winograd_args a = *(const winograd_args *)s->args;
    float *v = s->out[1]->data, *m = s->out[2]->data;
    const float *bias = s->n_in > 2 ? s->in[2]->data : NULL;
    int64_t together = a.apart ? 1 : a.n_phases;
    for (int64_t i = 0; i < a.tiles; i += a.product.n) {
        winograd_move(&a, i);
        for (int64_t k = 0; k < a.n_phases; k += together) {
            winograd_read(s, &a, k, k + together, v);
            if (a.pieces)
                winograd_multiply(s, &a, k, k + together, m, v, s->out[3]->data);
            else
                s->k->panel_product(m, v, s->in[1]->data + k * winograd_set(&a), &a.product);
            s->k->winograd_output(s->out[0]->data, m, bias, a.relu, &a.phase[k].out);
        }
    }
    return EG_OK;
}

/* dw = v^T dm, by way of du piece by piece. */
static void winograd_multiply_back(const eg_step *s, winograd_args *a, const float *v,
                                   const float *dm, float *du)
{
    for (int64_t o = 0; o < a->oc; o += WINOGRAD_PIECE)
        for (int64_t k = 0; k < a->n_phases; k++)
            for (int64_t i = 0; i < a->ic; i += WINOGRAD_PIECE) {
                const winograd_phase *f = &a->phase[k];
                eg_winograd_filters piece = winograd_cut(a, f, i, o);
                s->k->panel_product_back(du, v + (k * a->ic + i) * a->tiles, dm + o * a->tiles,
                                         &a->product);
                s->k->winograd_filter_back(s->out[0]->data + winograd_weights_at(f, i, o), du,
                                           &piece);
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
        winograd_read(s, &a, 0, a.n_phases, v);
        s->k->winograd_output_back(dm, s->in[1]->data, &a.phase[0].out);
        if (a.pieces)
            winograd_multiply_back(s, &a, v, dm, du);
        else
            s->k->panel_product_back(du, v, dm, &a.product);
    }
    for (int64_t k = 0; !a.pieces && k < a.n_phases; k++)
        s->k->winograd_filter_back(s->out[0]->data + a.phase[k].first, du, &a.phase[k].filters);
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
    int64_t sets = a->apart ? a->n_phases : 1;
    eg_value *u = winograd_scratch(p, a, sets * a->product.weight_step);
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

eg_status eg_winograd_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                           const eg_conv_nodes *nodes)
{
    winograd_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    bool turned = pass == EG_CONV_BACK_DATA;
    winograd_describe(eg_plan_kernels(p), c, pass, a);
    a->flops = eg_conv_flops(c);
    if (pass == EG_CONV_BACK_WEIGHTS)
        EG_TRY(winograd_emit_back_weights(p, y, nodes, a));
    else
        EG_TRY(winograd_emit_forward(
            p, y, eg_plan_read(p, turned ? nodes->dy : nodes->x, EG_BLOCKED), nodes, a));
    return EG_OK;
}

/* Every place must meet a window, and every window the image: elsewhere the result is zero, but
 * for the rounding of its neighbours in the tile. */
bool eg_winograd_can(const eg_kernels *k, const eg_conv *c)
{
    bool one = (c->kh == 3 || c->kh == 5) && c->stride == 1;
    bool two =
        c->kh == 4 && c->stride == 2 && (c->padding > 0 || (c->h % 2 == 0 && c->w % 2 == 0));
    return (one || two) && c->kw == c->kh && c->padding < c->kh && c->groups == 1 &&
           c->ic % k->width == 0 && c->oc % k->width == 0;
}
