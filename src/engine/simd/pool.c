/* pool.c - pooling over windows: vectors of EG_V lanes, or single floats of a row-major one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each kernel is written once for a vector type and compiled for eg_vec and, with one lane, for
 * row-major tensors: `lanes` is a constant where a function is called.
 */
#include "engine/simd/simd.h"

#define POOL_INLINE static inline __attribute__((always_inline))

/* A window's part inside the image: rows [y0, y1), columns [x0, x1). */
typedef struct pool_window {
    int64_t y0, y1, x0, x1;
} pool_window;

POOL_INLINE pool_window pool_window_at(const eg_pool_dims *d, int64_t i, int64_t j)
{
    int64_t top = i * d->stride - d->padding, left = j * d->stride - d->padding;
    return (pool_window){top < 0 ? 0 : top, top + d->kernel > d->h ? d->h : top + d->kernel,
                         left < 0 ? 0 : left,
                         left + d->kernel > d->w ? d->w : left + d->kernel};
}

/* One place: its vector, or its single float in lane 0. */
POOL_INLINE eg_vec pool_load(const float *x, int lanes)
{
    if (lanes == EG_V)
        return *(const eg_vec *)x;
    eg_vec v = {0};
    v[0] = *x;
    return v;
}

POOL_INLINE void pool_store(float *y, eg_vec v, int lanes)
{
    if (lanes == EG_V)
        *(eg_vec *)y = v;
    else
        *y = v[0];
}

POOL_INLINE eg_vec pool_choose(eg_ivec where, eg_vec a, eg_vec b)
{
    return (eg_vec)((where & (eg_ivec)a) | (~where & (eg_ivec)b));
}

POOL_INLINE eg_vec pool_best(const float *x, const eg_pool_dims *d, const pool_window *o,
                             int lanes)
{
    eg_vec best = pool_load(x + (o->y0 * d->w + o->x0) * d->pitch, lanes);
    for (int64_t r = o->y0; r < o->y1; r++)
        for (int64_t c = o->x0; c < o->x1; c++) {
            eg_vec v = pool_load(x + (r * d->w + c) * d->pitch, lanes);
            best = pool_choose((eg_ivec)(v > best), v, best);
        }
    return best;
}

/* The larger of two; of equals the first, so that the order of comparison does not matter. */
POOL_INLINE eg_vec pool_larger(eg_vec a, eg_vec b)
{
    return pool_choose((eg_ivec)(b > a), b, a);
}

/* Where the four places of window (i, j) are, for windows of two by two that fill the image. */
POOL_INLINE void pool_quad(const eg_pool_dims *d, int64_t i, int64_t j, int64_t at[4])
{
    at[0] = (2 * i * d->w + 2 * j) * d->pitch;
    at[1] = at[0] + d->pitch;
    at[2] = at[0] + d->w * d->pitch;
    at[3] = at[2] + d->pitch;
}

POOL_INLINE void pool_max_quads(float *y, const float *x, const eg_pool_dims *d, int lanes)
{
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            int64_t at[4];
            pool_quad(d, i, j, at);
            eg_vec a = pool_larger(pool_load(x + at[0], lanes), pool_load(x + at[1], lanes));
            eg_vec b = pool_larger(pool_load(x + at[2], lanes), pool_load(x + at[3], lanes));
            pool_store(y + (i * d->ow + j) * d->pitch, pool_larger(a, b), lanes);
        }
}

/* The lanes that pass a gradient on: not of NaN, and through a relu only of positive maxima. */
POOL_INLINE eg_ivec pool_open(eg_vec best, bool relu)
{
    return relu ? (eg_ivec)(best > (eg_vec){0}) : (eg_ivec)(best == best);
}

POOL_INLINE void pool_max_back_quads(float *dx, const float *x, const float *dy, bool relu,
                                     const eg_pool_dims *d, int lanes)
{
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            int64_t at[4];
            pool_quad(d, i, j, at);
            eg_vec v[4], g = pool_load(dy + (i * d->ow + j) * d->pitch, lanes);
            for (int k = 0; k < 4; k++)
                v[k] = pool_load(x + at[k], lanes);
            eg_vec best = pool_larger(pool_larger(v[0], v[1]), pool_larger(v[2], v[3]));
            eg_ivec open = pool_open(best, relu);
            for (int k = 0; k < 4; k++) {
                eg_ivec here = open & (eg_ivec)(v[k] == best);
                open &= ~here;
                pool_store(dx + at[k], (eg_vec)(here & (eg_ivec)g), lanes);
            }
        }
}

/* Windows that neither meet nor leave a place out: every place is written exactly once. */
POOL_INLINE bool pool_tiles(const eg_pool_dims *d)
{
    return d->stride == d->kernel && d->padding == 0 && d->oh * d->kernel == d->h &&
           d->ow * d->kernel == d->w;
}

POOL_INLINE void pool_max(float *y, const float *x, const eg_pool_dims *d, int lanes)
{
    if (pool_tiles(d) && d->kernel == 2) {
        pool_max_quads(y, x, d, lanes);
        return;
    }
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            pool_window o = pool_window_at(d, i, j);
            pool_store(y + (i * d->ow + j) * d->pitch, pool_best(x, d, &o, lanes), lanes);
        }
}

POOL_INLINE void pool_zero(float *dx, const eg_pool_dims *d, int lanes)
{
    for (int64_t k = 0; k < d->h * d->w; k++)
        pool_store(dx + k * d->pitch, (eg_vec){0}, lanes);
}

/* dy goes to the first place that holds the maximum: `open` lanes still look for theirs. */
POOL_INLINE void pool_max_back(float *dx, const float *x, const float *dy, bool relu,
                               const eg_pool_dims *d, int lanes)
{
    if (pool_tiles(d) && d->kernel == 2) {
        pool_max_back_quads(dx, x, dy, relu, d, lanes);
        return;
    }
    pool_zero(dx, d, lanes);
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            pool_window o = pool_window_at(d, i, j);
            eg_vec best = pool_best(x, d, &o, lanes);
            eg_vec g = pool_load(dy + (i * d->ow + j) * d->pitch, lanes);
            eg_ivec open = pool_open(best, relu);
            for (int64_t r = o.y0; r < o.y1; r++)
                for (int64_t c = o.x0; c < o.x1; c++) {
                    int64_t at = (r * d->w + c) * d->pitch;
                    eg_ivec here = open & (eg_ivec)(pool_load(x + at, lanes) == best);
                    open &= ~here;
                    pool_store(dx + at, pool_load(dx + at, lanes) + (eg_vec)(here & (eg_ivec)g),
                               lanes);
                }
        }
}

POOL_INLINE void pool_pick(float *y, const float *x, const float *v, const eg_pool_dims *d,
                           int lanes)
{
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            pool_window o = pool_window_at(d, i, j);
            eg_vec best = pool_best(x, d, &o, lanes), picked = {0};
            eg_ivec open = (eg_ivec)(best == best);
            for (int64_t r = o.y0; r < o.y1; r++)
                for (int64_t c = o.x0; c < o.x1; c++) {
                    int64_t at = (r * d->w + c) * d->pitch;
                    eg_ivec here = open & (eg_ivec)(pool_load(x + at, lanes) == best);
                    open &= ~here;
                    picked = pool_choose(here, pool_load(v + at, lanes), picked);
                }
            pool_store(y + (i * d->ow + j) * d->pitch, picked, lanes);
        }
}

POOL_INLINE void pool_sum(float *y, const float *x, float scale, const eg_pool_dims *d,
                          int lanes)
{
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            pool_window o = pool_window_at(d, i, j);
            eg_vec sum = {0};
            for (int64_t r = o.y0; r < o.y1; r++)
                for (int64_t c = o.x0; c < o.x1; c++)
                    sum += pool_load(x + (r * d->w + c) * d->pitch, lanes);
            pool_store(y + (i * d->ow + j) * d->pitch, sum * scale, lanes);
        }
}

POOL_INLINE void pool_sum_back(float *dx, const float *dy, float scale, const eg_pool_dims *d,
                               int lanes)
{
    pool_zero(dx, d, lanes);
    for (int64_t i = 0; i < d->oh; i++)
        for (int64_t j = 0; j < d->ow; j++) {
            pool_window o = pool_window_at(d, i, j);
            eg_vec g = pool_load(dy + (i * d->ow + j) * d->pitch, lanes) * scale;
            for (int64_t r = o.y0; r < o.y1; r++)
                for (int64_t c = o.x0; c < o.x1; c++) {
                    int64_t at = (r * d->w + c) * d->pitch;
                    pool_store(dx + at, pool_load(dx + at, lanes) + g, lanes);
                }
        }
}

/* Where chunk k of image i starts, in an image of `places`. */
static int64_t pool_start(const eg_pool_dims *d, int64_t i, int64_t k, int64_t places)
{
    return i * places * d->pitch + k * EG_V;
}

/* Calls run for every chunk of every image with its offsets in and out. */
#define POOL_EACH(run)                                                                         \
    for (int64_t i = 0; i < d->images; i++)                                                    \
        for (int64_t k = 0; k < d->chunks; k++) {                                              \
            int64_t in = pool_start(d, i, k, d->h * d->w);                                     \
            int64_t out = pool_start(d, i, k, d->oh * d->ow);                                  \
            run;                                                                               \
        }

void EG_KERNEL(max_pool)(float *y, const float *x, const eg_pool_dims *d)
{
    if (d->vectors)
        POOL_EACH(pool_max(y + out, x + in, d, EG_V))
    else
        POOL_EACH(pool_max(y + out, x + in, d, 1))
}

void EG_KERNEL(max_pool_back)(float *dx, const float *x, const float *dy, bool relu,
                              const eg_pool_dims *d)
{
    if (d->vectors)
        POOL_EACH(pool_max_back(dx + in, x + in, dy + out, relu, d, EG_V))
    else
        POOL_EACH(pool_max_back(dx + in, x + in, dy + out, relu, d, 1))
}

void EG_KERNEL(max_pool_pick)(float *y, const float *x, const float *v, const eg_pool_dims *d)
{
    if (d->vectors)
        POOL_EACH(pool_pick(y + out, x + in, v + in, d, EG_V))
    else
        POOL_EACH(pool_pick(y + out, x + in, v + in, d, 1))
}

void EG_KERNEL(sum_pool)(float *y, const float *x, float scale, const eg_pool_dims *d)
{
    if (d->vectors)
        POOL_EACH(pool_sum(y + out, x + in, scale, d, EG_V))
    else
        POOL_EACH(pool_sum(y + out, x + in, scale, d, 1))
}

void EG_KERNEL(sum_pool_back)(float *dx, const float *dy, float scale, const eg_pool_dims *d)
{
    if (d->vectors)
        POOL_EACH(pool_sum_back(dx + in, dy + out, scale, d, EG_V))
    else
        POOL_EACH(pool_sum_back(dx + in, dy + out, scale, d, 1))
}
