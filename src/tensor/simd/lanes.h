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

/* The sums of EG_V vectors, one a lane: pairs of vectors are halved together, so that a sum
 * costs three operations and not EG_V. */
static inline __attribute__((always_inline)) eg_vec simd_sums(const eg_vec *v)
{
    enum { QUADS = EG_V / 4 };
#if EG_V == 16
    const eg_ivec low = {0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29};
    const eg_ivec even = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
#else
    const eg_ivec low = {0, 8, 1, 9, 4, 12, 5, 13};
    const eg_ivec even = {0, 1, 8, 9, 4, 5, 12, 13};
#endif
    eg_vec quad[QUADS]; /* each 4 lanes hold a part of four sums */
    for (int i = 0; i < QUADS; i++) {
        const eg_vec *f = v + (int64_t)4 * i;
        eg_vec a = __builtin_shuffle(f[0], f[1], low) + __builtin_shuffle(f[0], f[1], low + 2);
        eg_vec b = __builtin_shuffle(f[2], f[3], low) + __builtin_shuffle(f[2], f[3], low + 2);
        quad[i] = __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, even + 2);
    }
#if EG_V == 16
    const eg_ivec front = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
    const eg_ivec first = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27};
    eg_vec a = __builtin_shuffle(quad[0], quad[1], front) +
               __builtin_shuffle(quad[0], quad[1], front + 8);
    eg_vec b = __builtin_shuffle(quad[2], quad[3], front) +
               __builtin_shuffle(quad[2], quad[3], front + 8);
#else
    const eg_ivec first = {0, 1, 2, 3, 8, 9, 10, 11};
    eg_vec a = quad[0], b = quad[1];
#endif
    return __builtin_shuffle(a, b, first) + __builtin_shuffle(a, b, first + 4);
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
