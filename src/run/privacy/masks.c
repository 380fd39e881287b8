/* masks.c - streams of whole numbers that are added to a vector and taken off again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/masks.h"

enum { MASK_WORDS = 4096 }; /* at a time: they stay in the first cache */

void eg_mask_add(const eg_secret key, bool minus, uint32_t *y, size_t n)
{
    uint32_t stream[MASK_WORDS], block = 0;
    for (size_t at = 0; at < n; at += MASK_WORDS) {
        size_t now = n - at < MASK_WORDS ? n - at : MASK_WORDS;
        eg_stream(key, block, stream, now * sizeof *stream);
        block += MASK_WORDS * sizeof *stream / EG_STREAM_BLOCK;
        for (size_t i = 0; i < now; i++)
            y[at + i] += minus ? 0 - stream[i] : stream[i];
    }
    eg_wipe(stream, sizeof stream);
}
