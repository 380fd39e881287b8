/* events.c - reads the events of a run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "log/events.h"

#include "io/file.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX_FILE ((size_t)1 << 32)

struct eg_events {
    eg_json **items;
    size_t n, cap;
};

static eg_status events_add(eg_events *e, const char *line, size_t n)
{
    const eg_json *kind;
    EG_TRY(eg_grow(&e->items, e->n, &e->cap, sizeof *e->items));
    EG_TRY(eg_json_parse(line, n, &e->items[e->n]));
    return eg_json_need(e->items[e->n++], "event", EG_JSON_TEXT, &kind);
}

eg_status eg_events_parse(const char *text, size_t n, eg_events **out)
{
    *out = NULL;
    eg_events *e = calloc(1, sizeof *e);
    if (!e)
        return eg_fail(EG_ENOMEM, "no memory for events");
    eg_status status = EG_OK;
    const char *at = text, *stop;
    size_t line = 0;
    while (status == EG_OK && (stop = memchr(at, '\n', n - (size_t)(at - text)))) {
        line++;
        status = events_add(e, at, (size_t)(stop - at));
        if (status != EG_OK && status != EG_ENOMEM)
            status = eg_blame(EG_EFORMAT, "line %zu", line);
        at = stop + 1;
    }
    if (status == EG_OK)
        *out = e;
    else
        eg_events_free(e);
    return status;
}

eg_status eg_events_load(const char *path, eg_events **out)
{
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    EG_TRY(eg_file_read(path, EVENTS_MAX_FILE, &bytes, &n));
    eg_status status = eg_blame(eg_events_parse((const char *)bytes, n, out), "%s", path);
    free(bytes);
    return status;
}

void eg_events_free(eg_events *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++)
        eg_json_free(e->items[i]);
    free(e->items);
    free(e);
}

size_t eg_events_n(const eg_events *e)
{
    return e->n;
}

const eg_json *eg_events_at(const eg_events *e, size_t i)
{
    EG_ASSERT(i < e->n);
    return e->items[i];
}

const eg_json *eg_events_next(const eg_events *e, const char *kind, size_t *at)
{
    while (*at < e->n) {
        const eg_json *event = e->items[(*at)++];
        const char *is;
        if (eg_json_text(eg_json_get(event, "event"), &is) == EG_OK && strcmp(is, kind) == 0)
            return event;
    }
    return NULL;
}
