/* rows.c - kernels over the rows and columns of a matrix [rows, cols].
 * SPDX-License-Identifier: Apache-2.0
 *
 * Long sums go by pieces of ROWS_PIECE floats, each added in vectors, the pieces in double: the
 * order depends on the length alone.
 */
#include "engine/simd/lanes.h"

enum { ROWS_PIECE = 4096 };

static float rows_piece_sum(const float *x, int64_t n)
{
    int64_t i = 0;
    float tail = 0, sum = 0;
    if (n >= EG_V) {
        eg_vec a = {0}, b = {0}, c = {0}, d = {0};
        for (; i + 4 * EG_V <= n; i += 4 * EG_V) {
            a += simd_load(x + i);
            b += simd_load(x + i + EG_V);
            c += simd_load(x + i + 2 * EG_V);
            d += simd_load(x + i + 3 * EG_V);
        }
        for (; i + EG_V <= n; i += EG_V)
            a += simd_load(x + i);
        sum = simd_sum((a + b) + (c + d));
    }
    for (; i < n; i++)
        tail += x[i];
    return sum + tail;
}

static double rows_sum(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += ROWS_PIECE)
        sum += (double)rows_piece_sum(x + i, n - i < ROWS_PIECE ? n - i : ROWS_PIECE);
    return sum;
}

/* Sum of (x - mean)^2. */
static float rows_piece_squares(const float *x, float mean, int64_t n)
{
    int64_t i = 0;
    float tail = 0;
    eg_vec a = {0}, b = {0};
    for (; i + 2 * EG_V <= n; i += 2 * EG_V) {
        eg_vec u = simd_load(x + i) - mean, v = simd_load(x + i + EG_V) - mean;
        a += u * u;
        b += v * v;
    }
    for (; i < n; i++)
        tail += (x[i] - mean) * (x[i] - mean);
    return simd_sum(a + b) + tail;
}

static double rows_squares(const float *x, float mean, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += ROWS_PIECE)
        sum += (double)rows_piece_squares(x + i, mean, n - i < ROWS_PIECE ? n - i : ROWS_PIECE);
    return sum;
}

/* The larger one; NaN wins, so that it is seen. */
static inline float rows_larger(float a, float b)
{
    return b > a || b != b ? b : a;
}

static float rows_max(const float *x, int64_t n)
{
    float max = x[0];
    int64_t i = 1;
    if (n >= 2 * EG_V) {
        float lane[EG_V];
        eg_vec m = simd_load(x);
        for (i = EG_V; i + EG_V <= n; i += EG_V) {
            eg_vec v = simd_load(x + i);
            m = simd_select((v > m) | (v != v), v, m);
        }
        simd_store(lane, m);
        max = lane[0];
        for (int j = 1; j < EG_V; j++)
            max = rows_larger(max, lane[j]);
    }
    for (; i < n; i++)
        max = rows_larger(max, x[i]);
    return max;
}

void EG_KERNEL(row_sum)(float *y, const float *x, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        y[i] = (float)rows_sum(x + i * cols, cols);
}

void EG_KERNEL(row_max)(float *y, const float *x, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        y[i] = rows_max(x + i * cols, cols);
}

void EG_KERNEL(column_sum)(float *y, const float *x, int64_t rows, int64_t cols)
{
    memset(y, 0, (size_t)cols * sizeof *y);
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *a = x + i * cols, *b = a + cols, *c = b + cols, *d = c + cols;
#pragma GCC ivdep
        for (int64_t j = 0; j < cols; j++)
            y[j] += (a[j] + b[j]) + (c[j] + d[j]);
    }
    for (; i < rows; i++) {
        const float *a = x + i * cols;
#pragma GCC ivdep
        for (int64_t j = 0; j < cols; j++)
            y[j] += a[j];
    }
}

void EG_KERNEL(column_max)(float *y, const float *x, int64_t rows, int64_t cols)
{
    memcpy(y, x, (size_t)cols * sizeof *y);
    for (int64_t i = 1; i < rows; i++) {
        const float *a = x + i * cols;
        int64_t j = 0;
        for (; j + EG_V <= cols; j += EG_V) {
            eg_vec v = simd_load(a + j), m = simd_load(y + j);
            simd_store(y + j, simd_select((v > m) | (v != v), v, m));
        }
        for (; j < cols; j++)
            y[j] = rows_larger(y[j], a[j]);
    }
}

/* y = exp(x - max); returns the sum. */
static float rows_exp(float *restrict y, const float *restrict x, float max, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = simd_exp(x[j] - max);
    return (float)rows_sum(y, n);
}

void EG_KERNEL(softmax)(float *y, const float *x, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float *out = y + i * cols;
        float scale = 1.0f / rows_exp(out, x + i * cols, rows_max(x + i * cols, cols), cols);
        for (int64_t j = 0; j < cols; j++)
            out[j] *= scale;
    }
}

void EG_KERNEL(log_softmax)(float *y, const float *x, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *a = x + i * cols;
        float *out = y + i * cols, max = rows_max(a, cols);
        float log_sum = simd_log(rows_exp(out, a, max, cols));
#pragma GCC ivdep
        for (int64_t j = 0; j < cols; j++)
            out[j] = (a[j] - max) - log_sum;
    }
}

static float rows_rstd(const float *x, float mean, float eps, int64_t n)
{
    return (float)(1.0 / sqrt(rows_squares(x, mean, n) / (double)n + (double)eps));
}

void EG_KERNEL(row_normalize)(float *y, const float *x, float eps, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *a = x + i * cols;
        float *out = y + i * cols;
        float mean = (float)(rows_sum(a, cols) / (double)cols);
        float rstd = rows_rstd(a, mean, eps, cols);
#pragma GCC ivdep
        for (int64_t j = 0; j < cols; j++)
            out[j] = (a[j] - mean) * rstd;
    }
}

void EG_KERNEL(row_rstd)(float *y, const float *x, float eps, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *a = x + i * cols;
        y[i] = rows_rstd(a, (float)(rows_sum(a, cols) / (double)cols), eps, cols);
    }
}
