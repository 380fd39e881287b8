/* rng.c - Philox4x32-10 and the distributions drawn from it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/rng.h>

#include "base/real.h"

#include <math.h>
#include <string.h>

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < 10; i++) {
        uint64_t p = (uint64_t)0xD2511F53u * x0, q = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(q >> 32) ^ x1 ^ k0;
        x2 = (uint32_t)(p >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)q;
        x3 = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

eg_rng eg_rng_at(uint64_t seed, uint32_t client, uint32_t round, eg_purpose purpose)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {client, round, (uint32_t)purpose, 0};
    uint32_t words[4];
    philox(counter, key, words);
    return (eg_rng){.key = {words[0], words[1]}};
}

void eg_rng_block(const uint32_t key[2], uint64_t n, uint32_t out[4])
{
    eg_rng_block_at(key, n, 0, out);
}

void eg_rng_block_at(const uint32_t key[2], uint64_t n, uint64_t m, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), (uint32_t)m,
                                 (uint32_t)(m >> 32)};
    philox(counter, key, out);
}

uint32_t eg_rng_u32(eg_rng *r)
{
    if (r->left == 0) {
        eg_rng_block(r->key, r->block++, r->words);
        r->left = 4;
    }
    return r->words[4 - r->left--];
}

uint64_t eg_rng_u64(eg_rng *r)
{
    uint64_t low = eg_rng_u32(r);
    return low | (uint64_t)eg_rng_u32(r) << 32;
}

uint64_t eg_rng_below(eg_rng *r, uint64_t n)
{
    uint64_t reject = (0 - n) % n; /* 2^64 mod n */
    uint64_t x;
    do
        x = eg_rng_u64(r);
    while (x < reject);
    return x % n;
}

double eg_rng_unit(eg_rng *r)
{
    return (double)(eg_rng_u64(r) >> 11) * 0x1p-53;
}

double eg_rng_uniform(eg_rng *r, double low, double high)
{
    return low + (high - low) * eg_rng_unit(r);
}

double eg_rng_normal(eg_rng *r)
{
    double u = eg_rng_unit(r), v = eg_rng_unit(r);
    return sqrt(-2 * eg_real_log(1 - u)) * eg_real_cos(6.283185307179586 * v);
}

double eg_rng_gamma(eg_rng *r, double shape)
{
    if (shape < 1) { /* Gamma(a) = Gamma(a + 1) * U^(1/a) */
        double g = eg_rng_gamma(r, shape + 1);
        return g * eg_real_pow(1 - eg_rng_unit(r), 1 / shape);
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = eg_rng_normal(r), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (eg_real_log(1 - eg_rng_unit(r)) < 0.5 * x * x + d - d * v + d * eg_real_log(v))
            return d * v;
    }
}

void eg_rng_dirichlet(eg_rng *r, double a, size_t n, double *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += out[i] = eg_rng_gamma(r, a);
    if (sum <= 0) {
        memset(out, 0, n * sizeof *out);
        out[eg_rng_below(r, n)] = 1;
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

void eg_rng_shuffle(eg_rng *r, size_t n, int64_t *items)
{
    for (size_t i = n; i-- > 1;) {
        size_t j = (size_t)eg_rng_below(r, i + 1);
        int64_t t = items[i];
        items[i] = items[j];
        items[j] = t;
    }
}
