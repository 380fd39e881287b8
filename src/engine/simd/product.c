/* product.c - c [m, n] = a [m, k] b [k, n], row-major, each factor stored transposed or not.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A panel of b, DEPTH rows of a few vectors, is packed and stays in the first cache; a tile of
 * sums stays in registers. Each sum runs along k in pieces of DEPTH, added one after the other.
 */
#include "engine/simd/lanes.h"

#define PRODUCT_INLINE static inline __attribute__((always_inline))

enum {
    ROWS = TUNE_PANEL_ROWS,
    VECS = TUNE_PANEL,
    COLS = TUNE_PANEL * EG_V,
    DEPTH = 4096 / (TUNE_PANEL * EG_V), /* 16 KB of b */
};

/* Columns [from, from + cols) of rows [at, at + depth) of b, filled up with zeros. */
static void product_pack(float *to, const float *b, const eg_product_shape *d, int64_t at,
                         int64_t depth, int64_t from, int64_t cols)
{
    int64_t down = d->tb ? 1 : d->n, right = d->tb ? d->k : 1;
    const float *corner = b + at * down + from * right;
    for (int64_t l = 0; l < depth; l++)
        for (int64_t j = 0; j < COLS; j++)
            to[l * COLS + j] = j < cols ? corner[l * down + j * right] : 0;
}

/* A tile of results: rows of them, `cols` wide; a_down and a_right: floats from one number of a
 * to the next. */
typedef struct product_tile {
    float *c;
    const float *a, *panel;
    int64_t n, cols, depth, a_down, a_right;
    bool add;
} product_tile;

/* rows is a constant where this is called. */
PRODUCT_INLINE void product_rows(const product_tile *t, int rows)
{
    eg_vec sum[ROWS][VECS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < VECS; j++)
            sum[i][j] = (eg_vec){0};
    for (int64_t l = 0; l < t->depth; l++) {
        const float *b = t->panel + l * COLS, *a = t->a + l * t->a_right;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < VECS; j++)
                sum[i][j] += a[i * t->a_down] * simd_load(b + (ptrdiff_t)j * EG_V);
    }
    for (int i = 0; i < rows; i++) {
        float edge[COLS], *c = t->c + i * t->n;
        bool whole = t->cols == COLS;
        float *to = whole ? c : edge;
        if (!whole)
            memcpy(edge, c, (size_t)t->cols * sizeof *c);
        for (int j = 0; j < VECS; j++) {
            eg_vec before = t->add ? simd_load(to + (ptrdiff_t)j * EG_V) : (eg_vec){0};
            simd_store(to + (ptrdiff_t)j * EG_V, before + sum[i][j]);
        }
        if (!whole)
            memcpy(c, edge, (size_t)t->cols * sizeof *c);
    }
}

static void product_full(const product_tile *t)
{
    product_rows(t, ROWS);
}

static void product_row(const product_tile *t)
{
    product_rows(t, 1);
}

void EG_KERNEL(product)(float *c, const float *a, const float *b, const eg_product_shape *d)
{
    float panel[DEPTH * COLS];
    for (int64_t from = 0; from < d->n; from += COLS) {
        int64_t cols = d->n - from < COLS ? d->n - from : COLS;
        for (int64_t at = 0; at < d->k || at == 0; at += DEPTH) {
            int64_t depth = d->k - at < DEPTH ? d->k - at : DEPTH;
            product_pack(panel, b, d, at, depth, from, cols);
            product_tile t = {.n = d->n,
                              .panel = panel,
                              .cols = cols,
                              .depth = depth,
                              .a_down = d->ta ? 1 : d->k,
                              .a_right = !d->ta     ? 1
                                         : d->a_row ? d->a_row
                                                    : d->m,
                              .add = d->add || at > 0};
            int64_t i = 0;
            for (; i < d->m; i += i + ROWS <= d->m ? ROWS : 1) {
                t.c = c + i * d->n + from;
                t.a = a + i * t.a_down + at * t.a_right;
                if (i + ROWS <= d->m)
                    product_full(&t);
                else
                    product_row(&t);
            }
        }
    }
}
