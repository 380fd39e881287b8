/* status.c - error codes, the thread's error text, and allocation that reports through it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local char status_message[1024] = "no error";

const char *eg_status_text(eg_status s)
{
    static const char *const texts[] = {
#define STATUS_TEXT(name, text) text,
        EG_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    };
    return (size_t)s < sizeof texts / sizeof *texts ? texts[s] : "unknown status";
}

const char *eg_error(void)
{
    return status_message;
}

size_t eg_plain_character(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t n = *c < 0x80   ? 1
               : *c < 0xc2 ? 0
               : *c < 0xe0 ? 2
               : *c < 0xf0 ? 3
               : *c < 0xf5 ? 4
                           : 0;
    for (size_t i = 1; i < n; i++)
        if (c[i] >> 6 != 2)
            return 0;
    bool control = *c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0);
    bool beyond = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] >= 0xa0) ||
                  (*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] >= 0x90);
    return control || beyond ? 0 : n;
}

eg_status eg_fail(eg_status code, const char *format, ...)
{
    char fresh[sizeof status_message]; /* the old text may be among the arguments */
    size_t n = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    /* Words may come from a file that means no good, or be cut inside a character. */
    for (const char *c = fresh; *c;) {
        size_t whole = eg_plain_character(c);
        if (n + (whole ? whole : 4) >= sizeof status_message)
            break;
        if (whole) {
            memcpy(status_message + n, c, whole);
            n += whole, c += whole;
        } else {
            n += (size_t)snprintf(status_message + n, 5, "\\x%02x", (unsigned char)*c++);
        }
    }
    status_message[n] = 0;
    return code;
}

eg_status eg_blame(eg_status code, const char *format, ...)
{
    if (code == EG_OK)
        return EG_OK;
    char context[sizeof status_message / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    return eg_fail(code, "%s: %s", context, status_message);
}

double eg_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn void eg_bug(const char *file, int line, const char *condition)
{
    fprintf(stderr, "engram: bug at %s:%d: %s does not hold\n", file, line, condition);
    abort();
}

eg_status eg_alloc(size_t n, size_t size, void *out)
{
    void **slot = out;
    *slot = NULL;
    if (n == 0 || size == 0)
        return EG_OK;
    if (n > SIZE_MAX / 2 / size)
        return eg_fail(EG_ENOMEM, "%zu elements of %zu bytes are more than memory can hold", n,
                       size);
    size_t bytes = eg_round_up(n * size, EG_ALIGN);
    *slot = aligned_alloc(EG_ALIGN, bytes);
    if (!*slot)
        return eg_fail(EG_ENOMEM, "cannot allocate %zu bytes", bytes);
    memset(*slot, 0, bytes);
    return EG_OK;
}

eg_status eg_grow(void *items, size_t n, size_t *cap, size_t size)
{
    void **slot = items;
    if (n < *cap)
        return EG_OK;
    size_t want = *cap ? *cap * 2 : 16;
    void *more = want > SIZE_MAX / size ? NULL : realloc(*slot, want * size);
    if (!more)
        return eg_fail(EG_ENOMEM, "cannot allocate %zu elements of %zu bytes", want, size);
    *slot = more;
    *cap = want;
    return EG_OK;
}
