/* checksum.c - what one pass over data tells: a checksum, and whether all of it is finite.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/checksum.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* A bijection of h, so that two inputs which differ in one word differ to the end. */
static uint64_t checksum_step(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

uint64_t eg_checksum(uint64_t seed, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = (seed ^ 0x9e3779b97f4a7c15u) + n;
    uint64_t word = 0;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = checksum_step(h, word);
    }
    word = 0;
    memcpy(&word, p, n);
    return n > 0 ? checksum_step(h, word) : h;
}

/* It does not stop at the first flaw, which is rare: so the loop is a vector's. */
bool eg_all_finite(const float *values, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}
