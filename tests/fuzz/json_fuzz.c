/* json_fuzz.c - whatever parses also prints, and the print reads back as the same value.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "io/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    for (int indent = 0; indent <= 1; indent++) {
        eg_json *v, *again;
        char *text, *second;
        size_t length, n_second;
        if (eg_json_parse(bytes, n, &v) != EG_OK)
            return 0;
        EG_ASSERT(eg_json_print(v, indent, &text, &length) == EG_OK);
        EG_ASSERT(eg_json_parse(text, length, &again) == EG_OK);
        EG_ASSERT(eg_json_kind_of(again) == eg_json_kind_of(v));
        EG_ASSERT(eg_json_count(again) == eg_json_count(v));
        EG_ASSERT(eg_json_print(again, indent, &second, &n_second) == EG_OK);
        EG_ASSERT(n_second == length && memcmp(text, second, length) == 0);
        EG_ASSERT(indent > 0 || !memchr(text, '\n', length));
        eg_json_free(v);
        eg_json_free(again);
        free(text);
        free(second);
    }
    return 0;
}
