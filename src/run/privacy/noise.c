/* noise.c - normal noise of the system's generator.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stream of ChaCha20 under a fresh key makes pairs of uniform numbers of 53 bits, and these
 * make pairs of normal ones (Box and Muller). The smallest uniform number is 2^-54, so that no
 * value beyond 8.6 deviations comes: a chance of 10^-17.
 */
#include "run/privacy/noise.h"

#include <math.h>

enum { NOISE_PAIRS = 256 };
#define NOISE_TWO_PI 6.283185307179586476925

void eg_noise_key(eg_secret out)
{
    eg_random(out, EG_SECRET);
}

void eg_noise_key_of(const void *text, size_t n, eg_secret out)
{
    eg_digest("engram seeded noise", &(eg_piece_of){text, n}, 1, out);
}

/* Above 0 and below 1. */
static double noise_unit(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

void eg_noise_add(const eg_secret key, double deviation, double *x, size_t n)
{
    uint64_t bits[2 * NOISE_PAIRS];
    uint32_t block = 0;
    for (size_t at = 0; at < n; at += 2 * NOISE_PAIRS) {
        eg_stream(key, block, bits, sizeof bits);
        block += sizeof bits / EG_STREAM_BLOCK;
        for (size_t k = 0; k < NOISE_PAIRS && at + 2 * k < n; k++) {
            double length = deviation * sqrt(-2 * log(noise_unit(bits[2 * k])));
            double angle = NOISE_TWO_PI * noise_unit(bits[2 * k + 1]);
            x[at + 2 * k] += length * cos(angle);
            if (at + 2 * k + 1 < n)
                x[at + 2 * k + 1] += length * sin(angle);
        }
    }
    eg_wipe(bits, sizeof bits);
}
