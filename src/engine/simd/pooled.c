/* pooled.c - 5x5 convolution with the 2x2 max pooling behind it, batch innermost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forward, the four results of a window stay in registers until their maximum is known. Back, a
 * window's gradient has one place, another for each sample: where it is chooses what is read,
 * so that a window costs 25 multiplications and not 100, and the gradient before pooling is
 * never written.
 */
#include "engine/simd/lanes.h"

#define POOLED_INLINE static inline __attribute__((always_inline))

enum { TAPS = 5, WINDOW = TAPS + 1 };

/* Channels of results, and rows of weights, whose sums stay in registers. */
enum { OUT = TUNE_POOLED_OUT, ROWS = TUNE_POOLED_ROWS };

/* Which of a window's four places holds the maximum, for EG_V samples: whether it is in the
 * second row, and whether in the second column. Kept in EG_V bytes. */
typedef struct pooled_place {
    simd_bools row, col;
} pooled_place;

/* The maximum of a window; of equal ones the first counts. */
POOLED_INLINE eg_vec pooled_max(const eg_vec y[4], uint8_t *winner)
{
    simd_bools right = simd_greater(y[1], y[0]), low_right = simd_greater(y[3], y[2]);
    eg_vec top = simd_choose(right, y[1], y[0]), low = simd_choose(low_right, y[3], y[2]);
    simd_bools row = simd_greater(low, top);
    if (winner)
        simd_keep(winner, row, (simd_bools)((row & low_right) | (~row & right)));
    return simd_choose(row, low, top);
}

/* One window of `out` channels, a constant where this is called. */
POOLED_INLINE void pooled_window(const eg_conv_pool *d, const float *x, const float *w,
                                 const float *bias, const eg_conv *c, int out)
{
    eg_vec sum[OUT][4];
    for (int o = 0; o < out; o++)
        for (int q = 0; q < 4; q++)
            sum[o][q] = (eg_vec){0} + (bias ? bias[o] : 0);
    int64_t filter = c->ic * TAPS * TAPS, row = c->w * c->lanes;
    for (int64_t i = 0; i < c->ic; i++, x += c->h * row, w += (int64_t)TAPS * TAPS)
        for (int r = 0; r < TAPS; r++)
#pragma GCC unroll 8
            for (int s = 0; s < TAPS; s++)
                for (int q = 0; q < 4; q++) {
                    eg_vec in = simd_load_once(x + (r + q / 2) * row + (s + q % 2) * c->lanes);
                    for (int o = 0; o < out; o++)
                        sum[o][q] += in * w[o * filter + r * TAPS + s];
                }
    int64_t map = c->oh * c->ow * c->lanes;
    for (int o = 0; o < out; o++) {
        eg_vec best = pooled_max(sum[o], d->winner ? d->winner + o * map / 4 : NULL);
        simd_store(d->max + o * map / 4, d->relu ? eg_where_positive(best, best) : best);
        for (int q = 0; d->y && q < 4; q++)
            simd_store(d->y + o * map + (q / 2 * c->ow + q % 2) * c->lanes, sum[o][q]);
    }
}

/* All windows of `out` channels. */
POOLED_INLINE void pooled_maps(const eg_conv_pool *d, const float *x, const float *w,
                               const float *bias, const eg_conv *c, int out)
{
    for (int64_t i = 0; i < c->oh; i += 2)
        for (int64_t j = 0; j < c->ow; j += 2)
            for (int64_t v = 0; v < c->lanes; v += EG_V) {
                eg_conv_pool at = *d;
                at.y = d->y ? d->y + (i * c->ow + j) * c->lanes + v : NULL;
                int64_t k = (i / 2 * (c->ow / 2) + j / 2) * c->lanes + v;
                at.max = d->max + k;
                at.winner = d->winner ? d->winner + k : NULL;
                pooled_window(&at, x + (i * c->w + j) * c->lanes + v, w, bias, c, out);
            }
}

void EG_KERNEL(pooled_forward)(const eg_conv_pool *d, const float *x, const float *w,
                               const float *bias, const eg_conv *c)
{
    int64_t map = c->oh * c->ow * c->lanes, filter = c->ic * TAPS * TAPS;
    for (int64_t o = 0, out; o < c->oc; o += out) {
        out = c->oc - o >= OUT ? OUT : 1;
        eg_conv_pool at = *d;
        at.y = d->y ? d->y + o * map : NULL;
        at.max = d->max + o * map / 4;
        at.winner = d->winner ? d->winner + o * map / 4 : NULL;
        const float *b = bias ? bias + o : NULL;
        if (out == OUT)
            pooled_maps(&at, x, w + o * filter, b, c, OUT);
        else
            pooled_maps(&at, x, w + o * filter, b, c, 1);
    }
}

/* The gradient of a window, and where it belongs. */
typedef struct pooled_gradient {
    eg_vec dy;
    pooled_place at;
} pooled_gradient;

/* The gradient of the window at float k of a pooled map. */
POOLED_INLINE pooled_gradient pooled_find(const eg_pool_gradient *d, int64_t k)
{
    eg_vec dy = simd_load(d->dy + k);
    pooled_gradient g = {.dy = d->mask ? eg_where_positive(simd_load(d->mask + k), dy) : dy};
    simd_kept(d->winner + k, &g.at.row, &g.at.col);
    return g;
}

/* Adds a window's part to the weight gradients of ROWS rows; steps in floats. */
POOLED_INLINE void pooled_add(eg_vec sum[ROWS][TAPS], const float *x, int64_t row, int64_t col,
                              const pooled_gradient *g)
{
    eg_vec above[TAPS];
#pragma GCC unroll 8
    for (int r = 0; r <= ROWS; r++, x += row) {
        eg_vec left = simd_load_once(x);
#pragma GCC unroll 8
        for (int s = 0; s < TAPS; s++) {
            eg_vec right = simd_load_once(x + (s + 1) * col);
            eg_vec here = simd_choose(g->at.col, right, left);
            if (r > 0)
                sum[r - 1][s] += simd_choose(g->at.row, here, above[s]) * g->dy;
            above[s] = here;
            left = right;
        }
    }
}

/* Weight gradients of ROWS rows from `from` on, for one pair of channels. */
POOLED_INLINE void pooled_rows(float *dw, const float *x, const eg_pool_gradient *d,
                               const eg_conv *c, int from, int64_t lanes)
{
    eg_vec sum[ROWS][TAPS];
    for (int r = 0; r < ROWS; r++)
        for (int s = 0; s < TAPS; s++)
            sum[r][s] = (eg_vec){0};
    for (int64_t i = 0, k = 0; i < c->oh; i += 2)
        for (int64_t j = 0; j < c->ow; j += 2)
            for (int64_t v = 0; v < lanes; v += EG_V, k += EG_V) {
                pooled_gradient g = pooled_find(d, k);
                pooled_add(sum, x + ((i + from) * c->w + j) * lanes + v, c->w * lanes, lanes,
                           &g);
            }
    for (int r = 0; r < ROWS; r++)
        for (int s = 0; s < TAPS; s++)
            dw[(from + r) * TAPS + s] = simd_sum(sum[r][s]);
}

/* A batch of up to 32 is the usual one: its constant distances need no registers. Apart, so
 * that neither of the two takes registers from the other. */
static __attribute__((noinline)) void
pooled_rows_32(float *dw, const float *x, const eg_pool_gradient *d, const eg_conv *c, int from)
{
    pooled_rows(dw, x, d, c, from, 32);
}

static __attribute__((noinline)) void pooled_rows_any(float *dw, const float *x,
                                                      const eg_pool_gradient *d,
                                                      const eg_conv *c, int from)
{
    pooled_rows(dw, x, d, c, from, c->lanes);
}

static void pooled_pair(float *dw, const float *x, const eg_pool_gradient *d, const eg_conv *c)
{
    for (int r = 0; r < TAPS; r += ROWS)
        (c->lanes == 32 ? pooled_rows_32 : pooled_rows_any)(dw, x, d, c, r);
}

/* The sum of one channel's gradient over the n samples; filled-up lanes do not count. */
static float pooled_sum(const eg_pool_gradient *d, const eg_conv *c)
{
    float total = 0;
    for (int64_t v = 0; v < c->lanes; v += EG_V) {
        eg_vec sum = {0};
        for (int64_t k = 0; k < c->oh * c->ow / 4; k++) {
            eg_vec dy = simd_load(d->dy + k * c->lanes + v);
            if (d->mask)
                dy = eg_where_positive(simd_load(d->mask + k * c->lanes + v), dy);
            sum += dy;
        }
        for (int64_t l = c->n - v; l < EG_V; l++)
            sum[l] = 0;
        total += simd_sum(sum);
    }
    return total;
}

void EG_KERNEL(pooled_back_weights)(float *dw, float *db, const float *x,
                                    const eg_pool_gradient *d, const eg_conv *c)
{
    int64_t map = c->oh * c->ow * c->lanes;
    for (int64_t o = 0; o < c->oc; o++) {
        eg_pool_gradient at = {.winner = d->winner + o * map / 4,
                               .dy = d->dy + o * map / 4,
                               .mask = d->mask ? d->mask + o * map / 4 : NULL};
        if (db)
            db[o] = pooled_sum(&at, c);
        for (int64_t i = 0; i < c->ic; i++)
            pooled_pair(dw + (o * c->ic + i) * TAPS * TAPS, x + i * c->h * c->w * c->lanes, &at,
                        c);
    }
}
