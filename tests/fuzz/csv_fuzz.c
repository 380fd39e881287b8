/* csv_fuzz.c - the reader of comma-separated files on any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/csv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + 1);
    EG_ASSERT(bytes != NULL);
    if (size)
        memcpy(bytes, data, size);
    bytes[size] = 0;
    eg_csv c;
    bool more = true;
    int64_t line = 0;
    eg_status s = eg_csv_begin("fuzz", bytes, size, 0, &c);
    while (s == EG_OK && (s = eg_csv_next(&c, &more)) == EG_OK && more) {
        EG_ASSERT(c.n > 0 && c.line > line);
        line = c.line;
        for (size_t i = 0; i < c.n; i++)
            EG_ASSERT(c.field[i] >= bytes && c.field[i] + strlen(c.field[i]) <= bytes + size);
    }
    eg_csv_end(&c);
    free(bytes);
    return 0;
}
