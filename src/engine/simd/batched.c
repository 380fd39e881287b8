/* batched.c - into the layout with the batch innermost, [c, h, w, lanes], and out of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/lanes.h"

/* A square of EG_V rows of x, `from` floats apart, turned into rows of y, `to` apart. */
static void batched_turn(float *y, int64_t to, const float *x, int64_t from)
{
    eg_vec v[EG_V];
    for (int i = 0; i < EG_V; i++)
        v[i] = simd_load(x + i * from);
    simd_transpose(v);
    for (int i = 0; i < EG_V; i++)
        simd_store(y + i * to, v[i]);
}

/* y [size, lanes] = x [n, size] transposed, in squares; what is left over one by one. */
void EG_KERNEL(to_batched)(float *y, const float *x, int64_t n, int64_t size, int64_t lanes)
{
    for (int64_t k = 0; k < size; k += EG_V) {
        int64_t to = k + EG_V < size ? k + EG_V : size;
        for (int64_t i = 0; i < lanes; i += EG_V)
            if (i + EG_V <= n && k + EG_V <= size)
                batched_turn(y + k * lanes + i, lanes, x + i * size + k, size);
            else
                for (int64_t q = k; q < to; q++)
                    for (int64_t l = i; l < i + EG_V; l++)
                        y[q * lanes + l] = l < n ? x[l * size + q] : 0;
    }
}

void EG_KERNEL(from_batched)(float *y, const float *x, int64_t n, int64_t size, int64_t lanes)
{
    for (int64_t k = 0; k < size; k += EG_V) {
        int64_t to = k + EG_V < size ? k + EG_V : size;
        for (int64_t i = 0; i < n; i += EG_V)
            if (i + EG_V <= n && k + EG_V <= size)
                batched_turn(y + i * size + k, size, x + k * lanes + i, lanes);
            else
                for (int64_t l = i; l < n && l < i + EG_V; l++)
                    for (int64_t q = k; q < to; q++)
                        y[l * size + q] = x[q * lanes + l];
    }
}

/* y[c, place, i] = x[c, place, i] s[i, c]; filled-up lanes become zero. */
void EG_KERNEL(scale_maps_batched)(float *y, const float *x, const float *s, int64_t n,
                                   int64_t c, int64_t area, int64_t lanes)
{
    for (int64_t k = 0; k < c; k++)
        for (int64_t v = 0; v < lanes; v += EG_V) {
            eg_vec scale = {0};
            for (int64_t l = 0; l < EG_V && v + l < n; l++)
                scale[l] = s[(v + l) * c + k];
            for (int64_t i = 0; i < area; i++) {
                int64_t at = (k * area + i) * lanes + v;
                *(eg_vec *)(y + at) = *(const eg_vec *)(x + at) * scale;
            }
        }
}
