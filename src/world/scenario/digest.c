/* digest.c - a scenario as plain text, line by line, and the SHA-256 of that text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text: a head; every task; every client's stages with all sample numbers; every client's
 * final test set of a real-time stream; every round's clients, each with its stage.
 */
#include "base/checksum.h"
#include "world/scenario/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct digest_out {
    eg_text_sink sink;
    void *to;
    char text[4096];
    size_t n;
} digest_out;

static void digest_flush(digest_out *o)
{
    o->sink(o->to, o->text, o->n);
    o->n = 0;
}

__attribute__((format(printf, 2, 3))) static void digest_put(digest_out *o, const char *format,
                                                             ...)
{
    if (o->n + 256 > sizeof o->text)
        digest_flush(o);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->text + o->n, 256, format, args);
    va_end(args);
    EG_ASSERT(n >= 0 && n < 256);
    o->n += (size_t)n;
}

/* Many numbers, so by hand: printf would take most of a digest's time. */
static void digest_ids(digest_out *o, const int64_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        char digits[24];
        size_t at = sizeof digits;
        int64_t x = ids[i];
        EG_ASSERT(x >= 0);
        do
            digits[--at] = (char)('0' + x % 10);
        while ((x /= 10) > 0);
        digits[--at] = ' ';
        if (o->n + sizeof digits > sizeof o->text)
            digest_flush(o);
        memcpy(o->text + o->n, digits + at, sizeof digits - at);
        o->n += sizeof digits - at;
    }
}

static void digest_tasks(digest_out *o, const eg_scenario *s)
{
    static const char *const warps[] = {"none", "rotate", "permute"};
    for (int64_t t = 0; t < s->n_tasks; t++) {
        const eg_task *task = &s->tasks[t];
        digest_put(o, "task %" PRId64 " source %d %s %.17g %08" PRIx32 "%08" PRIx32 " classes",
                   t, task->source, warps[task->warp], task->angle, task->key[0], task->key[1]);
        for (int64_t k = 0; k < task->n_classes; k++)
            digest_put(o, " %d", task->classes[k]);
        digest_put(o, "\n");
    }
}

static void digest_client(digest_out *o, const eg_scenario *s, int64_t c)
{
    for (int64_t i = 0; i < eg_scenario_n_stages(s, c); i++) {
        const eg_stage *g = eg_scenario_stage(s, c, i);
        digest_put(o, "client %" PRId64 " stage %" PRId64 " rounds %" PRId64 " %" PRId64, c, i,
                   g->begin, g->end);
        for (int64_t k = 0; k < g->n_spans; k++) {
            const eg_span *span = &s->spans[g->first_span + k];
            digest_put(o, " task %" PRId32 ":", span->task);
            digest_ids(o, span->ids, span->n);
        }
        digest_put(o, "\n");
    }
}

static void digest_rounds(digest_out *o, const eg_scenario *s, eg_cursor *cursor)
{
    for (int64_t r = 0; r < s->n_rounds; r++) {
        int64_t n;
        const int32_t *clients = eg_cursor_selected(cursor, &n);
        digest_put(o, "round %" PRId64, r);
        for (int64_t i = 0; i < n; i++) {
            eg_view view;
            bool there = eg_cursor_view(cursor, clients[i], &view);
            EG_ASSERT(there);
            digest_put(o, " %d:%" PRId64, clients[i], view.stage);
        }
        digest_put(o, "\n");
        eg_cursor_next(cursor, NULL);
    }
}

/* After the last round: what each client of a real-time stream is tested on. */
static eg_status digest_tests(digest_out *o, const eg_scenario *s, const eg_cursor *cursor)
{
    int64_t *ids;
    if (s->test_parts == 0)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)eg_scenario_max_test(s), sizeof *ids, &ids));
    for (int64_t c = 0; c < s->n_clients; c++) {
        digest_put(o, "test %" PRId64, c);
        digest_ids(o, ids, eg_cursor_test(cursor, c, ids));
        digest_put(o, "\n");
    }
    free(ids);
    return EG_OK;
}

eg_status eg_scenario_describe(const eg_scenario *s, eg_text_sink sink, void *to)
{
    eg_cursor *cursor;
    EG_TRY(eg_cursor_new(s, &cursor));
    digest_out *o = calloc(1, sizeof *o);
    if (!o) {
        eg_cursor_free(cursor);
        return eg_fail(EG_ENOMEM, "out of memory");
    }
    o->sink = sink;
    o->to = to;
    digest_put(o,
               "engram scenario 1\nkind %s\nclients %" PRId64 "\ntasks %" PRId64
               "\nrounds %" PRId64 "\noffers %u\npad %" PRId64 "\n",
               s->kind->component.name, s->n_clients, s->n_tasks, s->n_rounds, s->offers,
               s->common.pad);
    digest_tasks(o, s);
    for (int64_t c = 0; c < s->n_clients; c++)
        digest_client(o, s, c);
    digest_rounds(o, s, cursor);
    eg_status status = digest_tests(o, s, cursor);
    digest_flush(o);
    free(o);
    eg_cursor_free(cursor);
    return status;
}

static void digest_hash(void *to, const char *text, size_t n)
{
    eg_sha256_add(to, text, n);
}

eg_status eg_scenario_digest(const eg_scenario *s, char out[65])
{
    eg_sha256 hash;
    uint8_t digest[32];
    eg_sha256_init(&hash);
    EG_TRY(eg_scenario_describe(s, digest_hash, &hash));
    eg_sha256_end(&hash, digest);
    eg_sha256_text(digest, out);
    return EG_OK;
}
