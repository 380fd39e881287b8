/* winograd.c - the transforms of Winograd's convolution F(4x4, 3x3) (Lavin and Gray, 2016,
 * arXiv:1509.09308).
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = A^T [(G w G^T) * (B^T x B)] A on tiles of 4 x 4 results, which read 6 x 6 places, with
 * the points 0, 1, -1, 2, -2 and infinity. The gradient for w is G^T [(A dy A^T) * (B^T x B)]
 * G. Each function of one line is a row of a matrix above; all lanes are channels.
 */
#include "tensor/simd/panel.h"

#define WINOGRAD_INLINE static inline __attribute__((always_inline))

enum { TILE = 4, WINDOW = 6, POINTS = WINDOW * WINDOW };

/* to = B^T x: six to six; steps in vectors. */
WINOGRAD_INLINE void winograd_bt(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step)
{
    eg_vec x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step],
           x5 = x[5 * step];
    eg_vec a = x4 - 4 * x2, b = x3 - 4 * x1, c = x4 - x2, d = x3 - x1;
    to[0] = 4 * x0 + (x4 - 5 * x2);
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + 2 * d;
    to[4 * to_step] = c - 2 * d;
    to[5 * to_step] = 4 * x1 + (x5 - 5 * x3);
}

/* to = A^T m: six to four. */
WINOGRAD_INLINE void winograd_at(eg_vec *to, int64_t to_step, const eg_vec *m, int64_t step)
{
    eg_vec m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step];
    eg_vec a = m1 + m2, b = m1 - m2, c = m3 + m4, d = m3 - m4;
    to[0] = m[0] + a + c;
    to[to_step] = b + 2 * d;
    to[2 * to_step] = a + 4 * c;
    to[3 * to_step] = (b + m[5 * step]) + 8 * d;
}

/* to = A y: four to six. */
WINOGRAD_INLINE void winograd_a(eg_vec *to, int64_t to_step, const eg_vec *y, int64_t step)
{
    eg_vec y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
    eg_vec a = y0 + y2, b = y1 + y3, c = y0 + 4 * y2, d = y1 + 4 * y3;
    to[0] = y0;
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + 2 * d;
    to[4 * to_step] = c - 2 * d;
    to[5 * to_step] = y3;
}

/* to = G w: three to six. */
WINOGRAD_INLINE void winograd_g(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step)
{
    eg_vec w0 = w[0], w1 = w[step], w2 = w[2 * step];
    eg_vec a = (w0 + w2) * (-1.0f / 6), b = w1 * (1.0f / 6);
    eg_vec c = w0 * (1.0f / 24) + w2 * (1.0f / 6), d = w1 * (1.0f / 12);
    to[0] = w0 * 0.25f;
    to[to_step] = a - b;
    to[2 * to_step] = a + b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = w2;
}

/* to = G^T u: six to three. */
WINOGRAD_INLINE void winograd_gt(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step)
{
    eg_vec u1 = u[step], u2 = u[2 * step], u3 = u[3 * step], u4 = u[4 * step];
    eg_vec a = (u1 + u2) * (1.0f / 6), b = u3 + u4;
    to[0] = (u[0] * 0.25f - a) + b * (1.0f / 24);
    to[to_step] = (u2 - u1) * (1.0f / 6) + (u3 - u4) * (1.0f / 12);
    to[2 * to_step] = (u[5 * step] - a) + b * (1.0f / 6);
}

/* Calls up the places of the tile below this one, which follows some tiles later: such jumps
 * from row to row are not foreseen by the machine. */
WINOGRAD_INLINE void winograd_call(const eg_vec *below, int64_t pitch)
{
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            __builtin_prefetch(below + i * pitch + j, 0, 2);
}

/* Where a tile stands; places of images are counted in vectors. */
typedef struct winograd_place {
    int64_t image, row, col;
} winograd_place;

static winograd_place winograd_first(const eg_tiles *t)
{
    int64_t area = t->rows * t->cols;
    return (winograd_place){t->from / area, t->from % area / t->cols, t->from % t->cols};
}

static void winograd_next(winograd_place *p, const eg_tiles *t)
{
    if (++p->col < t->cols)
        return;
    p->col = 0;
    if (++p->row < t->rows)
        return;
    p->row = 0;
    p->image++;
}

/* The size x size places from (row, col) on into a square, zeros where no image is. */
static void winograd_cut(eg_vec *to, int size, const eg_vec *image, int64_t row, int64_t col,
                         const eg_tiles *t)
{
    int64_t left = col < 0 ? -col : 0, right = t->w - col < size ? t->w - col : size;
    for (int64_t i = 0; i < size; i++, to += size) {
        bool inside = row + i >= 0 && row + i < t->h;
        const eg_vec *from = image + (row + i) * t->w + col;
        for (int64_t j = 0; j < size; j++)
            to[j] = (eg_vec){0};
        for (int64_t j = left; inside && j < right; j++)
            to[j] = from[j];
    }
}

static bool winograd_within(int64_t row, int64_t col, int size, const eg_tiles *t)
{
    return row >= 0 && col >= 0 && row + size <= t->h && col + size <= t->w;
}

/* B^T x B of one window, to the 36 matrices. */
WINOGRAD_INLINE void winograd_input_tile(eg_vec *v, int64_t step, const eg_vec *x,
                                         int64_t pitch)
{
    _Alignas(64) eg_vec half[POINTS];
    for (int j = 0; j < WINDOW; j++)
        winograd_bt(half + j, WINDOW, x + j, pitch);
    for (int i = 0; i < WINDOW; i++)
        winograd_bt(v + i * WINDOW * step, step, half + i * WINDOW, 1);
}

void EG_KERNEL(winograd_input)(float *v, const float *x, const eg_tiles *t)
{
    int64_t blocks = t->c / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        winograd_place p = winograd_first(t);
        for (int64_t i = 0; i < t->n; i++, winograd_next(&p, t)) {
            const eg_vec *image = (const eg_vec *)x + (p.image * blocks + b) * t->h * t->w;
            int64_t row = p.row * TILE - t->padding, col = p.col * TILE - t->padding;
            eg_vec *to = (eg_vec *)v + b * t->n + i;
            winograd_call(image + (row + WINDOW) * t->w + col + t->padding, t->w);
            if (winograd_within(row, col, WINDOW, t)) {
                winograd_input_tile(to, t->step / EG_V, image + row * t->w + col, t->w);
            } else {
                _Alignas(64) eg_vec window[POINTS];
                winograd_cut(window, WINDOW, image, row, col, t);
                winograd_input_tile(to, t->step / EG_V, window, WINDOW);
            }
        }
    }
}

/* A dy A^T of one tile, to the 36 matrices. */
WINOGRAD_INLINE void winograd_back_tile(eg_vec *dm, int64_t step, const eg_vec *dy,
                                        int64_t pitch)
{
    _Alignas(64) eg_vec half[WINDOW * TILE];
    for (int j = 0; j < TILE; j++)
        winograd_a(half + j, TILE, dy + j, pitch);
    for (int i = 0; i < WINDOW; i++)
        winograd_a(dm + i * WINDOW * step, step, half + i * TILE, 1);
}

void EG_KERNEL(winograd_output_back)(float *dm, const float *dy, const eg_tiles *t)
{
    int64_t blocks = t->c / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        winograd_place p = winograd_first(t);
        panel_column column = panel_find(b, blocks, t->n);
        for (int64_t i = 0; i < t->n; i++, winograd_next(&p, t)) {
            const eg_vec *image = (const eg_vec *)dy + (p.image * blocks + b) * t->h * t->w;
            int64_t row = p.row * TILE, col = p.col * TILE;
            eg_vec *to = (eg_vec *)dm + column.at + i * column.step;
            winograd_call(image + (row + TILE) * t->w + col, t->w);
            if (winograd_within(row, col, TILE, t)) {
                winograd_back_tile(to, t->step / EG_V, image + row * t->w + col, t->w);
            } else {
                _Alignas(64) eg_vec tile[TILE * TILE];
                winograd_cut(tile, TILE, image, row, col, t);
                winograd_back_tile(to, t->step / EG_V, tile, TILE);
            }
        }
    }
}

/* A^T m A of one tile, + bias, through the relu. */
WINOGRAD_INLINE void winograd_output_tile(eg_vec *y, int64_t pitch, const eg_vec *m,
                                          int64_t step, eg_vec bias, bool relu)
{
    _Alignas(64) eg_vec half[TILE * WINDOW];
    for (int j = 0; j < WINDOW; j++)
        winograd_at(half + j, WINDOW, m + j * step, WINDOW * step);
    for (int i = 0; i < TILE; i++) {
        eg_vec line[TILE];
        winograd_at(line, 1, half + i * WINDOW, 1);
        for (int j = 0; j < TILE; j++) {
            eg_vec sum = line[j] + bias;
            y[i * pitch + j] = relu ? eg_where_positive(sum, sum) : sum;
        }
    }
}

/* The part of a tile that lies in the image. */
static void winograd_paste(eg_vec *image, const eg_vec *tile, int64_t row, int64_t col,
                           const eg_tiles *t)
{
    for (int i = 0; i < TILE && row + i < t->h; i++)
        for (int j = 0; j < TILE && col + j < t->w; j++)
            image[(row + i) * t->w + col + j] = tile[i * TILE + j];
}

void EG_KERNEL(winograd_output)(float *y, const float *m, const float *bias, bool relu,
                                const eg_tiles *t)
{
    int64_t blocks = t->c / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        winograd_place p = winograd_first(t);
        panel_column column = panel_find(b, blocks, t->n);
        eg_vec add = bias ? *(const eg_vec *)(bias + b * EG_V) : (eg_vec){0};
        for (int64_t i = 0; i < t->n; i++, winograd_next(&p, t)) {
            eg_vec *image = (eg_vec *)y + (p.image * blocks + b) * t->h * t->w;
            int64_t row = p.row * TILE, col = p.col * TILE;
            const eg_vec *from = (const eg_vec *)m + column.at + i * column.step;
            winograd_call(image + (row + TILE) * t->w + col, t->w);
            if (winograd_within(row, col, TILE, t)) {
                winograd_output_tile(image + row * t->w + col, t->w, from, t->step / EG_V, add,
                                     relu);
            } else {
                _Alignas(64) eg_vec tile[TILE * TILE];
                winograd_output_tile(tile, TILE, from, t->step / EG_V, add, relu);
                winograd_paste(image, tile, row, col, t);
            }
        }
    }
}

enum { TAPS = 9, FILTERS = 8 };

/* The taps of some filters a lane, lanes together; calls up the next ones. */
static void winograd_gather(eg_vec *taps, const float *w, const eg_filters *f)
{
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            __builtin_prefetch(w + l * f->oc_step + (i + FILTERS) * f->ic_step);
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            for (int k = 0; k < TAPS; k++)
                ((float *)&taps[i * TAPS + (f->turned ? TAPS - 1 - k : k)])[l] =
                    w[l * f->oc_step + i * f->ic_step + k];
}

/* G w G^T of one filter a lane, to the 36 matrices. */
WINOGRAD_INLINE void winograd_filter_tile(eg_vec *u, int64_t step, const eg_vec *taps)
{
    _Alignas(64) eg_vec half[WINDOW * 3];
    for (int j = 0; j < 3; j++)
        winograd_g(half + j, 3, taps + j, 3);
    for (int i = 0; i < WINDOW; i++)
        winograd_g(u + i * WINDOW * step, step, half + i * 3, 1);
}

void EG_KERNEL(winograd_filter)(float *u, const float *w, const eg_filters *f)
{
    int64_t blocks = f->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, f->ic);
        for (int64_t i = 0; i < f->ic; i += FILTERS) {
            _Alignas(64) eg_vec taps[FILTERS * TAPS];
            eg_vec *to = (eg_vec *)u + column.at + i * column.step;
            winograd_gather(taps, w + b * EG_V * f->oc_step + i * f->ic_step, f);
            for (int q = 0; q < FILTERS; q++)
                winograd_filter_tile(to + q * column.step, f->step / EG_V, taps + q * TAPS);
        }
    }
}

/* G^T du G of one filter a lane. */
WINOGRAD_INLINE void winograd_filter_back_tile(eg_vec *taps, const eg_vec *du, int64_t step)
{
    _Alignas(64) eg_vec half[3 * WINDOW];
    for (int j = 0; j < WINDOW; j++)
        winograd_gt(half + j, WINDOW, du + j * step, WINDOW * step);
    for (int i = 0; i < 3; i++)
        winograd_gt(taps + i * 3, 1, half + i * WINDOW, 1);
}

void EG_KERNEL(winograd_filter_back)(float *dw, const float *du, const eg_filters *f)
{
    int64_t blocks = f->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, f->ic);
        for (int64_t i = 0; i < f->ic; i += FILTERS) {
            _Alignas(64) eg_vec taps[FILTERS * TAPS];
            const eg_vec *from = (const eg_vec *)du + column.at + i * column.step;
            for (int l = 0; l < EG_V; l++)
                for (int q = 0; q < FILTERS; q++)
                    __builtin_prefetch(dw + (b * EG_V + l) * f->oc_step + (i + q) * f->ic_step,
                                       1);
            for (int q = 0; q < FILTERS; q++)
                winograd_filter_back_tile(taps + q * TAPS, from + q * column.step,
                                          f->step / EG_V);
            for (int l = 0; l < EG_V; l++) {
                float *to = dw + (b * EG_V + l) * f->oc_step + i * f->ic_step;
                for (int k = 0; k < FILTERS * TAPS; k++)
                    to[k / TAPS * f->ic_step + k % TAPS] = ((float *)&taps[k])[l];
            }
        }
    }
}
