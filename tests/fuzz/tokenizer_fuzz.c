/* tokenizer_fuzz.c - any vocabulary, up to a zero byte, and behind it any text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/text/vocab.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *stop = size ? memchr(data, 0, size) : NULL;
    size_t head = stop ? (size_t)(stop - data) : size;
    const char *text = stop ? (const char *)stop + 1 : "";
    size_t bytes = stop ? size - head - 1 : 0, n;
    int32_t ids[16];
    float values[16];
    char out[64];
    eg_tokenizer *t;
    if (eg_tokenizer_parse(data, head, "fuzz", &t) != EG_OK)
        return 0;
    if (eg_tokenizer_encode(t, text, bytes, 16, ids, &n) == EG_OK) {
        EG_ASSERT(n <= 16);
        for (size_t i = 0; i < n; i++) {
            EG_ASSERT(ids[i] >= 0 && ids[i] < eg_tokenizer_size(t));
            values[i] = (float)ids[i];
        }
        eg_tokenizer_decode(t, values, n, sizeof out, out);
        EG_ASSERT(strlen(out) < sizeof out);
    }
    eg_tokenizer_free(t);
    return 0;
}
