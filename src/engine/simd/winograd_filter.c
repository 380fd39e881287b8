/* winograd_filter.c - the transforms of filters in Winograd's convolutions, and of their
 * gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * G w G^T and G^T du G, one filter per lane. `taps` is a constant where a function is called.
 */
#include "engine/simd/panel.h"
#include "engine/simd/winograd_matrices.h"

/* Filters worked on together, and the most taps they have. */
enum { FILTERS = 8, MOST_SQUARE = MOST_TAPS * MOST_TAPS };

/* Where tap k stands in its filter: side by side, but for taps that a stride sets apart. */
WINOGRAD_INLINE int64_t filter_tap(const eg_winograd_filters *f, int k, int taps)
{
    return taps == 2 ? k / taps * f->line_step + k % taps * f->tap_step : k;
}

/* The taps of some filters per lane, lanes together; calls up the next ones. */
WINOGRAD_INLINE void filter_gather(eg_vec *to, const float *w, const eg_winograd_filters *f,
                                   int taps)
{
    const int size = taps * taps;
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            __builtin_prefetch(w + l * f->oc_step + (i + FILTERS) * f->ic_step);
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            for (int k = 0; k < size; k++)
                ((float *)&to[i * size + (f->turned ? size - 1 - k : k)])[l] =
                    w[l * f->oc_step + i * f->ic_step + filter_tap(f, k, taps)];
}

/* G w G^T of one filter per lane, to the matrices. */
WINOGRAD_INLINE void filter_tile(eg_vec *u, int64_t step, const eg_vec *w, int taps)
{
    const int window = taps + TILE - 1;
    _Alignas(64) eg_vec half[MOST_WINDOW * MOST_TAPS];
    for (int j = 0; j < taps; j++)
        winograd_g(half + j, taps, w + j, taps, taps);
    for (int i = 0; i < window; i++)
        winograd_g(u + i * window * step, step, half + i * taps, 1, taps);
}

WINOGRAD_INLINE void filter_all(float *u, const float *w, const eg_winograd_filters *f,
                                int taps)
{
    int64_t blocks = f->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, f->rows);
        for (int64_t i = 0; i < f->ic; i += FILTERS) {
            _Alignas(64) eg_vec some[FILTERS * MOST_SQUARE];
            eg_vec *to = (eg_vec *)u + column.at + (f->row + i) * column.step;
            filter_gather(some, w + b * EG_V * f->oc_step + i * f->ic_step, f, taps);
            for (int q = 0; q < FILTERS; q++)
                filter_tile(to + q * column.step, f->step / EG_V, some + q * taps * taps, taps);
        }
    }
}

void EG_KERNEL(winograd_filter)(float *u, const float *w, const eg_winograd_filters *f)
{
    if (f->taps == 3)
        filter_all(u, w, f, 3);
    else if (f->taps == 5)
        filter_all(u, w, f, 5);
    else
        filter_all(u, w, f, 2);
}

/* G^T du G of one filter per lane. */
WINOGRAD_INLINE void filter_back_tile(eg_vec *w, const eg_vec *du, int64_t step, int taps)
{
    const int window = taps + TILE - 1;
    _Alignas(64) eg_vec half[MOST_TAPS * MOST_WINDOW];
    for (int j = 0; j < window; j++)
        winograd_gt(half + j, window, du + j * step, window * step, taps, LAST_TWO);
    for (int i = 0; i < taps; i++)
        winograd_gt(w + i * taps, 1, half + i * window, 1, taps, LAST_TWO);
}

/* The inverse of filter_gather. */
WINOGRAD_INLINE void filter_scatter(float *dw, const eg_vec *from, const eg_winograd_filters *f,
                                    int taps)
{
    const int size = taps * taps;
    for (int l = 0; l < EG_V; l++)
        for (int k = 0; k < FILTERS * size; k++)
            dw[l * f->oc_step + k / size * f->ic_step + filter_tap(f, k % size, taps)] =
                ((float *)&from[k])[l];
}

WINOGRAD_INLINE void filter_back_all(float *dw, const float *du, const eg_winograd_filters *f,
                                     int taps)
{
    int64_t blocks = f->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, f->rows);
        for (int64_t i = 0; i < f->ic; i += FILTERS) {
            _Alignas(64) eg_vec some[FILTERS * MOST_SQUARE];
            const eg_vec *from = (const eg_vec *)du + column.at + (f->row + i) * column.step;
            float *to = dw + b * EG_V * f->oc_step + i * f->ic_step;
            for (int l = 0; l < EG_V; l++)
                for (int q = 0; q < FILTERS; q++)
                    __builtin_prefetch(to + l * f->oc_step + q * f->ic_step, 1);
            for (int q = 0; q < FILTERS; q++)
                filter_back_tile(some + q * taps * taps, from + q * column.step, f->step / EG_V,
                                 taps);
            filter_scatter(to, some, f, taps);
        }
    }
}

void EG_KERNEL(winograd_filter_back)(float *dw, const float *du, const eg_winograd_filters *f)
{
    if (f->taps == 3)
        filter_back_all(dw, du, f, 3);
    else if (f->taps == 5)
        filter_back_all(dw, du, f, 5);
    else
        filter_back_all(dw, du, f, 2);
}
