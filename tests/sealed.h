/* sealed.h - for tests: the lines of a log with their checksums, as a run writes them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SEALED_H
#define EG_SEALED_H

#include "run/log/events.h"

#include <stdlib.h>
#include <string.h>

/* Gives each whole line of a text of n bytes its checksum, whatever the line is; one of fewer
 * than two bytes, or without an end, stays as it is. free() the result, of *length bytes and a
 * zero. */
static inline char *sealed(const char *text, size_t n, size_t *length)
{
    size_t lines = 0;
    eg_seal seal = {0};
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    char *out = malloc(n + lines * EG_SEAL_SIZE + 1), *to = out;
    EG_ASSERT(out);
    for (const char *line = text, *end = text; line < text + n; line = end + 1) {
        if (!(end = memchr(line, '\n', (size_t)(text + n - line))))
            end = text + n;
        size_t m = (size_t)(end - line);
        memcpy(to, line, m);
        if (end < text + n && m > 1) {
            to[m - 1] = '}';
            size_t whole = eg_seal_line(&seal, to, m);
            to[whole - 1] = line[m - 1];
            m = whole;
        }
        to += m;
        if (end < text + n)
            *to++ = '\n';
    }
    *to = 0;
    *length = (size_t)(to - out);
    return out;
}

#endif
