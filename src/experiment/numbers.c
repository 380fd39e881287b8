/* numbers.c - reads and prints short lists of numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/numbers.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *numbers_skip(const char *at)
{
    return at + strspn(at, " ");
}

static eg_status numbers_refuse(const eg_numbers *what, const char *text)
{
    return eg_fail(EG_EINVAL, "%s: '%s' is neither a number nor a list of up to %lld",
                   what->name, text, (long long)what->max);
}

eg_status eg_numbers_read(const eg_numbers *what, const char *text, double *out, int64_t *n)
{
    const char *at = numbers_skip(text);
    bool bracket = *at == '[';
    at += bracket;
    for (*n = 0; *n < what->max;) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || !isfinite(v))
            return numbers_refuse(what, text);
        if (v < what->low || v > what->high)
            return eg_fail(EG_EINVAL, "%s: %g is outside [%g, %g]", what->name, v, what->low,
                           what->high);
        out[(*n)++] = v;
        at = numbers_skip(end);
        if (*at != ',')
            break;
        at++;
    }
    if (bracket && *at++ != ']')
        return numbers_refuse(what, text);
    return *numbers_skip(at) ? numbers_refuse(what, text) : EG_OK;
}

eg_status eg_numbers_tidy(const eg_numbers *what, const char *text, char out[EG_OPT_TEXT_SIZE])
{
    static const eg_opt real = {.name = "", .type = EG_OPT_IS_REAL};
    double values[64];
    int64_t n;
    size_t used = 0;
    EG_ASSERT(what->max <= 64);
    EG_TRY(eg_numbers_read(what, text, values, &n));
    for (int64_t i = 0; i < n; i++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(&real, &values[i], value);
        int more = snprintf(out + used, EG_OPT_TEXT_SIZE - used, "%s%s", i ? ", " : "", value);
        used += (size_t)more;
        if (used >= EG_OPT_TEXT_SIZE)
            return eg_fail(EG_EINVAL, "%s: the list is too long", what->name);
    }
    return EG_OK;
}
