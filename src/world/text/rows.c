/* rows.c - rows of TSV, CSV (RFC 4180) and JSON lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/text/rows.h"

#include "io/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is left of the bytes, and at which line it stands. */
typedef struct rows_reader {
    const char *at, *end;
    long long line;
    eg_text_visitor visit;
    void *context;
    char *joined; /* of CSV: a row's fields without their quotes, as much as all bytes */
} rows_reader;

eg_text_form eg_text_form_of(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && strcasecmp(name + n - 3, ".gz") == 0)
        n -= 3;
    if (n > 4 && strncasecmp(name + n - 4, ".csv", 4) == 0)
        return EG_TEXT_CSV;
    if ((n > 6 && strncasecmp(name + n - 6, ".jsonl", 6) == 0) ||
        (n > 5 && strncasecmp(name + n - 5, ".json", 5) == 0))
        return EG_TEXT_JSON;
    return EG_TEXT_TSV;
}

/* The next line, without its end. False: there is none. */
static bool rows_line(rows_reader *r, const char **line, size_t *n)
{
    if (r->at == r->end)
        return false;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *line = r->at;
    *n = (size_t)((stop ? stop : r->end) - r->at);
    r->at = stop ? stop + 1 : r->end;
    r->line++;
    if (*n && (*line)[*n - 1] == '\r')
        --*n;
    return true;
}

static eg_status rows_tsv(rows_reader *r)
{
    const char *line;
    size_t n;
    while (rows_line(r, &line, &n)) {
        if (n == 0)
            continue;
        const char *tab = memchr(line, '\t', n);
        if (!tab || tab == line)
            return eg_fail(EG_EFORMAT, "line %lld is not 'label TAB text'", r->line);
        size_t label = (size_t)(tab - line);
        EG_TRY(r->visit(r->context, &(eg_text_row){line, tab + 1, label, n - label - 1}));
    }
    return EG_OK;
}

/* A field from r->at on, added at `to`, which moves on; *more: a comma follows. */
static eg_status rows_field(rows_reader *r, char **to, bool *more)
{
    bool quoted = r->at < r->end && *r->at == '"';
    r->at += quoted;
    for (;; r->at++) {
        if (r->at == r->end && quoted)
            return eg_fail(EG_EFORMAT, "line %lld has a quote that is never closed", r->line);
        if (quoted && *r->at == '"') {
            if (r->at + 1 < r->end && r->at[1] == '"')
                r->at++;
            else {
                quoted = false;
                continue;
            }
        } else if (r->at == r->end || (!quoted && (*r->at == ',' || *r->at == '\n')))
            break;
        r->line += *r->at == '\n';
        *(*to)++ = *r->at;
    }
    *more = r->at < r->end && *r->at == ',';
    r->at += r->at < r->end;
    return EG_OK;
}

static bool rows_is_heading(const eg_text_row *row)
{
    static const char *const words[] = {"label", "class", "category"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == row->label_bytes &&
            strncasecmp(words[i], row->label, row->label_bytes) == 0)
            return true;
    return false;
}

static eg_status rows_csv(rows_reader *r)
{
    EG_TRY(eg_alloc((size_t)(r->end - r->at) + 2, 1, &r->joined));
    for (bool first = true; r->at < r->end; first = false) {
        char *to = r->joined, *text;
        bool more;
        r->line++;
        EG_TRY(rows_field(r, &to, &more));
        size_t label = (size_t)(to - r->joined);
        if (!more && (label == 0 || (label == 1 && *r->joined == '\r')))
            continue;
        if (!more || label == 0)
            return eg_fail(EG_EFORMAT, "line %lld has no label and text", r->line);
        for (text = to; more;) {
            if (to != text)
                *to++ = ' ';
            EG_TRY(rows_field(r, &to, &more));
        }
        to -= to > text && to[-1] == '\r';
        const eg_text_row row = {r->joined, text, label, (size_t)(to - text)};
        if (!first || !rows_is_heading(&row))
            EG_TRY(r->visit(r->context, &row));
    }
    return EG_OK;
}

static eg_status rows_object(rows_reader *r, const eg_json *v)
{
    char number[32];
    const eg_json *label, *text;
    eg_text_row row = {0};
    int64_t whole;
    EG_TRY(eg_json_need(v, "text", EG_JSON_TEXT, &text));
    EG_TRY(eg_json_text(text, &row.text));
    label = eg_json_get(v, "label");
    if (label && eg_json_int(label, &whole) == EG_OK) {
        snprintf(number, sizeof number, "%lld", (long long)whole);
        row.label = number;
    } else if (!label || eg_json_text(label, &row.label) != EG_OK || !*row.label)
        return eg_fail(EG_EFORMAT, "it has no 'label' that is a text or a whole number");
    row.label_bytes = strlen(row.label);
    row.text_bytes = strlen(row.text);
    return r->visit(r->context, &row);
}

static eg_status rows_json(rows_reader *r)
{
    const char *line;
    size_t n;
    while (rows_line(r, &line, &n)) {
        eg_json *v;
        if (n == 0)
            continue;
        eg_status s = eg_json_parse(line, n, &v);
        if (s == EG_OK) {
            s = rows_object(r, v);
            eg_json_free(v);
        }
        EG_TRY(eg_blame(s, "line %lld", r->line));
    }
    return EG_OK;
}

eg_status eg_text_rows(const char *bytes, size_t n, eg_text_form form, eg_text_visitor visit,
                       void *context)
{
    rows_reader r = {.at = bytes, .end = bytes + n, .visit = visit, .context = context};
    eg_status s = form == EG_TEXT_TSV   ? rows_tsv(&r)
                  : form == EG_TEXT_CSV ? rows_csv(&r)
                                        : rows_json(&r);
    free(r.joined);
    return s;
}
