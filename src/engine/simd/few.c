/* few.c - the gradients of convolutions on images of few channels: what stands around products.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A column is a weight of a filter, (i, r, s) of [ic, kh, kw]; columns are filled up to whole
 * vectors with zeros.
 */
#include "engine/simd/panel.h"

static int64_t few_columns(const eg_conv *c)
{
    return (c->ic * c->kh * c->kw + EG_V - 1) / EG_V;
}

/* Where number `col` of a row stands in a matrix of panels with so many rows. */
static int64_t few_at(int64_t col, int64_t row, int64_t blocks, int64_t rows)
{
    panel_column p = panel_find(col / EG_V, blocks, rows);
    return (p.at + row * p.step) * EG_V + col % EG_V;
}

/* u [columns / panel, oc, panel] = the weights [oc, columns]. */
void EG_KERNEL(few_filter)(float *u, const float *w, const eg_conv *c)
{
    int64_t blocks = few_columns(c), n = c->ic * c->kh * c->kw;
    for (int64_t k = 0; k < blocks * EG_V; k++)
        for (int64_t o = 0; o < c->oc; o++)
            u[few_at(k, o, blocks, c->oc)] = k < n ? w[o * n + k] : 0;
}

/* dw [oc, columns] = du [oc / panel, columns, panel]. */
void EG_KERNEL(few_filter_back)(float *dw, const float *du, const eg_conv *c)
{
    int64_t blocks = c->oc / EG_V, rows = few_columns(c) * EG_V, n = c->ic * c->kh * c->kw;
    for (int64_t o = 0; o < c->oc; o++)
        for (int64_t k = 0; k < n; k++)
            dw[o * n + k] = du[few_at(o, k, blocks, rows)];
}

/* The places [from, to) of a row of results whose tap falls inside the image. */
typedef struct few_row {
    int64_t from, to;
} few_row;

static few_row few_inside(int64_t left, const eg_conv *c)
{
    int64_t from = left < 0 ? (c->stride - 1 - left) / c->stride : 0;
    int64_t to = (c->w - left + c->stride - 1) / c->stride;
    return (few_row){from, to < c->ow ? to : c->ow};
}

/* dx [ic, h, w] of one sample: the columns m [columns / panel, oh ow, panel] of every place
 * added up at its window. */
void EG_KERNEL(few_spread)(float *dx, const float *m, const eg_conv *c)
{
    int64_t blocks = few_columns(c), area = c->oh * c->ow, taps = c->kh * c->kw;
    memset(dx, 0, (size_t)(c->ic * c->h * c->w) * sizeof *dx);
    for (int64_t k = 0; k < c->ic * taps; k++) {
        const float *from = m + few_at(k, 0, blocks, area);
        int64_t step = panel_find(k / EG_V, blocks, area).step * EG_V;
        int64_t row = k % taps / c->kw - c->padding, left = k % c->kw - c->padding;
        few_row in = few_inside(left, c);
        for (int64_t y = 0; y < c->oh; y++, row += c->stride) {
            if (row < 0 || row >= c->h)
                continue;
            float *to = dx + (k / taps * c->h + row) * c->w;
            for (int64_t x = in.from; x < in.to; x++)
                to[x * c->stride + left] += from[(y * c->ow + x) * step];
        }
    }
}

/* v [columns / v, oh ow, v]: what each place's window reads of x [ic, h, w], one sample. */
void EG_KERNEL(few_read)(float *v, const float *x, const eg_conv *c)
{
    int64_t area = c->oh * c->ow, taps = c->kh * c->kw;
    memset(v, 0, (size_t)(few_columns(c) * area * EG_V) * sizeof *v);
    for (int64_t k = 0; k < c->ic * taps; k++) {
        float *to = v + k / EG_V * area * EG_V + k % EG_V;
        int64_t row = k % taps / c->kw - c->padding, left = k % c->kw - c->padding;
        few_row in = few_inside(left, c);
        for (int64_t y = 0; y < c->oh; y++, row += c->stride) {
            if (row < 0 || row >= c->h)
                continue;
            const float *from = x + (k / taps * c->h + row) * c->w;
            for (int64_t j = in.from; j < in.to; j++)
                to[(y * c->ow + j) * EG_V] = from[j * c->stride + left];
        }
    }
}
