/* winograd_phases.c - a convolution as Winograd's: its phases, their places and filters.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A 4x4 window of stride 2 is a 2x2 one of stride 1 on four phases of the input: its places of
 * even and odd rows and columns. Their channels are summed over together; the gradient for the
 * input has four phases of results instead, each a convolution with filters of its own.
 *
 * A 3x3 window of stride 2 and padding 1 has a 2x2, a 2x1, a 1x2 and a 1x1 one on the same
 * phases. One tap is two of which the second is zero: all four share the points and the
 * transform of results of F(4x4, 2x2), and where a phase has only zeros in a point nothing is
 * multiplied: 81 products for 16 results, by the definition 144. The phases stand in such an
 * order that those which meet in a point are neighbours. The gradient for the input has one
 * transform of its tiles for all four phases.
 */
#include "engine/conv/winograd.h"

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
static void winograd_one_phase(const eg_conv *c, eg_winograd_phase *f)
{
    int64_t square = c->kh * c->kh;
    f->filters = (eg_winograd_filters){
        .taps = c->kh, .across = c->kh, .ic_step = square, .oc_step = c->ic * square};
    f->filters.tap_step = 1, f->filters.line_step = c->kh;
    f->in = (eg_winograd_tiles){.row = -c->padding, .col = -c->padding, .stride = 1};
    f->out = (eg_winograd_tiles){.stride = 1};
}

/* Phase k of a 4x4 window of stride 2. Row a of each pair of its rows meets the places 2 i + a
 * - padding of x: those of one phase. The gradient for x of the places 2 q + e comes from the
 * rows with the same evenness, whose first tap falls on result q + shift. */
static void winograd_strided_phase(const eg_conv *c, int k, bool back, eg_winograd_phase *f)
{
    int64_t e[2] = {k / 2, k % 2}, a[2], shift[2];
    for (int i = 0; i < 2; i++) {
        a[i] = back ? (e[i] + c->padding) % 2 : e[i];
        shift[i] = (e[i] + c->padding - a[i]) / 2;
    }
    f->first = a[0] * c->kw + a[1];
    f->filters = (eg_winograd_filters){.taps = 2,
                                       .across = 2,
                                       .ic_step = 16,
                                       .oc_step = c->ic * 16,
                                       .tap_step = 2,
                                       .line_step = 8};
    if (back) {
        f->in = (eg_winograd_tiles){.row = shift[0] - 1, .col = shift[1] - 1, .stride = 1};
        f->out = (eg_winograd_tiles){.row = e[0], .col = e[1], .stride = 2};
    } else {
        f->in = (eg_winograd_tiles){
            .row = a[0] - c->padding, .col = a[1] - c->padding, .stride = 2};
        f->out = (eg_winograd_tiles){.stride = 1};
    }
}

/* Phase k of a 3x3 window of stride 2 and padding 1. Two taps, the first and the third, meet
 * the odd places of x, from -1 on; the other meets the even ones. The gradient for the odd
 * places 2 q + 1 comes from results q and q + 1, that for the even ones 2 q from result q. */
static void winograd_odd_phase(const eg_conv *c, int k, bool back, eg_winograd_phase *f)
{
    int64_t taps = k < 2 ? 2 : 1, across = k == 1 || k == 2 ? 2 : 1;
    f->first = (2 - taps) * c->kw + 2 - across;
    f->filters = (eg_winograd_filters){.taps = taps,
                                       .across = across,
                                       .ic_step = 9,
                                       .oc_step = c->ic * 9,
                                       .tap_step = 2,
                                       .line_step = 6};
    if (back) {
        f->in = (eg_winograd_tiles){.taps = 2, .across = 2, .stride = 1};
        f->out = (eg_winograd_tiles){.row = taps - 1, .col = across - 1, .stride = 2};
    } else {
        f->in = (eg_winograd_tiles){.row = 1 - taps, .col = 1 - across, .stride = 2};
        f->out = (eg_winograd_tiles){.taps = 2, .across = 2, .stride = 1};
    }
}

static void winograd_fit(eg_winograd_tiles *t, const eg_winograd_phase *f, int64_t rows,
                         int64_t cols)
{
    t->rows = rows, t->cols = cols;
    if (!t->taps)
        t->taps = f->filters.taps, t->across = f->filters.across;
}

/* Gives both sides of a phase the sizes of their tensors, and the tiles. */
static void winograd_size(eg_winograd_phase *f, const eg_conv *c, bool back, int64_t rows,
                          int64_t cols)
{
    eg_winograd_tiles *x = back ? &f->out : &f->in, *y = back ? &f->in : &f->out;
    x->c = c->ic, x->h = c->h, x->w = c->w;
    y->c = c->oc, y->h = c->oh, y->w = c->ow;
    winograd_fit(x, f, rows, cols);
    winograd_fit(y, f, rows, cols);
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
static void winograd_describe_phases(const eg_conv *c, eg_conv_pass pass, eg_winograd_args *a)
{
    bool back = pass == EG_CONV_BACK_DATA;
    a->n_phases = c->stride == 1 ? 1 : EG_WINOGRAD_PHASES;
    a->apart = back;
    a->once = back && c->stride == 2 && c->kh == 3;
    a->pitch = (c->stride == 2 ? 2 : c->kh) + EG_WINOGRAD_TILE - 1;
    int64_t h = back ? (c->h + c->stride - 1) / c->stride : c->oh;
    int64_t w = back ? (c->w + c->stride - 1) / c->stride : c->ow;
    int64_t rows = (h + EG_WINOGRAD_TILE - 1) / EG_WINOGRAD_TILE;
    int64_t cols = (w + EG_WINOGRAD_TILE - 1) / EG_WINOGRAD_TILE;
    a->tiles = c->n * rows * cols;
    for (int k = 0; k < a->n_phases; k++) {
        eg_winograd_phase *f = &a->phase[k];
        if (c->stride == 1)
            winograd_one_phase(c, f);
        else if (c->kh == 3)
            winograd_odd_phase(c, k, back, f);
        else
            winograd_strided_phase(c, k, back, f);
        if (back && c->stride == 1)
            f->in.row = f->in.col = c->padding + 1 - c->kh;
        winograd_size(f, c, back, rows, cols);
        if (back)
            winograd_turn(&f->filters);
    }
}

void eg_winograd_describe(const eg_kernels *k, const eg_conv *c, eg_conv_pass pass,
                          eg_winograd_args *a)
{
    winograd_describe_phases(c, pass, a);
    bool back = pass == EG_CONV_BACK_DATA;
    bool many = a->n_phases * c->ic * c->oc >= EG_WINOGRAD_MANY;
    int64_t n = winograd_stretch(c, a->tiles, many, pass == EG_CONV_BACK_WEIGHTS);
    a->ic = back ? c->oc : c->ic, a->oc = back ? c->ic : c->oc;
    a->pieces = many && n == a->tiles;
    int64_t summed = a->apart ? a->ic : a->n_phases * a->ic; /* channels */
    int64_t in = a->ic < EG_WINOGRAD_PIECE ? a->ic : EG_WINOGRAD_PIECE;
    int64_t ic = a->pieces ? in : summed;
    int64_t oc = a->pieces && a->oc > EG_WINOGRAD_PIECE ? EG_WINOGRAD_PIECE : a->oc;
    a->product = (eg_panel_product){.points = a->pitch * a->pitch,
                                    .n = n,
                                    .ic = ic,
                                    .oc = oc,
                                    .rows = ic,
                                    .in_step = eg_winograd_step(k, n * summed),
                                    .weight_step = eg_winograd_step(k, ic * oc),
                                    .out_step = eg_winograd_step(k, n * a->oc)};
    for (int64_t i = 0; i < a->n_phases; i++) {
        eg_winograd_phase *f = &a->phase[i];
        f->in.step = a->product.in_step;
        f->out.step = a->product.out_step;
        f->filters.ic = a->ic, f->filters.oc = oc;
        f->filters.rows = ic, f->filters.row = a->apart ? 0 : i * a->ic;
        f->filters.step = a->product.weight_step;
    }
}
