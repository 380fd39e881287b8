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
 * A team shares stretches, each thread with room of its own; where one stretch holds all tiles,
 * its channels. The gradient for the weights is shared by channels of the input, since all
 * tiles are summed over: every thread makes the matrices of the other side for itself.
 */
#include "engine/conv/winograd.h"

/* Points all parts at the stretch that begins with tile i. */
static void winograd_move(eg_winograd_args *a, int64_t i)
{
    int64_t n = a->tiles - i < a->product.n ? a->tiles - i : a->product.n;
    a->product.n = n;
    for (int64_t k = 0; k < a->n_phases; k++) {
        a->phase[k].in.from = a->phase[k].out.from = i;
        a->phase[k].in.n = a->phase[k].out.n = n;
    }
}

/* The filters of a phase's piece, from channel i to channel o on. */
static eg_winograd_filters winograd_cut(eg_winograd_args *a, const eg_winograd_phase *f,
                                        int64_t i, int64_t o)
{
    int64_t ic = a->ic - i < EG_WINOGRAD_PIECE ? a->ic - i : EG_WINOGRAD_PIECE;
    int64_t oc = a->oc - o < EG_WINOGRAD_PIECE ? a->oc - o : EG_WINOGRAD_PIECE;
    eg_winograd_filters piece = f->filters;
    a->product.ic = a->product.rows = piece.ic = piece.rows = ic;
    a->product.oc = piece.oc = oc;
    piece.row = 0;
    return piece;
}

/* Where a piece's weights begin. */
static int64_t winograd_weights_at(const eg_winograd_phase *f, int64_t i, int64_t o)
{
    return f->first + i * f->filters.ic_step + o * f->filters.oc_step;
}

/* Floats of one transformed set of filters. */
static int64_t winograd_set(const eg_winograd_args *a)
{
    return a->product.points * a->product.weight_step;
}

/* The filters of channels [r.from, r.to) of what is summed over, a phase's own. */
static eg_winograd_filters winograd_slice(const eg_winograd_phase *f, eg_range r)
{
    eg_winograd_filters some = f->filters;
    some.row += r.from;
    some.ic = r.to - r.from;
    return some;
}

static eg_status winograd_share_filter(const eg_step *s, const eg_team_part *part)
{
    const eg_winograd_args *a = s->args;
    eg_range r = eg_team_range(part, a->ic, s->k->width);
    for (int64_t k = 0; k < a->n_phases && r.to > r.from; k++) {
        const eg_winograd_phase *f = &a->phase[k];
        eg_winograd_filters some = winograd_slice(f, r);
        s->k->winograd_filter(s->out[0]->data + (a->apart ? k * winograd_set(a) : 0),
                              s->in[0]->data + f->first + r.from * f->filters.ic_step, &some);
    }
    return EG_OK;
}

/* v: the matrices of the input's tiles, of one phase or of all; those of channels [r.from,
 * r.to) of each. */
static void winograd_read(const eg_step *s, const eg_winograd_args *a, int64_t from, int64_t to,
                          float *v, eg_range r)
{
    for (int64_t k = from; k < to && r.to > r.from; k++) {
        eg_winograd_tiles t = a->phase[k].in;
        t.block = r.from / s->k->width, t.end = r.to / s->k->width;
        s->k->winograd_input(v + (k - from) * a->ic * a->product.n, s->in[0]->data, &t);
    }
}

/* Whether a phase has more than zeros in a point. */
static bool winograd_has(const eg_winograd_args *a, int64_t phase, int64_t point)
{
    const eg_winograd_filters *f = &a->phase[phase].filters;
    return point / a->pitch < f->taps + EG_WINOGRAD_TILE - 1 &&
           point % a->pitch < f->across + EG_WINOGRAD_TILE - 1;
}

/* The matrices of the points: of the input's tiles, of the results', of the weights. The latter
 * have these rows, of the phases' channels one after the other. */
typedef struct winograd_matrices {
    float *v, *m, *u;
    eg_range rows;
} winograd_matrices;

/* The product of one point, summed over those rows of the phases [from, to) that have it; false
 * if none does. */
static bool winograd_at_point(const eg_winograd_args *a, int64_t from, int64_t to,
                              int64_t point, eg_range rows, eg_panel_product *d)
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
static void winograd_multiply_points(const eg_step *s, const eg_winograd_args *a, int64_t from,
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
static void winograd_multiply_piece(const eg_step *s, const eg_winograd_args *a, int64_t from,
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
static void winograd_multiply(const eg_step *s, eg_winograd_args *a, int64_t from, int64_t to,
                              eg_range r, const winograd_matrices *all)
{
    for (int64_t o = r.from; o < r.to; o += EG_WINOGRAD_PIECE)
        for (int64_t k = from; k < to; k++)
            for (int64_t i = 0; i < a->ic; i += EG_WINOGRAD_PIECE) {
                const eg_winograd_phase *f = &a->phase[k];
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
static void winograd_write(const eg_step *s, const eg_winograd_args *a, int64_t k,
                           const float *m, eg_range r)
{
    eg_winograd_tiles t = a->phase[k].out;
    t.block = r.from / s->k->width, t.end = r.to / s->k->width;
    if (r.to > r.from)
        s->k->winograd_output(s->out[0]->data, m, s->n_in > 2 ? s->in[2]->data : NULL, a->relu,
                              &t);
}

/* A part's own matrices of one side. */
static float *winograd_room(const eg_winograd_args *a, float *rooms, int64_t step, int i)
{
    return rooms + i * a->product.points * step;
}

/* One stretch holds all tiles: the parts read channels, meet, and make results of others. */
static void winograd_forward_pieces(const eg_step *s, eg_winograd_args *a,
                                    const eg_team_part *part)
{
    int own = part->i < eg_plan_team(s->plan) ? part->i : 0;
    const winograd_matrices x = {
        .v = s->out[1]->data,
        .m = s->out[2]->data,
        .u = winograd_room(a, s->out[3]->data, a->product.weight_step, own)};
    const eg_team_part some = eg_plan_limit(s, part);
    eg_range none = {0}, read = eg_team_range(part, a->ic, s->k->width);
    eg_range made = part->i < some.n ? eg_team_range(&some, a->oc, EG_WINOGRAD_PIECE) : none;
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
    eg_winograd_args a = *(const eg_winograd_args *)s->args;
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
static void winograd_multiply_piece_back(const eg_step *s, const eg_winograd_args *a,
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
static eg_range winograd_of_phase(const eg_winograd_args *a, int64_t k, eg_range r)
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
static void winograd_multiply_back(const eg_step *s, eg_winograd_args *a, eg_range r,
                                   const winograd_matrices *all)
{
    for (int64_t o = 0; o < a->oc; o += EG_WINOGRAD_PIECE)
        for (int64_t k = 0; k < a->n_phases; k++) {
            eg_range own = winograd_of_phase(a, k, r);
            for (int64_t i = own.from; i < own.to; i += EG_WINOGRAD_PIECE) {
                const eg_winograd_phase *f = &a->phase[k];
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
static void winograd_read_own(const eg_step *s, const eg_winograd_args *a, eg_range r, float *v)
{
    for (int64_t k = 0; k < a->n_phases; k++)
        winograd_read(s, a, k, k + 1, v + k * a->ic * a->product.n, winograd_of_phase(a, k, r));
}

/* dw of the channels r, whose matrices du are a part's own. */
static void winograd_finish_back(const eg_step *s, const eg_winograd_args *a, eg_range r,
                                 const float *du)
{
    for (int64_t k = 0; k < a->n_phases; k++) {
        const eg_winograd_phase *f = &a->phase[k];
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
    eg_winograd_args a = *(const eg_winograd_args *)s->args;
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
        a.product.weight_step = eg_winograd_step(s->k, a.product.ic * a.oc);
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
static eg_value *winograd_scratch(eg_plan *p, const eg_winograd_args *a, int64_t step,
                                  int rooms)
{
    return eg_plan_scratch(p, (size_t)(rooms * a->product.points * step) * sizeof(float));
}

/* The transformed weights, by a step of their own; NULL when memory is out. */
static eg_value *winograd_emit_filter(eg_plan *p, const eg_node *weights, eg_winograd_args *a)
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
                                       const eg_conv_nodes *nodes, eg_winograd_args *a)
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
                                            const eg_conv_nodes *nodes, eg_winograd_args *a)
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
    eg_winograd_args *a = eg_plan_alloc(p, sizeof *a);
    if (!a)
        return EG_ENOMEM;
    bool turned = pass == EG_CONV_BACK_DATA;
    eg_winograd_describe(eg_plan_kernels(p), c, pass, a);
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
