/* places.c - the places of blocked maps as matrices, and a matrix as the weights of windows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/panel.h"

/* v [c / v, places, v], or for panels [c / panel, places, panel]. */
void EG_KERNEL(places_read)(float *v, const float *x, const eg_places *p, bool panels)
{
    int64_t blocks = p->c / EG_V, n = p->n * p->rows * p->cols;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panels ? panel_find(b, blocks, n) : (panel_column){b * n, 1};
        eg_vec *to = (eg_vec *)v + column.at;
        for (int64_t k = 0; k < p->n; k++) {
            const eg_vec *map = (const eg_vec *)x + (k * blocks + b) * p->h * p->w;
            for (int64_t i = 0; i < p->rows; i++)
                for (int64_t j = 0; j < p->cols; j++, to += column.step)
                    *to = map[(p->row + i * p->stride) * p->w + p->col + j * p->stride];
        }
    }
}

/* dw [oc, ic, taps] of one matrix [oc / panel, ic, panel] a tap. */
void EG_KERNEL(places_weights)(float *dw, const float *du, const eg_place_weights *d)
{
    int64_t blocks = d->oc / EG_V;
    for (int64_t b = 0; b < blocks; b++) {
        panel_column column = panel_find(b, blocks, d->ic);
        for (int64_t i = 0; i < d->ic; i++) {
            const float *from = du + (column.at + i * column.step) * EG_V;
            for (int64_t l = 0; l < EG_V; l++)
                for (int64_t t = 0; t < d->taps; t++)
                    dw[((b * EG_V + l) * d->ic + i) * d->taps + t] = from[t * d->step + l];
        }
    }
}
