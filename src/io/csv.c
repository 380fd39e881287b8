/* csv.c - one pass over the bytes of a comma-separated file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/csv.h"

#include <stdlib.h>
#include <string.h>

static char csv_guess(const char *at, const char *end)
{
    static const char candidates[] = ",;\t";
    size_t counts[3] = {0}, best = 0;
    bool quoted = false;
    for (; at < end && (quoted || (*at != '\n' && *at != '\r')); at++) {
        quoted ^= *at == '"';
        for (size_t k = 0; k < 3 && !quoted; k++)
            counts[k] += *at == candidates[k];
    }
    for (size_t k = 1; k < 3; k++)
        best = counts[k] > counts[best] ? k : best;
    return candidates[best];
}

eg_status eg_csv_begin(const char *name, char *bytes, size_t n, char separator, eg_csv *out)
{
    *out = (eg_csv){.name = name, .at = bytes, .end = bytes + n, .next_line = 1};
    if (memchr(bytes, 0, n))
        return eg_fail(EG_EFORMAT, "%s: is no text: it has a zero byte", name);
    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        out->at += 3;
    out->separator = separator ? separator : csv_guess(out->at, out->end);
    return EG_OK;
}

void eg_csv_end(eg_csv *c)
{
    free(c->field);
    *c = (eg_csv){0};
}

/* The end of a quoted field, behind its closing quote, the doubled quotes in it made single. */
static eg_status csv_quoted(eg_csv *c, char **start)
{
    char *from = c->at + 1, *to = from;
    *start = from;
    for (;; from++) {
        if (from == c->end)
            return eg_fail(EG_EFORMAT, "%s:%lld: a quote is opened and not closed", c->name,
                           (long long)c->line);
        if (*from == '"') {
            if (from[1] != '"')
                break;
            from++;
        }
        c->next_line += *from == '\n';
        *to++ = *from;
    }
    c->at = from + 1;
    bool over = c->at == c->end || *c->at == c->separator || *c->at == '\n' || *c->at == '\r';
    *to = 0;
    return over ? EG_OK
                : eg_fail(EG_EFORMAT, "%s:%lld: text behind a closing quote", c->name,
                          (long long)c->next_line);
}

/* Takes one field; *last: the row ends behind it. */
static eg_status csv_field(eg_csv *c, bool *last)
{
    char *start = c->at;
    EG_TRY(eg_grow(&c->field, c->n, &c->cap, sizeof *c->field));
    if (*c->at == '"')
        EG_TRY(csv_quoted(c, &start));
    else
        while (c->at < c->end && *c->at != c->separator && *c->at != '\n' && *c->at != '\r')
            c->at++;
    c->field[c->n++] = start;
    char met = *c->at; /* a zero at the end of all */
    *c->at = 0;
    *last = met != c->separator || c->at == c->end;
    if (c->at < c->end)
        c->at++;
    if (met == '\r' && c->at < c->end && *c->at == '\n')
        c->at++;
    c->next_line += met == '\n' || met == '\r';
    return EG_OK;
}

eg_status eg_csv_next(eg_csv *c, bool *more)
{
    bool last = false;
    for (; c->at < c->end && (*c->at == '\n' || *c->at == '\r'); c->at++)
        c->next_line += *c->at == '\n' || c->at[1] != '\n';
    *more = c->at < c->end;
    c->n = 0;
    c->line = c->next_line;
    while (*more && !last)
        EG_TRY(csv_field(c, &last));
    return EG_OK;
}
