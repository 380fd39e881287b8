/* lanes.h - what kernels do with the lanes of a vector: load, select, add up; and exp.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reductions go in a fixed order, so that an instruction set gives the same bits every time.
 */
#ifndef EG_LANES_H
#define EG_LANES_H

#include "engine/simd/simd.h"

#include "base/real.h"

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

/* Two conditions kept in EG_V bytes: as two masks where those are registers, else as two bits
 * of a byte per lane. */
typedef uint8_t simd_bytes __attribute__((vector_size(EG_V), aligned(1), may_alias));

static inline __attribute__((always_inline)) void simd_keep(uint8_t *to, simd_bools a,
                                                            simd_bools b)
{
#if defined(__AVX512F__)
    memcpy(to, &a, sizeof a);
    memcpy(to + sizeof a, &b, sizeof b);
#else
    *(simd_bytes *)to = __builtin_convertvector((a & 2) | (b & 1), simd_bytes);
#endif
}

static inline __attribute__((always_inline)) void simd_kept(const uint8_t *from, simd_bools *a,
                                                            simd_bools *b)
{
#if defined(__AVX512F__)
    memcpy(a, from, sizeof *a);
    memcpy(b, from + sizeof *a, sizeof *b);
#else
    eg_ivec both = __builtin_convertvector(*(const simd_bytes *)from, eg_ivec);
    *a = (eg_ivec)((both & 2) != 0);
    *b = (eg_ivec)((both & 1) != 0);
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

/* Which lanes of two vectors to take: their halves of each four lanes side by side, their
 * pairs, their fours, and for squares of 1 to 8 lanes that change places. */
// clang-format off
#if EG_V == 16
#define SIMD_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define SIMD_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define SIMD_EVEN 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define SIMD_ODD 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define SIMD_FRONT 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define SIMD_BACK 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define SIMD_FIRST 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define SIMD_SECOND 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define SIMD_SWAP_1_A 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define SIMD_SWAP_1_B 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define SIMD_SWAP_2_A 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define SIMD_SWAP_2_B 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define SIMD_SWAP_4_A 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define SIMD_SWAP_4_B 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define SIMD_SWAP_8_A 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define SIMD_SWAP_8_B 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#else
#define SIMD_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define SIMD_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#define SIMD_EVEN 0, 1, 8, 9, 4, 5, 12, 13
#define SIMD_ODD 2, 3, 10, 11, 6, 7, 14, 15
#define SIMD_FIRST 0, 1, 2, 3, 8, 9, 10, 11
#define SIMD_SECOND 4, 5, 6, 7, 12, 13, 14, 15
#define SIMD_SWAP_1_A 0, 8, 2, 10, 4, 12, 6, 14
#define SIMD_SWAP_1_B 1, 9, 3, 11, 5, 13, 7, 15
#define SIMD_SWAP_2_A 0, 1, 8, 9, 4, 5, 12, 13
#define SIMD_SWAP_2_B 2, 3, 10, 11, 6, 7, 14, 15
#define SIMD_SWAP_4_A 0, 1, 2, 3, 8, 9, 10, 11
#define SIMD_SWAP_4_B 4, 5, 6, 7, 12, 13, 14, 15
#endif
// clang-format on

/* Two vectors become one: each lane is the sum of two of a or of two of b. */
#define SIMD_FOLD(a, b, one, other)                                                            \
    (__builtin_shufflevector(a, b, one) + __builtin_shufflevector(a, b, other))

/* The sums of EG_V vectors, one per lane: pairs of vectors are halved together, so that a sum
 * costs three operations and not EG_V. */
static inline __attribute__((always_inline)) eg_vec simd_sums(const eg_vec *v)
{
    eg_vec quad[EG_V / 4]; /* each 4 lanes hold a part of four sums */
    for (int i = 0; i < EG_V / 4; i++) {
        const eg_vec *f = v + (int64_t)4 * i;
        eg_vec a = SIMD_FOLD(f[0], f[1], SIMD_LOW, SIMD_HIGH);
        eg_vec b = SIMD_FOLD(f[2], f[3], SIMD_LOW, SIMD_HIGH);
        quad[i] = SIMD_FOLD(a, b, SIMD_EVEN, SIMD_ODD);
    }
#if EG_V == 16
    eg_vec a = SIMD_FOLD(quad[0], quad[1], SIMD_FRONT, SIMD_BACK);
    eg_vec b = SIMD_FOLD(quad[2], quad[3], SIMD_FRONT, SIMD_BACK);
#else
    eg_vec a = quad[0], b = quad[1];
#endif
    return SIMD_FOLD(a, b, SIMD_FIRST, SIMD_SECOND);
}

/* Of each pair of vectors h apart: the upper right and the lower left of their squares of h x h
 * lanes change places. */
#define SIMD_SWAP(v, h, one, other)                                                            \
    for (int i = 0; i < EG_V; i++)                                                             \
        if (!(i & (h))) {                                                                      \
            eg_vec a = (v)[i], b = (v)[i + (h)];                                               \
            (v)[i] = __builtin_shufflevector(a, b, one);                                       \
            (v)[i + (h)] = __builtin_shufflevector(a, b, other);                               \
        }

/* A square of EG_V vectors turned about its diagonal. */
static inline __attribute__((always_inline)) void simd_transpose(eg_vec v[EG_V])
{
    SIMD_SWAP(v, 1, SIMD_SWAP_1_A, SIMD_SWAP_1_B)
    SIMD_SWAP(v, 2, SIMD_SWAP_2_A, SIMD_SWAP_2_B)
    SIMD_SWAP(v, 4, SIMD_SWAP_4_A, SIMD_SWAP_4_B)
#if EG_V == 16
    SIMD_SWAP(v, 8, SIMD_SWAP_8_A, SIMD_SWAP_8_B)
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

/* The C library's logarithm, unless it must be the same on every machine. */
static inline float simd_log(float x)
{
#ifdef EG_PORTABLE
    return (float)eg_real_log((double)x);
#else
    return logf(x);
#endif
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
