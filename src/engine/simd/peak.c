/* peak.c - multiply-adds that depend on nothing but themselves: the most a core can do.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/simd.h"

void EG_KERNEL(peak)(float *out, int64_t rounds)
{
    enum { CHAINS = 8 };
    eg_vec a[CHAINS], scale, shift;
    for (int l = 0; l < EG_V; l++) {
        scale[l] = 0.999f, shift[l] = 0.001f;
        for (int c = 0; c < CHAINS; c++)
            a[c][l] = (float)(c + l);
    }
    for (int64_t i = 0; i < rounds; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < 32 / CHAINS; j++)
#pragma GCC unroll 8
            for (int c = 0; c < CHAINS; c++)
                a[c] = a[c] * scale + shift;
    }
    for (int l = 0; l < EG_V; l++) {
        out[l] = 0;
        for (int c = 0; c < CHAINS; c++)
            out[l] += a[c][l];
    }
}
