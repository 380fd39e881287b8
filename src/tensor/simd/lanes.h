/* lanes.h - what kernels do with the lanes of a vector: load, select, add up; and exp.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reductions go in a fixed order, so that an instruction set gives the same bits every time.
 */
#ifndef EG_LANES_H
#define EG_LANES_H

#include "tensor/simd/simd.h"

static inline eg_vec simd_load(const float *x)
{
    return *(const eg_vec *)x;
}

static inline void simd_store(float *y, eg_vec v)
{
    *(eg_vec *)y = v;
}

/* a where the mask is all ones, b where it is zero. */
static inline eg_vec simd_select(eg_ivec mask, eg_vec a, eg_vec b)
{
    return (eg_vec)((mask & (eg_ivec)a) | (~mask & (eg_ivec)b));
}

/* The lanes added as a tree of fixed shape. */
static inline float simd_sum(eg_vec v)
{
    float lane[EG_V];
    simd_store(lane, v);
    for (int half = EG_V / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static inline float simd_float(int32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int32_t simd_bits(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* e^x without a branch, to 2e-7: x = n ln 2 + r, a polynomial in r, times 2^n in two halves so
 * that results near both ends of the range are right. NaN stays NaN. */
static inline float simd_exp(float x)
{
    const float magic = 0x1.8p23f; /* adding it rounds to a whole number in the low bits */
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c;
    float t = c * 1.44269504088896341f + magic;
    int32_t n = simd_bits(t) - simd_bits(magic);
    float whole = t - magic;
    float r = c - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    int32_t low = n >> 1, high = n - low;
    /* Unsigned, since the bits of a NaN are any number. */
    float a = simd_float((int32_t)(((uint32_t)low + 127u) << 23));
    float b = simd_float((int32_t)(((uint32_t)high + 127u) << 23));
    return p * a * b;
}

#endif
