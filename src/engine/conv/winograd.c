/* winograd.c - convolutions by Winograd's F(4x4, 3x3), F(4x4, 5x5) and, of stride 2, by F(4x4,
 * 2x2) and its parts; blocked.
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
 *
 * A 3x3 window of stride 2 and padding 1 has a 2x2, a 2x1, a 1x2 and a 1x1 one on the same
 * phases. One tap is two of which the second is zero: all four share the points and the
 * transform of results of F(4x4, 2x2), and where a phase has only zeros in a point nothing is
 * multiplied: 81 products for 16 results, by the definition 144. The phases stand in such an
 * order that those which meet in a point are neighbours. The gradient for the input has one
 * transform of its tiles for all four phases.
 *
 * A team shares stretches, each thread with room of its own; where one stretch holds all tiles,
 * its channels. The gradient for the weights is shared by channels of the input, since all
 * tiles are summed over: every thread makes the matrices of the other side for itself.
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
    bool once;  /* apart: all phases read the same tiles */
    int64_t pitch; /* points from line to line */
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
        .taps = c->kh, .across = c->kh, .ic_step = square, .oc_step = c->ic * square};
    f->filters.tap_step = 1, f->filters.line_step = c->kh;
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
static void winograd_odd_phase(const eg_conv *c, int k, bool back, winograd_phase *f)
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

static void winograd_fit(eg_winograd_tiles *t, const winograd_phase *f, int64_t rows,
                         int64_t cols)
{
    t->rows = rows, t->cols = cols;
    if (!t->taps)
        t->taps = f->filters.taps, t->across = f->filters.across;
}

/* Gives both sides of a phase the sizes of their tensors, and the tiles. */
static void winograd_size(winograd_phase *f, const eg_conv *c, bool back, int64_t rows,
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
static void winograd_describe_phases(const eg_conv *c, eg_conv_pass pass, winograd_args *a)
{
    bool back = pass == EG_CONV_BACK_DATA;
    a->n_phases = c->stride == 1 ? 1 : WINOGRAD_PHASES;
    a->apart = back;
    a->once = back && c->stride == 2 && c->kh == 3;
    a->pitch = (c->stride == 2 ? 2 : c->kh) + WINOGRAD_TILE - 1;
    int64_t h = back ? (c->h + c->stride - 1) / c->stride : c->oh;
    int64_t w = back ? (c->w + c->stride - 1) / c->stride : c->ow;
    int64_t rows = (h + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    int64_t cols = (w + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    a->tiles = c->n * rows * cols;
    for (int k = 0; k < a->n_phases; k++) {
        winograd_phase *f = &a->phase[k];
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
    int64_t in = a->ic < WINOGRAD_PIECE ? a->ic : WINOGRAD_PIECE;
    int64_t ic = a->pieces ? in : summed;
    int64_t oc = a->pieces && a->oc > WINOGRAD_PIECE ? WINOGRAD_PIECE : a->oc;
    a->product = (eg_panel_product){.points = a->pitch * a->pitch,
                                    .n = n,
                                    .ic = ic,
                                    .oc = oc,
                                    .rows = ic,
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
    a->product.ic = a->product.rows = piece.ic = piece.rows = ic;
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

/* The filters of channels [r.from, r.to) of what is summed over, a phase's own. */
static eg_winograd_filters winograd_slice(const winograd_phase *f, eg_range r)
{
    eg_winograd_filters some = f->filters;
    some.row += r.from;
    some.ic = r.to - r.from;
    return some;
}

static eg_status winograd_share_filter(const eg_step *s, const eg_team_part *part)
{
    const winograd_args *a = s->args;
    eg_range r = eg_team_range(part, a->ic, s->k->width);
    for (int64_t k = 0; k < a->n_phases && r.to > r.from; k++) {
        const winograd_phase *f = &a->phase[k];
        eg_winograd_filters some = winograd_slice(f, r);
        s->k->winograd_filter(s->out[0]->data + (a->apart ? k * winograd_set(a) : 0),
                              s->in[0]->data + f->first + r.from * f->filters.ic_step, &some);
    }
    return EG_OK;
}

/* v: the matrices of the input's tiles, of one phase or of all; those of channels [r.from,
 * r.to) of each. */
static void winograd_read(const eg_step *s, const winograd_args *a, int64_t from, int64_t to,
                          float *v, eg_range r)
{
    for (int64_t k = from; k < to && r.to > r.from; k++) {
        eg_winograd_tiles t = a->phase[k].in;
        t.block = r.from / s->k->width, t.end = r.to / s->k->width;
        s->k->winograd_input(v + (k - from) * a->ic * a->product.n, s->in[0]->data, &t);
    }
}

/* Whether a phase has more than zeros in a point. */
static bool winograd_has(const winograd_args *a, int64_t phase, int64_t point)
{
    const eg_winograd_filters *f = &a->phase[phase].filters;
    return point / a->pitch < f->taps + WINOGRAD_TILE - 1 &&
           point % a->pitch < f->across + WINOGRAD_TILE - 1;
}

/* The matrices of the points: of the input's tiles, of the results', of the weights. The latter
 * have these rows, of the phases' channels one after the other. */
typedef struct winograd_matrices {
    float *v, *m, *u;
    eg_range rows;
} winograd_matrices;

/* The product of one point, summed over those rows of the phases [from, to) that have it; false
 * if none does. */
static bool winograd_at_point(const winograd_args *a, int64_t from, int64_t to, int64_t point,
                              eg_range rows, eg_panel_product *d)
{
    int64_t first = from, last = to;
    while (first < to && !winograd_has(a, first, point))
        first++;
    while (last > first && !winograd_has(a, last - 1, point))
        last--;
    int64_t low = (first - from) * a->ic, high = (last - from) * a->ic;
    low = low > rows.from ? low : rows.from;
    high = high < rows.to ? high : rows.to;
    *d = a->product;
    d->points = 1;
    d->row = low - rows.from;
    d->ic = high - low;
    return high > low;
}

/* m = v u in every point that one of the phases has; back: u = v^T m. */
static void winograd_multiply_points(const eg_step *s, const winograd_args *a, int64_t from,
                                     int64_t to, const winograd_matrices *x, bool back)
{
    for (int64_t p = 0; p < a->product.points; p++) {
        eg_panel_product d;
        if (!winograd_at_point(a, from, to, p, x->rows, &d))
            continue;
        const float *v = x->v + p * d.in_step + (x->rows.from + d.row) * d.n;
        float *m = x->m + p * d.out_step, *u = x->u + p * d.weight_step;
        if (back)
            s->k->panel_product_back(u, v, m, &d);
        else
            s->k->panel_product(m, v, u, &d);
    }
}

/* The same for a piece of one phase, which has the rows of the weights to itself; the first of
 * what is summed over in a point does not add. */
static void winograd_multiply_piece(const eg_step *s, const winograd_args *a, int64_t from,
                                    int64_t phase, const winograd_matrices *x, bool first)
{
    for (int64_t p = 0; p < a->product.points; p++) {
        eg_panel_product d = a->product;
        if (!winograd_has(a, phase, p))
            continue;
        d.points = 1;
        d.add = !first;
        for (int64_t k = from; k < phase; k++)
            d.add |= winograd_has(a, k, p);
        s->k->panel_product(x->m + p * d.out_step, x->v + p * d.in_step,
                            x->u + p * d.weight_step, &d);
    }
}

/* m = v w of the phases [from, to) for the results [r.from, r.to), the filters transformed into
 * u piece by piece. */
static void winograd_multiply(const eg_step *s, winograd_args *a, int64_t from, int64_t to,
                              eg_range r, const winograd_matrices *all)
{
    for (int64_t o = r.from; o < r.to; o += WINOGRAD_PIECE)
        for (int64_t k = from; k < to; k++)
            for (int64_t i = 0; i < a->ic; i += WINOGRAD_PIECE) {
                const winograd_phase *f = &a->phase[k];
                eg_winograd_filters piece = winograd_cut(a, f, i, o);
                const winograd_matrices x = {.v = all->v + ((k - from) * a->ic + i) * a->tiles,
                                             .m = all->m + o * a->tiles,
                                             .u = all->u};
                s->k->winograd_filter(x.u, s->in[1]->data + winograd_weights_at(f, i, o),
                                      &piece);
                winograd_multiply_piece(s, a, from, k, &x, i == 0);
            }
}

/* The results of one phase, from m, of channels [r.from, r.to). */
static void winograd_write(const eg_step *s, const winograd_args *a, int64_t k, const float *m,
                           eg_range r)
{
    eg_winograd_tiles t = a->phase[k].out;
    t.block = r.from / s->k->width, t.end = r.to / s->k->width;
    if (r.to > r.from)
        s->k->winograd_output(s->out[0]->data, m, s->n_in > 2 ? s->in[2]->data : NULL, a->relu,
                              &t);
}

/* A part's own matrices of one side. */
static float *winograd_room(const winograd_args *a, float *rooms, int64_t step, int i)
{
    return rooms + i * a->product.points * step;
}

/* One stretch holds all tiles: the parts read channels, meet, and make results of others. */
static void winograd_forward_pieces(const eg_step *s, winograd_args *a,
                                    const eg_team_part *part)
{
    int own = part->i < eg_plan_team(s->plan) ? part->i : 0;
    const winograd_matrices x = {
        .v = s->out[1]->data,
        .m = s->out[2]->data,
        .u = winograd_room(a, s->out[3]->data, a->product.weight_step, own)};
    const eg_team_part some = eg_plan_limit(s, part);
    eg_range none = {0}, read = eg_team_range(part, a->ic, s->k->width);
    eg_range made = part->i < some.n ? eg_team_range(&some, a->oc, WINOGRAD_PIECE) : none;
    int64_t together = a->apart ? 1 : a->n_phases;
    winograd_move(a, 0);
    for (int64_t k = 0; k < a->n_phases; k += together) {
        if (k == 0 || !a->once)
            winograd_read(s, a, k, k + together, x.v, read);
        eg_team_meet(part);
        winograd_multiply(s, a, k, k + together, made, &x);
        winograd_write(s, a, k, x.m, made);
        eg_team_meet(part); /* before v is made anew */
    }
}

/* in: x, weights (transformed, or for pieces as they are), maybe a bias; out: y, room for both
 * sides' matrices and for those of a piece. */
static eg_status winograd_share_forward(const eg_step *s, const eg_team_part *part)
{
    winograd_args a = *(const winograd_args *)s->args;
    if (a.pieces) {
        winograd_forward_pieces(s, &a, part);
        return EG_OK;
    }
    int64_t parts = eg_plan_limit(s, part).n, n = a.product.n;
    if (n > (a.tiles + parts - 1) / parts) /* fewer stretches than parts: shorter ones */
        n = a.product.n = (a.tiles + parts - 1) / parts;
    float *v = winograd_room(&a, s->out[1]->data, a.product.in_step, part->i);
    float *m = winograd_room(&a, s->out[2]->data, a.product.out_step, part->i);
    int64_t together = a.apart ? 1 : a.n_phases;
    const eg_range in = {0, a.ic}, out = {0, a.oc};
    for (int64_t i = part->i * n; part->i < parts && i < a.tiles; i += parts * n) {
        a.product.n = n;
        winograd_move(&a, i);
        for (int64_t k = 0; k < a.n_phases; k += together) {
            if (k == 0 || !a.once)
                winograd_read(s, &a, k, k + together, v, in);
            const winograd_matrices x = {
                v, m, s->in[1]->data + k * winograd_set(&a), {0, a.product.ic}};
            winograd_multiply_points(s, &a, k, k + together, &x, false);
            winograd_write(s, &a, k, m, out);
        }
    }
    return EG_OK;
}

/* u = v^T m for a piece of one phase. */
static void winograd_multiply_piece_back(const eg_step *s, const winograd_args *a,
                                         int64_t phase, const winograd_matrices *x)
{
    eg_panel_product d = a->product;
    d.points = 1;
    for (int64_t p = 0; p < a->product.points; p++)
        if (winograd_has(a, phase, p))
            s->k->panel_product_back(x->u + p * d.weight_step, x->v + p * d.in_step,
                                     x->m + p * d.out_step, &d);
}

/* The share of each phase's channels that is r's, of all phases' channels one after the other.
 */
static eg_range winograd_of_phase(const winograd_args *a, int64_t k, eg_range r)
{
    int64_t from = r.from - k * a->ic, to = r.to - k * a->ic;
    return (eg_range){from < 0       ? 0
                      : from > a->ic ? a->ic
                                     : from,
                      to < 0       ? 0
                      : to > a->ic ? a->ic
                                   : to};
}

/* dw = v^T dm for the channels r, by way of du piece by piece. */
static void winograd_multiply_back(const eg_step *s, winograd_args *a, eg_range r,
                                   const winograd_matrices *all)
{
    for (int64_t o = 0; o < a->oc; o += WINOGRAD_PIECE)
        for (int64_t k = 0; k < a->n_phases; k++) {
            eg_range own = winograd_of_phase(a, k, r);
            for (int64_t i = own.from; i < own.to; i += WINOGRAD_PIECE) {
                const winograd_phase *f = &a->phase[k];
                eg_winograd_filters piece = winograd_cut(a, f, i, o);
                if (i + piece.ic > own.to)
                    a->product.ic = a->product.rows = piece.ic = piece.rows = own.to - i;
                const winograd_matrices x = {.v = all->v + (k * a->ic + i) * a->tiles,
                                             .m = all->m + o * a->tiles,
                                             .u = all->u};
                winograd_multiply_piece_back(s, a, k, &x);
                s->k->winograd_filter_back(s->out[0]->data + winograd_weights_at(f, i, o), x.u,
                                           &piece);
            }
        }
}

/* The matrices of the channels r, of all phases one after the other. */
static void winograd_read_own(const eg_step *s, const winograd_args *a, eg_range r, float *v)
{
    for (int64_t k = 0; k < a->n_phases; k++)
        winograd_read(s, a, k, k + 1, v + k * a->ic * a->product.n, winograd_of_phase(a, k, r));
}

/* dw of the channels r, whose matrices du are a part's own. */
static void winograd_finish_back(const eg_step *s, const winograd_args *a, eg_range r,
                                 const float *du)
{
    for (int64_t k = 0; k < a->n_phases; k++) {
        const winograd_phase *f = &a->phase[k];
        eg_range own = winograd_of_phase(a, k, r);
        if (own.to == own.from)
            continue;
        eg_winograd_filters some = f->filters;
        some.ic = own.to - own.from;
        some.row = k * a->ic + own.from - r.from;
        some.rows = a->product.ic, some.step = a->product.weight_step;
        s->k->winograd_filter_back(s->out[0]->data + f->first + own.from * f->filters.ic_step,
                                   du, &some);
    }
}

/* in: x, dy; out: dw, room for both sides' matrices and the gradient's. A part has channels of
 * x for its own, and the matrices dm and du. */
static eg_status winograd_share_back_weights(const eg_step *s, const eg_team_part *part)
{
    winograd_args a = *(const winograd_args *)s->args;
    const eg_team_part some = eg_plan_limit(s, part);
    if (part->i >= some.n)
        return EG_OK;
    eg_range r = eg_team_range(&some, a.n_phases * a.ic, s->k->width);
    const int64_t n = a.product.n;
    winograd_matrices x = {
        .m = winograd_room(&a, s->out[2]->data, a.product.out_step, part->i),
        .u = winograd_room(&a, s->out[3]->data, a.product.weight_step, part->i),
        .rows = r};
    if (!a.pieces && some.n > 1) {
        a.product.ic = a.product.rows = r.to - r.from;
        a.product.weight_step = winograd_step(s->k, a.product.ic * a.oc);
    }
    for (int64_t i = 0; i < a.tiles && r.to > r.from; i += a.product.n) {
        winograd_move(&a, i);
        a.product.add = i > 0;
        x.v = s->out[1]->data + r.from * (n - a.product.n); /* a shorter stretch is its own */
        winograd_read_own(s, &a, r, x.v);
        s->k->winograd_output_back(x.m, s->in[1]->data, &a.phase[0].out);
        if (a.pieces)
            winograd_multiply_back(s, &a, r, &x);
        else
            winograd_multiply_points(s, &a, 0, a.n_phases, &x, true);
    }
    if (!a.pieces && r.to > r.from)
        winograd_finish_back(s, &a, r, x.u);
    return EG_OK;
}

/* Room for the matrices of all points, once or for each thread. */
static eg_value *winograd_scratch(eg_plan *p, const winograd_args *a, int64_t step, int rooms)
{
    return eg_plan_scratch(p, (size_t)(rooms * a->product.points * step) * sizeof(float));
}

/* The transformed weights, by a step of their own; NULL when memory is out. */
static eg_value *winograd_emit_filter(eg_plan *p, const eg_node *weights, winograd_args *a)
{
    eg_value *w = eg_plan_read(p, weights, EG_ROWMAJOR);
    int64_t sets = a->apart ? a->n_phases : 1;
    eg_value *u = winograd_scratch(p, a, sets * a->product.weight_step, 1);
    eg_step *s = eg_plan_step(p, weights, NULL, 1, &w, 1, &u);
    if (eg_plan_share(s, winograd_share_filter) != EG_OK)
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
    eg_value *out[] = {
        eg_plan_write(p, y, EG_BLOCKED),
        winograd_scratch(p, a, a->product.in_step, a->pieces ? 1 : eg_plan_team(p)),
        winograd_scratch(p, a, a->product.out_step, a->pieces ? 1 : eg_plan_team(p)),
        a->pieces ? winograd_scratch(p, a, a->product.weight_step, eg_plan_team(p)) : NULL};
    eg_step *s = eg_plan_step(p, y, NULL, nodes->bias ? 3 : 2, in, a->pieces ? 4 : 3, out);
    EG_TRY(eg_plan_share(s, winograd_share_forward));
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
                       winograd_scratch(p, a, a->product.in_step, 1),
                       winograd_scratch(p, a, a->product.out_step, eg_plan_team(p)),
                       winograd_scratch(p, a, a->product.weight_step, eg_plan_team(p))};
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 4, out);
    EG_TRY(eg_plan_share(s, winograd_share_back_weights));
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
    bool odd = c->kh == 3 && c->stride == 2 && c->padding == 1;
    return (one || two || odd) && c->kw == c->kh && c->padding < c->kh && c->groups == 1 &&
           c->ic % k->width == 0 && c->oc % k->width == 0;
}
