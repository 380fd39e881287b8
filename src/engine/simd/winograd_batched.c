/* winograd_batched.c - Winograd's convolution F(4x4, 5x5), batch innermost: [c, h, w, lanes].
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = A^T [(G w G^T) * (B^T x B)] A on tiles of 4 x 4 results, which read 8 x 8 places: 64
 * multiplications for 400 (winograd_matrices.h). The gradients are the transposed form: dx
 * = B [(G w G^T) * (A dy A^T)] B^T added up where tiles meet, dw = G^T [(A dy A^T) * (B^T x B)]
 * G. All lanes are samples; a unit is one tile of one vector of samples.
 */
#include "engine/simd/lanes.h"
#include "engine/simd/winograd_matrices.h"

enum { TAPS = 5, WINDOW = TAPS + TILE - 1, POINTS = WINDOW * WINDOW };
enum { ROWS = TUNE_WINOGRAD_ROWS, GRAD_OUT = TUNE_WINOGRAD_OUT, GRAD_IN = TUNE_WINOGRAD_IN };

/* Pairs of channels filled up to whole vectors. */
static int64_t batched_pairs(const eg_conv *c)
{
    return (c->oc * c->ic + EG_V - 1) / EG_V * EG_V;
}

/* u [64, pairs] = G w G^T of every pair (o, i), EG_V pairs at a time. */
void EG_KERNEL(winograd_batched_filter)(float *u, const float *w, const eg_conv *c)
{
    int64_t pairs = batched_pairs(c), n = c->oc * c->ic, area = TAPS * TAPS;
    for (int64_t k = 0; k < pairs; k += EG_V) {
        _Alignas(64) float taps[TAPS * TAPS][EG_V] = {{0}};
        _Alignas(64) eg_vec half[WINDOW * TAPS];
        for (int64_t l = 0; l < EG_V && k + l < n; l++)
            for (int64_t t = 0; t < area; t++)
                taps[t][l] = w[(k + l) * area + t];
        for (int s = 0; s < TAPS; s++)
            winograd_g(half + s, TAPS, (const eg_vec *)taps + s, TAPS, TAPS);
        eg_vec *to = (eg_vec *)(u + k);
        for (int r = 0; r < WINDOW; r++)
            winograd_g(to + r * WINDOW * pairs / EG_V, pairs / EG_V, half + (int64_t)r * TAPS,
                       1, TAPS);
    }
}

/* dw [oc, ic, 5, 5] = G^T du G. */
void EG_KERNEL(winograd_batched_filter_back)(float *dw, const float *du, const eg_conv *c)
{
    int64_t pairs = batched_pairs(c), n = c->oc * c->ic, area = TAPS * TAPS;
    for (int64_t k = 0; k < pairs; k += EG_V) {
        _Alignas(64) float taps[TAPS * TAPS][EG_V];
        _Alignas(64) eg_vec half[WINDOW * TAPS];
        const eg_vec *from = (const eg_vec *)(du + k);
        for (int r = 0; r < WINDOW; r++)
            winograd_gt(half + (int64_t)r * TAPS, 1, from + r * WINDOW * pairs / EG_V,
                        pairs / EG_V, TAPS, FIRST_TWO);
        for (int s = 0; s < TAPS; s++)
            winograd_gt((eg_vec *)taps + s, TAPS, half + s, TAPS, TAPS, FIRST_TWO);
        for (int64_t l = 0; l < EG_V && k + l < n; l++)
            for (int64_t t = 0; t < area; t++)
                dw[(k + l) * area + t] = taps[t][l];
    }
}

/* Where a unit stands: the first place of its tile, and its vector of samples. */
typedef struct batched_unit {
    int64_t row, col, vec;
} batched_unit;

static int64_t batched_count(const eg_conv *c)
{
    return (c->oh + TILE - 1) / TILE * ((c->ow + TILE - 1) / TILE) * (c->lanes / EG_V);
}

/* Vectors of one tile follow each other, so that units side by side read the same rows. */
static batched_unit batched_unit_at(const eg_conv *c, int64_t k)
{
    int64_t vecs = c->lanes / EG_V, tile = k / vecs, cols = (c->ow + TILE - 1) / TILE;
    return (batched_unit){tile / cols * TILE, tile % cols * TILE, k % vecs};
}

/* A map of one channel, h x w places of `pitch` vectors, and the square of it that is meant. */
typedef struct batched_square {
    int64_t h, w, pitch, row, col;
} batched_square;

WINOGRAD_INLINE bool batched_inside(const batched_square *q, int size)
{
    return q->row >= 0 && q->col >= 0 && q->row + size <= q->h && q->col + size <= q->w;
}

/* The square's places, zeros where no map is. */
static void batched_cut(eg_vec *to, int size, const eg_vec *map, const batched_square *q)
{
    for (int64_t i = q->row; i < q->row + size; i++)
        for (int64_t j = q->col; j < q->col + size; j++, to++)
            *to = i >= 0 && i < q->h && j >= 0 && j < q->w ? map[(i * q->w + j) * q->pitch]
                                                           : (eg_vec){0};
}

/* v[point] = B^T x B of one square of a map; step: vectors from point to point. */
static void batched_input(eg_vec *v, int64_t step, const eg_vec *map, const batched_square *q)
{
    _Alignas(64) eg_vec cut[POINTS], half[POINTS];
    const eg_vec *x = map + (q->row * q->w + q->col) * q->pitch;
    int64_t row = q->w * q->pitch, col = q->pitch;
    if (!batched_inside(q, WINDOW)) {
        batched_cut(cut, WINDOW, map, q);
        x = cut, row = WINDOW, col = 1;
    }
    for (int s = 0; s < WINDOW; s++)
        winograd_bt(half + s, WINDOW, x + s * col, row, TAPS);
    for (int r = 0; r < WINDOW; r++)
        winograd_bt(v + r * WINDOW * step, step, half + (int64_t)r * WINDOW, 1, TAPS);
}

/* m[point] = A dy A^T of one tile. */
static void batched_output_back(eg_vec *m, int64_t step, const eg_vec *map,
                                const batched_square *q)
{
    _Alignas(64) eg_vec cut[TILE * TILE], half[WINDOW * TILE];
    const eg_vec *y = map + (q->row * q->w + q->col) * q->pitch;
    int64_t row = q->w * q->pitch, col = q->pitch;
    if (!batched_inside(q, TILE)) {
        batched_cut(cut, TILE, map, q);
        y = cut, row = TILE, col = 1;
    }
    for (int s = 0; s < TILE; s++)
        winograd_a(half + s, TILE, y + s * col, row, TAPS);
    for (int r = 0; r < WINDOW; r++)
        winograd_a(m + r * WINDOW * step, step, half + (int64_t)r * TILE, 1, TAPS);
}

/* The tile of y = A^T m A + bias. */
static void batched_output(eg_vec *map, const eg_vec *m, int64_t step, const batched_square *q,
                           float bias, bool relu)
{
    _Alignas(64) eg_vec half[TILE * WINDOW], tile[TILE * TILE];
    for (int s = 0; s < WINDOW; s++)
        winograd_at(half + s, WINDOW, m + s * step, WINDOW * step, TAPS, FIRST_TWO);
    for (int r = 0; r < TILE; r++)
        winograd_at(tile + (int64_t)r * TILE, 1, half + (int64_t)r * WINDOW, 1, TAPS,
                    FIRST_TWO);
    int64_t rows = q->h - q->row < TILE ? q->h - q->row : TILE;
    int64_t cols = q->w - q->col < TILE ? q->w - q->col : TILE;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            eg_vec y = tile[i * TILE + j] + bias;
            map[((q->row + i) * q->w + q->col + j) * q->pitch] =
                relu ? eg_where_positive(y, y) : y;
        }
}

/* The square of dx += B m B^T. */
static void batched_input_back(eg_vec *map, const eg_vec *m, int64_t step,
                               const batched_square *q)
{
    _Alignas(64) eg_vec half[POINTS], square[POINTS];
    for (int s = 0; s < WINDOW; s++)
        winograd_b5(half + s, WINDOW, m + s * step, WINDOW * step);
    for (int r = 0; r < WINDOW; r++)
        winograd_b5(square + (int64_t)r * WINDOW, 1, half + (int64_t)r * WINDOW, 1);
    int64_t top = q->row < 0 ? -q->row : 0, left = q->col < 0 ? -q->col : 0;
    int64_t rows = q->h - q->row < WINDOW ? q->h - q->row : WINDOW;
    int64_t cols = q->w - q->col < WINDOW ? q->w - q->col : WINDOW;
    for (int64_t i = top; i < rows; i++)
        for (int64_t j = left; j < cols; j++)
            map[((q->row + i) * q->w + q->col + j) * q->pitch] += square[i * WINDOW + j];
}

/* A product at one point: to [rows, units] = factor [rows, depth] from [depth, units]. */
typedef struct batched_product {
    eg_vec *to;
    const eg_vec *from;
    const float *factor;
    int64_t depth, row_step, depth_step; /* the steps are the factor's */
} batched_product;

/* rows and units are constants where this is called. */
WINOGRAD_INLINE void batched_multiply(const batched_product *p, int rows, int units)
{
    eg_vec sum[ROWS][EG_WINOGRAD_UNITS];
    for (int o = 0; o < rows; o++)
        for (int u = 0; u < units; u++)
            sum[o][u] = (eg_vec){0};
    const float *factor = p->factor;
    for (int64_t i = 0; i < p->depth; i++, factor += p->depth_step)
        for (int u = 0; u < units; u++) {
            eg_vec in = p->from[i * units + u];
            for (int o = 0; o < rows; o++)
                sum[o][u] += in * factor[o * p->row_step];
        }
    for (int o = 0; o < rows; o++)
        for (int u = 0; u < units; u++)
            p->to[o * units + u] = sum[o][u];
}

/* As many rows as fit the registers, until none is left. */
WINOGRAD_INLINE void batched_multiply_all(batched_product p, int64_t rows, int units)
{
    while (rows > 0) {
        int64_t n = rows >= ROWS ? ROWS : rows >= 5 ? 5 : rows >= 2 ? 2 : 1;
        if (n == ROWS)
            batched_multiply(&p, ROWS, units);
        else if (n == 5)
            batched_multiply(&p, 5, units);
        else if (n == 2)
            batched_multiply(&p, 2, units);
        else
            batched_multiply(&p, 1, units);
        p.to += n * units;
        p.factor += n * p.row_step;
        rows -= n;
    }
}

static void batched_multiply_points(eg_vec *to, const eg_vec *from, const float *u,
                                    const eg_conv *c, bool back, int units)
{
    int64_t rows = back ? c->ic : c->oc, depth = back ? c->oc : c->ic;
    for (int64_t k = 0; k < POINTS; k++) {
        batched_product p = {.to = to + k * rows * units,
                             .from = from + k * depth * units,
                             .factor = u + k * batched_pairs(c),
                             .depth = depth,
                             .row_step = back ? 1 : c->ic,
                             .depth_step = back ? c->ic : 1};
        if (units == EG_WINOGRAD_UNITS)
            batched_multiply_all(p, rows, EG_WINOGRAD_UNITS);
        else
            batched_multiply_all(p, rows, 1);
    }
}

static batched_square batched_in_input(const eg_conv *c, const batched_unit *t)
{
    return (batched_square){.h = c->h,
                            .w = c->w,
                            .pitch = c->lanes / EG_V,
                            .row = t->row - c->padding,
                            .col = t->col - c->padding};
}

static batched_square batched_in_output(const eg_conv *c, const batched_unit *t)
{
    return (batched_square){
        .h = c->oh, .w = c->ow, .pitch = c->lanes / EG_V, .row = t->row, .col = t->col};
}

/* v [64, ic, units] of the units from k on. */
static void batched_inputs(eg_vec *v, const float *x, const eg_conv *c, int64_t k,
                           int64_t units)
{
    for (int64_t n = 0; n < units; n++) {
        batched_unit t = batched_unit_at(c, k + n);
        batched_square q = batched_in_input(c, &t);
        for (int64_t i = 0; i < c->ic; i++)
            batched_input(v + i * units + n, c->ic * units,
                          (const eg_vec *)(x + i * c->h * c->w * c->lanes) + t.vec, &q);
    }
}

/* m [64, oc, units] of the units from k on. */
static void batched_outputs_back(eg_vec *m, const float *dy, const eg_conv *c, int64_t k,
                                 int64_t units)
{
    for (int64_t n = 0; n < units; n++) {
        batched_unit t = batched_unit_at(c, k + n);
        batched_square q = batched_in_output(c, &t);
        for (int64_t o = 0; o < c->oc; o++)
            batched_output_back(m + o * units + n, c->oc * units,
                                (const eg_vec *)(dy + o * c->oh * c->ow * c->lanes) + t.vec,
                                &q);
    }
}

/* The units worked on together from unit k on. */
static int batched_step(int64_t k, int64_t n)
{
    return n - k >= EG_WINOGRAD_UNITS ? EG_WINOGRAD_UNITS : 1;
}

void EG_KERNEL(winograd_batched_forward)(float *y, const eg_winograd_data *d, const float *bias,
                                         bool relu, const eg_conv *c)
{
    eg_vec *v = (eg_vec *)d->scratch, *m = v + POINTS * c->ic * EG_WINOGRAD_UNITS;
    for (int64_t k = 0, n = batched_count(c), units; k < n; k += units) {
        units = batched_step(k, n);
        batched_inputs(v, d->x, c, k, units);
        batched_multiply_points(m, v, d->u, c, false, (int)units);
        for (int64_t j = 0; j < units; j++) {
            batched_unit t = batched_unit_at(c, k + j);
            batched_square q = batched_in_output(c, &t);
            for (int64_t o = 0; o < c->oc; o++)
                batched_output((eg_vec *)(y + o * c->oh * c->ow * c->lanes) + t.vec,
                               m + o * units + j, c->oc * units, &q, bias ? bias[o] : 0, relu);
        }
    }
}

void EG_KERNEL(winograd_batched_back_data)(float *dx, const eg_winograd_data *d,
                                           const eg_conv *c)
{
    eg_vec *v = (eg_vec *)d->scratch, *m = v + POINTS * c->ic * EG_WINOGRAD_UNITS;
    memset(dx, 0, (size_t)(c->ic * c->h * c->w * c->lanes) * sizeof *dx);
    for (int64_t k = 0, n = batched_count(c), units; k < n; k += units) {
        units = batched_step(k, n);
        batched_outputs_back(m, d->dy, c, k, units);
        batched_multiply_points(v, m, d->u, c, true, (int)units);
        for (int64_t j = 0; j < units; j++) {
            batched_unit t = batched_unit_at(c, k + j);
            batched_square q = batched_in_input(c, &t);
            for (int64_t i = 0; i < c->ic; i++)
                batched_input_back((eg_vec *)(dx + i * c->h * c->w * c->lanes) + t.vec,
                                   v + i * units + j, c->ic * units, &q);
        }
    }
}

/* Gradients of out x in pairs at one point, each a vector of partial sums. */
WINOGRAD_INLINE void batched_dots(eg_vec *sums, const eg_vec *m, const eg_vec *v, int64_t ic,
                                  int64_t units, int out, int in)
{
    eg_vec sum[GRAD_OUT][GRAD_IN];
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++)
            sum[o][i] = (eg_vec){0};
    for (int64_t n = 0; n < units; n++)
        for (int i = 0; i < in; i++) {
            eg_vec at = v[i * units + n];
            for (int o = 0; o < out; o++)
                sum[o][i] += at * m[o * units + n];
        }
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++)
            sums[o * ic + i] = sum[o][i];
}

static void batched_dots_all(eg_vec *sums, const eg_vec *m, const eg_vec *v, const eg_conv *c,
                             int64_t units)
{
    for (int64_t o = 0, out; o < c->oc; o += out) {
        out = c->oc - o >= GRAD_OUT ? GRAD_OUT : 1;
        for (int64_t i = 0, in; i < c->ic; i += in) {
            in = c->ic - i >= GRAD_IN ? GRAD_IN : 1;
            eg_vec *to = sums + o * c->ic + i;
            const eg_vec *a = m + o * units, *b = v + i * units;
            if (out == GRAD_OUT && in == GRAD_IN)
                batched_dots(to, a, b, c->ic, units, GRAD_OUT, GRAD_IN);
            else if (out == GRAD_OUT)
                batched_dots(to, a, b, c->ic, units, GRAD_OUT, 1);
            else if (in == GRAD_IN)
                batched_dots(to, a, b, c->ic, units, 1, GRAD_IN);
            else
                batched_dots(to, a, b, c->ic, units, 1, 1);
        }
    }
}

/* du [64, pairs]: all lanes of a pair's sums are added up EG_V pairs at a time. */
void EG_KERNEL(winograd_batched_back_weights)(float *du, const eg_winograd_data *d,
                                              const eg_conv *c)
{
    int64_t pairs = batched_pairs(c), n = batched_count(c);
    eg_vec *v = (eg_vec *)d->scratch, *m = v + POINTS * c->ic * EG_WINOGRAD_GRAD_UNITS;
    eg_vec *sums = m + POINTS * c->oc * EG_WINOGRAD_GRAD_UNITS; /* [pairs] */
    for (int64_t k = c->oc * c->ic; k < pairs; k++)
        sums[k] = (eg_vec){0};
    for (int64_t k = 0; k < n; k += EG_WINOGRAD_GRAD_UNITS) {
        int64_t units = n - k < EG_WINOGRAD_GRAD_UNITS ? n - k : EG_WINOGRAD_GRAD_UNITS;
        batched_inputs(v, d->x, c, k, units);
        batched_outputs_back(m, d->dy, c, k, units);
        for (int64_t p = 0; p < POINTS; p++) {
            batched_dots_all(sums, m + p * c->oc * units, v + p * c->ic * units, c, units);
            for (int64_t j = 0; j < pairs; j += EG_V) {
                eg_vec *to = (eg_vec *)(du + p * pairs + j), sum = simd_sums(sums + j);
                if (k)
                    sum += *to;
                *to = sum;
            }
        }
    }
}
