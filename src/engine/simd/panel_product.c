/* panel_product.c - products of tiles or places by weights, whose columns are in panels.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A piece of the result, some rows of one panel, stays in registers while all factors go by;
 * a number of the left matrix is one for all lanes. Sums run in order of channels or tiles.
 */
#include "engine/simd/panel.h"

#define PRODUCT_INLINE static inline __attribute__((always_inline))

enum { MOST_ROWS = TUNE_PANEL_MOST_ROWS };

/* What one piece reads and writes. */
typedef struct product_piece {
    const float *a, *b;
    float *c;
    int64_t blocks, step; /* tiles by weights: blocks of channels of a, floats between them */
    int64_t n;            /* gradient: tiles */
    bool add;
} product_piece;

PRODUCT_INLINE void product_store(const product_piece *p, eg_vec sum[MOST_ROWS][PANEL],
                                  int rows, int cols)
{
    if (p->add)
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++)
                sum[r][q] += *(const eg_vec *)(p->c + (r * cols + q) * EG_V);
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++)
            *(eg_vec *)(p->c + (r * cols + q) * EG_V) = sum[r][q];
}

/* rows x cols vectors of c (+)= a b: a [blocks, step, v] by rows of v, b [channels, cols]. */
PRODUCT_INLINE void product_forward(const product_piece *p, int rows, int cols)
{
    eg_vec sum[MOST_ROWS][PANEL];
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++)
            sum[r][q] = (eg_vec){0};
    const float *b = p->b;
    for (int64_t k = 0; k < p->blocks; k++) {
        const float *a = p->a + k * p->step;
        for (int i = 0; i < EG_V; i++, b += cols * EG_V, a++) {
            eg_vec in[PANEL];
            for (int q = 0; q < cols; q++)
                in[q] = *(const eg_vec *)(b + q * EG_V);
            for (int r = 0; r < rows; r++)
                for (int q = 0; q < cols; q++)
                    sum[r][q] += in[q] * a[r * EG_V];
        }
    }
    product_store(p, sum, rows, cols);
}

/* rows x cols vectors of c (+)= a^T b: a [n, v], b [n, cols]. */
PRODUCT_INLINE void product_back(const product_piece *p, int rows, int cols)
{
    eg_vec sum[MOST_ROWS][PANEL];
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++)
            sum[r][q] = (eg_vec){0};
    const float *a = p->a, *b = p->b;
    for (int64_t k = 0; k < p->n; k++, b += cols * EG_V, a += EG_V) {
        eg_vec in[PANEL];
        for (int q = 0; q < cols; q++)
            in[q] = *(const eg_vec *)(b + q * EG_V);
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++)
                sum[r][q] += in[q] * a[r];
    }
    product_store(p, sum, rows, cols);
}

/* Every number of rows is compiled apart. */
#define PRODUCT_ROWS(kernel, cols)                                                             \
    switch (rows) {                                                                            \
    case 6:                                                                                    \
        kernel(p, 6, cols);                                                                    \
        break;                                                                                 \
    case 5:                                                                                    \
        kernel(p, 5, cols);                                                                    \
        break;                                                                                 \
    case 4:                                                                                    \
        kernel(p, 4, cols);                                                                    \
        break;                                                                                 \
    case 3:                                                                                    \
        kernel(p, 3, cols);                                                                    \
        break;                                                                                 \
    case 2:                                                                                    \
        kernel(p, 2, cols);                                                                    \
        break;                                                                                 \
    default:                                                                                   \
        kernel(p, 1, cols);                                                                    \
        break;                                                                                 \
    }

/* And every width that a panel can have. */
#define PRODUCT_CASES(kernel)                                                                  \
    if (PANEL > 3 && cols == 4)                                                                \
        PRODUCT_ROWS(kernel, 4)                                                                \
    else if (PANEL > 2 && cols == 3)                                                           \
        PRODUCT_ROWS(kernel, 3)                                                                \
    else if (PANEL > 1 && cols == 2)                                                           \
        PRODUCT_ROWS(kernel, 2)                                                                \
    else                                                                                       \
        PRODUCT_ROWS(kernel, 1)

static void product_forward_any(const product_piece *p, int64_t rows, int64_t cols)
{
    PRODUCT_CASES(product_forward)
}

static void product_back_any(const product_piece *p, int64_t rows, int64_t cols)
{
    PRODUCT_CASES(product_back)
}

/* Rows of the next piece: as few pieces as can be, of nearly one size. */
static int64_t product_rows(int64_t left)
{
    int64_t pieces = (left + PANEL_ROWS - 1) / PANEL_ROWS;
    return (left + pieces - 1) / pieces;
}

void EG_KERNEL(panel_product)(float *m, const float *v, const float *u,
                              const eg_panel_product *d)
{
    int64_t blocks = d->oc / EG_V;
    for (int64_t k = 0; k < d->points; k++)
        for (int64_t b = 0; b < blocks; b += PANEL) {
            int64_t cols = panel_width(b, blocks);
            const float *panel = u + k * d->weight_step + b * EG_V * d->rows;
            product_piece p = {.b = panel + d->row * cols * EG_V,
                               .blocks = d->ic / EG_V,
                               .step = d->n * EG_V,
                               .add = d->add};
            for (int64_t i = 0, rows; i < d->n; i += rows) {
                rows = product_rows(d->n - i);
                p.a = v + k * d->in_step + i * EG_V;
                p.c = m + k * d->out_step + (b * d->n + i * cols) * EG_V;
                product_forward_any(&p, rows, cols);
            }
        }
}

void EG_KERNEL(panel_product_back)(float *du, const float *v, const float *dm,
                                   const eg_panel_product *d)
{
    int64_t blocks = d->oc / EG_V;
    for (int64_t k = 0; k < d->points; k++)
        for (int64_t b = 0; b < blocks; b += PANEL) {
            int64_t cols = panel_width(b, blocks);
            float *panel = du + k * d->weight_step + (b * d->rows + d->row * cols) * EG_V;
            product_piece p = {
                .b = dm + k * d->out_step + b * EG_V * d->n, .n = d->n, .add = d->add};
            for (int64_t i = 0; i < d->ic; i += EG_V)
                for (int64_t r = 0, rows; r < EG_V; r += rows) {
                    rows = product_rows(EG_V - r);
                    p.a = v + k * d->in_step + i * d->n + r;
                    p.c = panel + (i + r) * cols * EG_V;
                    product_back_any(&p, rows, cols);
                }
        }
}
