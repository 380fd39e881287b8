/* seal.c - adds checksums to lines, and compares them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/seal.h"

#include "base/checksum.h"

#include <stdio.h>
#include <string.h>

/* The seal of a line whose first n bytes are before it. */
static uint64_t seal_print(uint64_t before, const char *line, size_t n,
                           char out[EG_SEAL_SIZE + 1])
{
    uint64_t sum = eg_checksum(before, line, n);
    snprintf(out, EG_SEAL_SIZE + 1, ",\"sum\":\"%016llx\"", (unsigned long long)sum);
    return sum;
}

size_t eg_seal_line(eg_seal *s, char *line, size_t n)
{
    char seal[EG_SEAL_SIZE + 1];
    EG_ASSERT(n > 1 && line[n - 1] == '}');
    s->lines++;
    if (s->bare)
        return n;
    s->sum = seal_print(s->sum, line, n - 1, seal);
    memcpy(line + n - 1, seal, EG_SEAL_SIZE);
    line[n - 1 + EG_SEAL_SIZE] = '}';
    return n + EG_SEAL_SIZE;
}

eg_status eg_seal_check(eg_seal *s, const char *line, size_t n)
{
    static const char key[] = ",\"sum\":\"";
    char seal[EG_SEAL_SIZE + 1];
    size_t body = n > EG_SEAL_SIZE ? n - 1 - EG_SEAL_SIZE : 0;
    bool sealed = body > 0 && memcmp(line + body, key, sizeof key - 1) == 0;
    if (s->lines++ == 0)
        s->bare = !sealed;
    if (sealed == s->bare)
        return eg_fail(EG_EFORMAT,
                       "the line %s checksum, unlike those before it: it is damaged",
                       sealed ? "has a" : "has no");
    if (!sealed)
        return EG_OK;
    s->sum = seal_print(s->sum, line, body, seal);
    return memcmp(line + body, seal, EG_SEAL_SIZE) == 0
               ? EG_OK
               : eg_fail(EG_EFORMAT, "the checksum is another: this line or the end of the one "
                                     "before it is damaged");
}
