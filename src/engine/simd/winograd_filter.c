/* winograd_filter.c - the transforms of filters in Winograd's convolutions, and of their
 * gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * G w G^T and G^T du G, one filter per lane. `taps` and `across` are constants where a function
 * is called.
 */
#include "engine/simd/panel.h"
#include "engine/simd/winograd_matrices.h"

/* Filters worked on together, and the most taps they have. */
enum { FILTERS = 8, MOST_SQUARE = MOST_TAPS * MOST_TAPS };

/* Where tap k stands in its filter: side by side, but for taps that a stride sets apart. */
WINOGRAD_INLINE int64_t filter_tap(const eg_winograd_filters *f, int k, int taps, int across)
{
    return taps <= 2 ? k / across * f->line_step + k % across * f->tap_step : k;
}

/* The taps of some filters per lane, lanes together; calls up the next ones. */
WINOGRAD_INLINE void filter_gather(eg_vec *to, const float *w, const eg_winograd_filters *f,
                                   int taps, int across)
{
    const int size = taps * across;
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            __builtin_prefetch(w + l * f->oc_step + (i + FILTERS) * f->ic_step);
    for (int l = 0; l < EG_V; l++)
        for (int64_t i = 0; i < FILTERS; i++)
            for (int k = 0; k < size; k++)
                ((float *)&to[i * size + (f->turned ? size - 1 - k : k)])[l] =
                    w[l * f->oc_step + i * f->ic_step + filter_tap(f, k, taps, across)];
}

/* G w G^T of one filter per lane, to the matrices. */
WINOGRAD_INLINE void filter_tile(eg_vec *u, int64_t step, const eg_vec *w, int taps, int across)
{
    _Alignas(64) eg_vec half[MOST_WINDOW * MOST_TAPS];
    for (int j = 0; j < across; j++)
        winograd_g(half + j, across, w + j, across, taps);
    for (int i = 0; i < winograd_window(taps); i++)
        winograd_g(u + i * winograd_pitch(across) * step, step, half + i * across, 1, across);
}

WINOGRAD_INLINE void filter_all(float *u, const float *w, const eg_winograd_filters *f,
                                int taps, int across)
{
    int64_t blocks = f->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, f->rows);
        for (int64_t i = 0; i < f->ic; i += FILTERS) {
            _Alignas(64) eg_vec some[FILTERS * MOST_SQUARE];
            eg_vec *to = (eg_vec *)u + column.at + (f->row + i) * column.step;
            filter_gather(some, w + b * EG_V * f->oc_step + i * f->ic_step, f, taps, across);
            for (int q = 0; q < FILTERS; q++)
                filter_tile(to + q * column.step, f->step / EG_V, some + q * taps * across,
                            taps, across);
        }
    }
}

void EG_KERNEL(winograd_filter)(float *u, const float *w, const eg_winograd_filters *f)
{
    if (f->taps == 3)
        filter_all(u, w, f, 3, 3);
    else if (f->taps == 5)
        filter_all(u, w, f, 5, 5);
    else if (f->taps == 2 && f->across == 2)
        filter_all(u, w, f, 2, 2);
    else if (f->taps == 2)
        filter_all(u, w, f, 2, 1);
    else if (f->across == 2)
        filter_all(u, w, f, 1, 2);
    else
        filter_all(u, w, f, 1, 1);
}

/* G^T du G of one filter per lane. */
WINOGRAD_INLINE void filter_back_tile(eg_vec *w, const eg_vec *du, int64_t step, int taps,
                                      int across)
{
    const int cols = winograd_window(across), pitch = winograd_pitch(across);
    _Alignas(64) eg_vec half[MOST_TAPS * MOST_WINDOW];
    for (int j = 0; j < cols; j++)
        winograd_gt(half + j, cols, du + j * step, pitch * step, taps, LAST_TWO);
    for (int i = 0; i < taps; i++)
        winograd_gt(w + i * across, 1, half + i * cols, 1, across, LAST_TWO);
}

/* The inverse of filter_gather. */
WINOGRAD_INLINE void filter_scatter(float *dw, const eg_vec *from, const eg_winograd_filters *f,
                                    int taps, int across)
{
    const int size = taps * across;
    for (int l = 0; l < EG_V; l++)
        for (int k = 0; k < FILTERS * size; k++)
            dw[l * f->oc_step + k / size * f->ic_step + filter_tap(f, k % size, taps, across)] =
                ((float *)&from[k])[l];
}

WINOGRAD_INLINE void filter_back_all(float *dw, const float *du, const eg_winograd_filters *f,
                                     int taps, int across)
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
                filter_back_tile(some + q * taps * across, from + q * column.step,
                                 f->step / EG_V, taps, across);
            filter_scatter(to, some, f, taps, across);
        }
    }
}

void EG_KERNEL(winograd_filter_back)(float *dw, const float *du, const eg_winograd_filters *f)
{
    if (f->taps == 3)
        filter_back_all(dw, du, f, 3, 3);
    else if (f->taps == 5)
        filter_back_all(dw, du, f, 5, 5);
    else if (f->taps == 2 && f->across == 2)
        filter_back_all(dw, du, f, 2, 2);
    else if (f->taps == 2)
        filter_back_all(dw, du, f, 2, 1);
    else if (f->across == 2)
        filter_back_all(dw, du, f, 1, 2);
    else
        filter_back_all(dw, du, f, 1, 1);
}
