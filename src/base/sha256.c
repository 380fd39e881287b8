/* sha256.c - SHA-256, written after FIPS 180-4.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/checksum.h"

#include <stdio.h>
#include <string.h>

static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t sha256_turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t h[8], const uint8_t *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3) +
               (sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t t = v[7] + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) +
                     ((e & v[5]) ^ (~e & v[6])) + sha256_k[i] + w[i];
        uint32_t u = (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) +
                     ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void eg_sha256_init(eg_sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof start);
    s->n = 0;
}

void eg_sha256_add(eg_sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    while (n > 0) {
        size_t used = s->n % 64, take = 64 - used < n ? 64 - used : n;
        if (take == 64) {
            sha256_block(s->h, p);
        } else {
            memcpy(s->block + used, p, take);
            if (used + take == 64)
                sha256_block(s->h, s->block);
        }
        s->n += take;
        p += take;
        n -= take;
    }
}

void eg_sha256_end(eg_sha256 *s, uint8_t out[32])
{
    uint64_t bits = s->n * 8;
    uint8_t tail[72] = {0x80};
    size_t pad = 64 - (s->n + 8) % 64;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    eg_sha256_add(s, tail, pad + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void eg_sha256_of(const void *bytes, size_t n, uint8_t out[32])
{
    eg_sha256 s;
    eg_sha256_init(&s);
    eg_sha256_add(&s, bytes, n);
    eg_sha256_end(&s, out);
}

void eg_sha256_text(const uint8_t digest[32], char out[65])
{
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
