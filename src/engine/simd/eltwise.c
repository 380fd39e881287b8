/* eltwise.c - element-wise kernels: arithmetic, rectifiers, exponentials, dropout masks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The result may be one of the inputs, element by element: ivdep tells the compiler that
 * nothing else overlaps. The functions are free of branches, so that every loop becomes vector
 * code.
 */
#include "engine/simd/lanes.h"

#include <engram/rng.h>

void EG_KERNEL(add)(float *y, const float *a, const float *b, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void EG_KERNEL(sub)(float *y, const float *a, const float *b, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] - b[i];
}

void EG_KERNEL(mul)(float *y, const float *a, const float *b, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void EG_KERNEL(div)(float *y, const float *a, const float *b, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] / b[i];
}

void EG_KERNEL(equal)(float *y, const float *a, const float *b, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] == b[i] ? 1.0f : 0.0f;
}

void EG_KERNEL(affine)(float *y, const float *x, float a, float b, size_t n)
{
    if (a == 0) { /* a fill: whatever stood there, infinities too, must not matter */
        for (size_t i = 0; i < n; i++)
            y[i] = b;
        return;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + b;
}

void EG_KERNEL(rectify)(float *y, const float *x, float slope, size_t n)
{
    if (slope == 0) { /* apart, since 0 times an infinity is not 0; NaN stays NaN */
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] < 0 ? 0 : x[i];
        return;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float low = slope * x[i];
        y[i] = x[i] > 0 ? x[i] : low;
    }
}

void EG_KERNEL(rectify_back)(float *dx, const float *y, const float *dy, float slope, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float low = slope * dy[i];
        dx[i] = y[i] > 0 ? dy[i] : low;
    }
}

void EG_KERNEL(exp)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = simd_exp(x[i]);
}

void EG_KERNEL(log)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = simd_log(x[i]);
}

void EG_KERNEL(sqrt)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = sqrtf(x[i]);
}

/* A polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel. */
static inline float eltwise_tanh(float x)
{
    float z = x * x, size = fabsf(x);
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float near = p * z * x + x;
    float far = 1.0f - 2.0f / (simd_exp(2.0f * size) + 1.0f);
    far = x < 0 ? -far : far;
    return size < 0.625f ? near : far;
}

void EG_KERNEL(tanh)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = eltwise_tanh(x[i]);
}

void EG_KERNEL(sigmoid)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = 1.0f / (1.0f + simd_exp(-x[i]));
}

/* max(x, 0) + log(1 + e), e = e^-|x| in (0, 1], where log(1 + e) = 2 atanh(e / (2 + e)). */
static inline float eltwise_softplus(float x)
{
    float e = simd_exp(-fabsf(x));
    float s = e / (2.0f + e), z = s * s;
    float p = 1.0f / 15;
    p = p * z + 1.0f / 13;
    p = p * z + 1.0f / 11;
    p = p * z + 1.0f / 9;
    p = p * z + 1.0f / 7;
    p = p * z + 1.0f / 5;
    p = p * z + 1.0f / 3;
    p = p * z + 1.0f;
    return (x > 0 ? x : 0.0f) + 2.0f * s * p;
}

void EG_KERNEL(softplus)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = eltwise_softplus(x[i]);
}

/* An odd polynomial below 1; above, Abramowitz and Stegun 7.1.26, good to 1.5e-7. */
static inline float eltwise_erf(float x)
{
    float z = x * x, size = fabsf(x);
    float p = 7.853861353153693e-5f;
    p = p * z - 8.010193625184903e-4f;
    p = p * z + 5.188327685732524e-3f;
    p = p * z - 2.685381193529856e-2f;
    p = p * z + 1.128358514861418e-1f;
    p = p * z - 3.761262582423300e-1f;
    p = p * z + 1.128379165726710f;
    float near = p * x;
    float t = 1.0f / (1.0f + 0.3275911f * size);
    float q = 1.061405429f;
    q = q * t - 1.453152027f;
    q = q * t + 1.421413741f;
    q = q * t - 0.284496736f;
    q = q * t + 0.254829592f;
    float far = 1.0f - q * t * simd_exp(-z);
    far = x < 0 ? -far : far;
    return size < 1.0f ? near : far;
}

void EG_KERNEL(erf)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = eltwise_erf(x[i]);
}

static const float eltwise_half = 0.70710678118654752f; /* sqrt(1/2) */

void EG_KERNEL(gelu)(float *y, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * (0.5f * eltwise_erf(eltwise_half * x[i]) + 0.5f);
}

/* dy Phi(x) + dy x phi(x), each product in the order of the chain rule. */
void EG_KERNEL(gelu_back)(float *dx, const float *x, const float *dy, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float u = eltwise_half * x[i], bell = 1.1283791670955126f * simd_exp(-(u * u));
        float below = 0.5f * eltwise_erf(u) + 0.5f;
        dx[i] = dy[i] * below + 0.5f * (dy[i] * x[i]) * bell * eltwise_half;
    }
}

/* Blocks of four words computed side by side: many enough that the compiler does not unroll the
 * loops over them into scalars. */
enum { MASK_BLOCKS = 64 };

/* Philox4x32-10 for MASK_BLOCKS counters {first + i, m}: the words of eg_rng_block_at. */
static void mask_words(const uint32_t *key, uint64_t first, uint64_t m,
                       uint32_t w[4][MASK_BLOCKS])
{
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < MASK_BLOCKS; i++) {
        w[0][i] = (uint32_t)(first + (uint64_t)i);
        w[1][i] = (uint32_t)((first + (uint64_t)i) >> 32);
        w[2][i] = (uint32_t)m;
        w[3][i] = (uint32_t)(m >> 32);
    }
    for (int round = 0; round < 10; round++) {
#pragma GCC ivdep
        for (int i = 0; i < MASK_BLOCKS; i++) {
            uint64_t a = (uint64_t)0xD2511F53u * w[0][i];
            uint64_t b = (uint64_t)0xCD9E8D57u * w[2][i];
            w[0][i] = (uint32_t)(b >> 32) ^ w[1][i] ^ k0;
            w[2][i] = (uint32_t)(a >> 32) ^ w[3][i] ^ k1;
            w[1][i] = (uint32_t)b;
            w[3][i] = (uint32_t)a;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void mask_fill(float *restrict y, uint32_t w[restrict 4][MASK_BLOCKS], uint32_t limit,
                      float keep)
{
    for (int i = 0; i < MASK_BLOCKS; i++)
        for (int j = 0; j < 4; j++)
            y[4 * i + j] = w[j][i] < limit ? 0.0f : keep;
}

void EG_KERNEL(dropout_mask)(float *y, const uint32_t *key, uint64_t m, float p, size_t n)
{
    const size_t piece = 4 * MASK_BLOCKS;
    const uint32_t limit = (uint32_t)((double)p * 0x1p32);
    uint32_t w[4][MASK_BLOCKS];
    float last[4 * MASK_BLOCKS];
    for (size_t i = 0; i < n; i += piece) {
        bool whole = n - i >= piece;
        mask_words(key, i / 4, m, w);
        mask_fill(whole ? y + i : last, w, limit, 1.0f / (1.0f - p));
        if (!whole)
            memcpy(y + i, last, (n - i) * sizeof *y);
    }
}
