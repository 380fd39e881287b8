/* row_product.h - small products whose rows are independent: c (+)= a b, b in whole vectors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums run over k in order, whatever stands beside a row and however many rows there are.
 */
#ifndef EG_ROW_PRODUCT_H
#define EG_ROW_PRODUCT_H

#include "engine/simd/lanes.h"
#include "engine/simd/panel.h"

#define ROW_INLINE static inline __attribute__((always_inline))

/* c [m, vecs] (+)= a b, b [k, vecs]: row r of a is `a_row` floats from the next, its factors
 * `a_k` apart. */
typedef struct row_product {
    float *c;
    const float *a, *b;
    int64_t c_row, a_row, a_k, b_row; /* floats from row to row */
    int64_t m, vecs, k;
    bool add;
    const float *start; /* [vecs]: what sums begin with; NULL: zeros */
} row_product;

/* rows and cols are constants where this is called. */
ROW_INLINE void row_tile(const row_product *p, int64_t i, int64_t j, int rows, int cols)
{
    eg_vec sum[2 * TUNE_PANEL_MOST_ROWS][PANEL];
    const float *a = p->a + i * p->a_row, *b = p->b + j * EG_V;
    float *c = p->c + i * p->c_row + j * EG_V;
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++)
            sum[r][q] = p->add     ? simd_load(c + r * p->c_row + q * EG_V)
                        : p->start ? simd_load(p->start + (j + q) * EG_V)
                                   : (eg_vec){0};
    for (int64_t k = 0; k < p->k; k++, a += p->a_k, b += p->b_row) {
        eg_vec in[PANEL];
        for (int q = 0; q < cols; q++)
            in[q] = simd_load(b + q * EG_V);
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++)
                sum[r][q] += in[q] * a[r * p->a_row];
    }
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++)
            simd_store(c + r * p->c_row + q * EG_V, sum[r][q]);
}

/* A single vector needs more rows than a panel, that sums need not wait for each other. */
enum { ROW_MANY = 2 * TUNE_PANEL_MOST_ROWS };

/* Every number of rows is compiled apart. */
#define ROW_PIECES(cols)                                                                       \
    int64_t i = 0;                                                                             \
    for (; (cols) == 1 && i + ROW_MANY <= p->m; i += ROW_MANY)                                 \
        row_tile(p, i, j, ROW_MANY, cols);                                                     \
    for (int64_t rows; i < p->m; i += rows) {                                                  \
        rows = p->m - i < PANEL_ROWS ? p->m - i : PANEL_ROWS;                                  \
        switch (rows) {                                                                        \
        case 6:                                                                                \
            row_tile(p, i, j, 6, cols);                                                        \
            break;                                                                             \
        case 5:                                                                                \
            row_tile(p, i, j, 5, cols);                                                        \
            break;                                                                             \
        case 4:                                                                                \
            row_tile(p, i, j, 4, cols);                                                        \
            break;                                                                             \
        case 3:                                                                                \
            row_tile(p, i, j, 3, cols);                                                        \
            break;                                                                             \
        case 2:                                                                                \
            row_tile(p, i, j, 2, cols);                                                        \
            break;                                                                             \
        default:                                                                               \
            row_tile(p, i, j, 1, cols);                                                        \
            break;                                                                             \
        }                                                                                      \
    }

/* And every width that a panel can have. */
static inline void row_panel(const row_product *p, int64_t j, int64_t cols)
{
    if (PANEL > 3 && cols == 4) {
        ROW_PIECES(4)
    } else if (PANEL > 2 && cols == 3) {
        ROW_PIECES(3)
    } else if (PANEL > 1 && cols == 2) {
        ROW_PIECES(2)
    } else {
        ROW_PIECES(1)
    }
}

static inline void row_multiply(const row_product *p)
{
    int64_t panels = (p->vecs + PANEL - 1) / PANEL;
    for (int64_t j = 0, cols; j < p->vecs; j += cols, panels--) {
        cols = (p->vecs - j + panels - 1) / panels;
        row_panel(p, j, cols);
    }
}

#endif
