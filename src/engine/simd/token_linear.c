/* token_linear.c - y [m, n] = x [m, k] w [n, k]^T + bias for many rows: w is turned, a panel of
 * columns at a time, and stays in the cache while all rows go by.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/row_product.h"

/* Squares of EG_V rows of w, turned; returns how many of their k columns are done. */
static int64_t token_squares(float *panel, const float *w, int64_t cols, int64_t k)
{
    int64_t i = 0;
    for (; i + EG_V <= k; i += EG_V) {
        eg_vec v[EG_V];
        for (int c = 0; c < EG_V; c++)
            v[c] = simd_load(w + c * k + i);
        simd_transpose(v);
        for (int r = 0; r < EG_V; r++)
            simd_store(panel + (i + r) * cols, v[r]);
    }
    return i;
}

/* The panel that begins with row j of w: [k, cols], filled up with zeros; and its bias. */
static void token_panel(float *panel, float *start, const float *w, const float *bias,
                        int64_t cols, int64_t left, int64_t k)
{
    for (int64_t b = 0; b < cols; b += EG_V) {
        int64_t done = b + EG_V <= left ? token_squares(panel + b, w + b * k, cols, k) : 0;
        for (int64_t c = b; c < b + EG_V; c++) {
            start[c] = bias && c < left ? bias[c] : 0;
            for (int64_t i = done; i < k; i++)
                panel[i * cols + c] = c < left ? w[c * k + i] : 0;
        }
    }
}

/* Columns [0, left) of edge to y, of n columns. Where those are all, whole vectors are stored,
 * each over the beginning of the next row, which follows. */
static void token_edge(float *y, const float *edge, int64_t m, int64_t n, int64_t left,
                       int64_t cols)
{
    int64_t i = 0;
    for (; left == n && cols == EG_V && i * n + cols <= m * n; i++)
        simd_store(y + i * n, simd_load(edge + i * cols));
    for (; i < m; i++)
        memcpy(y + i * n, edge + i * cols, (size_t)left * sizeof *y);
}

/* scratch: (k + 1 + m) panels of PANEL vectors. */
void EG_KERNEL(token_linear)(float *y, const float *x, const float *w, const float *bias,
                             float *scratch, const int64_t mnk[3])
{
    int64_t m = mnk[0], n = mnk[1], k = mnk[2], most = (int64_t)PANEL * EG_V;
    float *start = scratch, *panel = start + most, *edge = panel + k * most;
    for (int64_t j = 0; j < n; j += most) {
        int64_t left = n - j < most ? n - j : most;
        int64_t vecs = (left + EG_V - 1) / EG_V, cols = vecs * EG_V;
        bool whole = cols == left;
        token_panel(panel, start, w + j * k, bias ? bias + j : NULL, cols, left, k);
        row_multiply(&(row_product){.c = whole ? y + j : edge,
                                    .c_row = whole ? n : cols,
                                    .a = x,
                                    .a_row = k,
                                    .a_k = 1,
                                    .b = panel,
                                    .b_row = cols,
                                    .m = m,
                                    .vecs = vecs,
                                    .k = k,
                                    .start = start});
        if (!whole)
            token_edge(y + j, edge, m, n, left, cols);
    }
}

/* y = scale x + shift along rows of cols. */
void EG_KERNEL(row_affine)(float *y, const float *x, const float *scale, const float *shift,
                           int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, y += cols, x += cols) {
        int64_t j = 0;
        for (; j + EG_V <= cols; j += EG_V)
            simd_store(y + j, simd_load(x + j) * simd_load(scale + j) + simd_load(shift + j));
        for (; j < cols; j++)
            y[j] = x[j] * scale[j] + shift[j];
    }
}
