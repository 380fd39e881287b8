/* linear.c - y [m, n] = x [m, k] w [n, k]^T + bias: rows of both stand as they are multiplied.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A tile of ROWS x OUTS sums, each a vector of partial sums along k, stays in registers; no row
 * is packed or transposed first, which is what a general product spends half its time on here.
 * There are as many sums as lanes, so that all lanes are added up at once.
 */
#include "engine/simd/lanes.h"

#define LINEAR_INLINE static inline __attribute__((always_inline))

enum { ROWS = TUNE_LINEAR_ROWS, OUTS = TUNE_LINEAR_OUTS };

typedef struct linear_place {
    const float *x, *w, *bias;
    const float *next; /* a row of w that is called up meanwhile, to be read after these */
    float *y;
    int64_t n, k; /* floats from row to row of y, and of x and w */
    bool relu;
} linear_place;

/* rows and outs are constants where this is called. */
LINEAR_INLINE void linear_tile(const linear_place *p, int rows, int outs)
{
    eg_vec sum[ROWS][OUTS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < outs; j++)
            sum[i][j] = (eg_vec){0};
    int64_t l = 0;
    for (; l + EG_V <= p->k; l += EG_V) {
        eg_vec x[ROWS];
        __builtin_prefetch(p->next + l, 0, 2);
        for (int i = 0; i < rows; i++)
            x[i] = *(const eg_vec *)(p->x + i * p->k + l);
        for (int j = 0; j < outs; j++) {
            eg_vec w = *(const eg_vec *)(p->w + j * p->k + l);
            for (int i = 0; i < rows; i++)
                sum[i][j] += x[i] * w;
        }
    }
    eg_vec flat[EG_V] = {{0}};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < outs; j++)
            flat[i * outs + j] = sum[i][j];
    eg_vec totals = simd_sums(flat);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < outs; j++) {
            float total = totals[i * outs + j] + (p->bias ? p->bias[j] : 0);
            for (int64_t q = l; q < p->k; q++)
                total += p->x[i * p->k + q] * p->w[j * p->k + q];
            p->y[i * p->n + j] = p->relu && !(total > 0) ? 0 : total;
        }
}

static void linear_full(const linear_place *p)
{
    linear_tile(p, ROWS, OUTS);
}

static void linear_row(const linear_place *p)
{
    linear_tile(p, 1, OUTS);
}

static void linear_column(const linear_place *p)
{
    linear_tile(p, ROWS, 1);
}

static void linear_one(const linear_place *p)
{
    linear_tile(p, 1, 1);
}

void EG_KERNEL(linear)(float *y, const float *x, const float *w, const float *bias, bool relu,
                       const int64_t mnk[3])
{
    int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    for (int64_t j = 0; j < n;) {
        bool outs = j + OUTS <= n;
        for (int64_t i = 0; i < m;) {
            bool rows = i + ROWS <= m;
            int64_t next = j + OUTS + i / ROWS % OUTS; /* each tile of samples calls another */
            const linear_place p = {.x = x + i * k,
                                    .w = w + j * k,
                                    .next = w + (next < n ? next : j) * k,
                                    .bias = bias ? bias + j : NULL,
                                    .y = y + i * n + j,
                                    .n = n,
                                    .k = k,
                                    .relu = relu};
            (rows ? outs ? linear_full : linear_column : outs ? linear_row : linear_one)(&p);
            i += rows ? ROWS : 1;
        }
        j += outs ? OUTS : 1;
    }
}
