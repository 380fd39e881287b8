/* records.c - what a client keeps from turn to turn, its notes, its parts' random numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_client_recall(eg_client *c, const char *name, const eg_bundle **out)
{
    return eg_records_get(c->worker->records, name, out);
}

eg_status eg_client_keep(eg_client *c, const char *name, eg_bundle *record)
{
    return eg_records_put(c->worker->records, name, record);
}

eg_status eg_client_note(eg_client *c, const char *name, double value)
{
    eg_reply *r = c->worker->reply;
    if (r->n_notes == EG_MAX_NOTES)
        return eg_fail(EG_EINVAL, "a turn has at most %d notes", EG_MAX_NOTES);
    EG_TRY(eg_grow(&r->notes, r->n_notes, &r->cap_notes, sizeof *r->notes));
    eg_note *note = &r->notes[r->n_notes++];
    note->value = value;
    int n = snprintf(note->name, sizeof note->name, "%s", name);
    return n < (int)sizeof note->name ? EG_OK
                                      : eg_fail(EG_EINVAL, "the note '%s' is too long", name);
}

void eg_reply_fini(eg_reply *r)
{
    eg_bundle_free(r->up);
    free(r->notes);
    *r = (eg_reply){0};
}

/* Where each part's draws begin. */
eg_rng eg_client_stream(const eg_client *c, uint32_t draw)
{
    static const struct {
        const char *part;
        uint32_t draw;
        uint64_t block, step;
    } blocks[] = {{"er", 0, 0, 32},
                  {"der", 0, 1ull << 60, 32},
                  {"derpp", 0, 2ull << 60, 32},
                  {"derpp", 1, 3ull << 60, 32},
                  {"a_gem", 0, 5ull << 60, 32},
                  {"fed_a_gem", 0, 4ull << 60, 32},
                  {"fed_a_gem", 1, 6ull << 60, 0}};
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    const char *part = eg_parts_name(c->worker->chain.parts, c->part);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcmp(blocks[i].part, part) == 0 && blocks[i].draw == draw)
            rng.block = blocks[i].block + (c->step << blocks[i].step);
    return rng;
}
