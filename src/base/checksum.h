/* checksum.h - a checksum of what is kept in files and of data, and the digest that names it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CHECKSUM_H
#define EG_CHECKSUM_H

#include "base/base.h"

/* A checksum of n bytes: fast, 64 bits, no secret. The seed is any number, or the sum of what
 * stood before, so that pieces can be chained. A change within one word of eight bytes always
 * shows. */
uint64_t eg_checksum(uint64_t seed, const void *bytes, size_t n);

/* SHA-256 (FIPS 180-4). */
typedef struct eg_sha256 {
    uint32_t h[8];
    uint64_t n; /* bytes taken so far */
    uint8_t block[64];
} eg_sha256;

void eg_sha256_init(eg_sha256 *s);
void eg_sha256_add(eg_sha256 *s, const void *bytes, size_t n);
void eg_sha256_end(eg_sha256 *s, uint8_t out[32]);

/* The digest of one piece, and a digest as 64 hexadecimal digits. */
void eg_sha256_of(const void *bytes, size_t n, uint8_t out[32]);
void eg_sha256_text(const uint8_t digest[32], char out[65]);

#endif
