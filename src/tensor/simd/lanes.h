/* lanes.h - what kernels do with the lanes of a vector: load, select, add up; and exp.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reductions go in a fixed order, so that an instruction set gives the same bits every time.
 */
#ifndef EG_LANES_H
#define EG_LANES_H

#include "tensor/simd/simd.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

static inline eg_vec simd_load(const float *x)
{
    return *(const eg_vec *)x;
}

static inline void simd_store(float *y, eg_vec v)
{
    *(eg_vec *)y = v;
}

/* A load that happens once: GCC would rather read memory again than keep a register. */
static inline __attribute__((always_inline)) eg_vec simd_load_once(const float *x)
{
    eg_vec v = *(const eg_vec *)x;
#ifdef __AVX512F__
    __asm__("" : "+v"(v));
#endif
    return v;
}

/* a where the mask is all ones, b where it is zero. */
static inline eg_vec simd_select(eg_ivec mask, eg_vec a, eg_vec b)
{
    return (eg_vec)((mask & (eg_ivec)a) | (~mask & (eg_ivec)b));
}

/* A condition a lane. C has no choice between two vectors, and GCC makes two or three
 * operations of one written with masks; where that counts, these name the instruction. */
#if defined(__AVX512F__)
typedef __mmask16 simd_bools;
#else
typedef eg_ivec simd_bools;
#endif

static inline __attribute__((always_inline)) simd_bools simd_greater(eg_vec a, eg_vec b)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
#else
    return (eg_ivec)(a > b);
#endif
}

/* a where it holds, else b. */
static inline __attribute__((always_inline)) eg_vec simd_choose(simd_bools where, eg_vec a,
                                                                eg_vec b)
{
#if defined(__AVX512F__)
    return (eg_vec)_mm512_mask_blend_ps(where, (__m512)b, (__m512)a);
#elif defined(__AVX__)
    return (eg_vec)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)where);
#else
    return simd_select(where, a, b);
#endif
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

/* Of each pair of vectors h apart: the upper right and the lower left of their squares of h x h
 * lanes change places. */
static inline __attribute__((always_inline)) void simd_swap(eg_vec v[EG_V], int h,
                                                            eg_ivec first, eg_ivec second)
{
    for (int i = 0; i < EG_V; i++) {
        if (i & h)
            continue;
        eg_vec a = v[i], b = v[i + h];
        v[i] = __builtin_shuffle(a, b, first);
        v[i + h] = __builtin_shuffle(a, b, second);
    }
}

/* A square of EG_V vectors turned about its diagonal. */
static inline __attribute__((always_inline)) void simd_transpose(eg_vec v[EG_V])
{
#if EG_V == 16
    simd_swap(v, 1, (eg_ivec){0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30},
              (eg_ivec){1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31});
    simd_swap(v, 2, (eg_ivec){0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29},
              (eg_ivec){2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31});
    simd_swap(v, 4, (eg_ivec){0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27},
              (eg_ivec){4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31});
    simd_swap(v, 8, (eg_ivec){0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23},
              (eg_ivec){8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31});
#else
    simd_swap(v, 1, (eg_ivec){0, 8, 2, 10, 4, 12, 6, 14}, (eg_ivec){1, 9, 3, 11, 5, 13, 7, 15});
    simd_swap(v, 2, (eg_ivec){0, 1, 8, 9, 4, 5, 12, 13}, (eg_ivec){2, 3, 10, 11, 6, 7, 14, 15});
    simd_swap(v, 4, (eg_ivec){0, 1, 2, 3, 8, 9, 10, 11}, (eg_ivec){4, 5, 6, 7, 12, 13, 14, 15});
#endif
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
