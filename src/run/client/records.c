/* records.c - what a client keeps from turn to turn, its notes, its parts' random numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/worker.h"
#include "run/store/records_file.h"

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

eg_status eg_client_release(eg_client *c, const char *name)
{
    return eg_records_release(c->worker->records, name);
}

eg_status eg_client_recall_flat(eg_client *c, const char *name, const float **out)
{
    const eg_bundle *kept;
    *out = NULL;
    EG_TRY(eg_client_recall(c, name, &kept));
    return kept
               ? eg_blame(eg_bundle_need(kept, name, c->n_params, out), "the record '%s'", name)
               : EG_OK;
}

/* Keeps a record of one vector, or of a network. */
static eg_status records_keep(eg_client *c, const char *name, const float *values,
                              const eg_learner *model)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    eg_status s = values ? eg_bundle_add_flat(record, name, values, c->n_params)
                         : eg_learner_keep(model, name, record);
    EG_TRY(eg_bundle_filled(record, s));
    return eg_client_keep(c, name, record);
}

eg_status eg_client_keep_flat(eg_client *c, const char *name, const float *values)
{
    return records_keep(c, name, values, NULL);
}

eg_status eg_client_keep_model(eg_client *c, const char *name)
{
    return records_keep(c, name, NULL, c->worker->model);
}

eg_status eg_client_stage_model(eg_client *c, const char *name, eg_learner **out)
{
    const eg_bundle *kept;
    eg_learner *model;
    bool found = false;
    if (c->view.first)
        EG_TRY(eg_client_keep_model(c, name));
    EG_TRY(eg_client_recall(c, name, &kept));
    EG_TRY(eg_worker_learner(c->worker, name, eg_net_params(c->net), &model));
    if (kept && c->view.stage > 0)
        EG_TRY(eg_learner_recall(model, name, kept, &found));
    *out = found ? model : NULL;
    return EG_OK;
}

eg_status eg_client_note(eg_client *c, const char *name, double value)
{
    eg_reply *r = c->worker->reply;
    if (r->n_notes == EG_MAX_NOTES)
        return eg_fail(EG_EINVAL, "a turn has at most %d notes", EG_MAX_NOTES);
    /* Between processes a note is a scalar of a bundle, so its name must be one there: else a
     * run would fail by where its clients are. */
    if (!eg_records_name_fits(name))
        return eg_fail(EG_EINVAL, "this is no name for a note");
    eg_note note = {.value = value};
    if (snprintf(note.name, sizeof note.name, "%s", name) >= (int)sizeof note.name)
        return eg_fail(EG_EINVAL, "the note '%s' is too long", name);
    if (c->worker->agreed->hides)
        return EG_OK; /* the server learns sums alone: nothing of one client */
    EG_TRY(eg_grow(&r->notes, r->n_notes, &r->cap_notes, sizeof *r->notes));
    r->notes[r->n_notes++] = note;
    return EG_OK;
}

void eg_reply_fini(eg_reply *r)
{
    eg_bundle_free(r->up);
    free(r->notes);
    free(r->scores);
    free(r->answers);
    *r = (eg_reply){0};
}

/* A part's name as a number (FNV-1a), so that streams follow names and not places in a list. */
static uint64_t records_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

eg_rng eg_part_stream(const eg_part_draw *d)
{
    eg_rng rng = eg_rng_at(d->seed ^ records_hash(d->part), (uint32_t)d->client,
                           (uint32_t)d->when, d->by_stage ? EG_FOR_PART_STAGE : EG_FOR_PART);
    EG_ASSERT(d->draw < 16);
    rng.block = (uint64_t)d->draw << 60 | d->step << 32;
    return rng;
}

const char *eg_client_part(const eg_client *c)
{
    return eg_parts_name(c->worker->chain.parts, c->part);
}

static eg_part_draw records_draw(const eg_client *c, uint32_t draw)
{
    return (eg_part_draw){.part = eg_parts_stream(c->worker->chain.parts, c->part),
                          .seed = c->seed,
                          .client = c->id,
                          .when = c->round,
                          .step = c->step,
                          .draw = draw};
}

eg_rng eg_client_stream(const eg_client *c, uint32_t draw)
{
    eg_part_draw d = records_draw(c, draw);
    return eg_part_stream(&d);
}

eg_rng eg_client_stage_stream(const eg_client *c, int64_t stage, uint32_t draw)
{
    eg_part_draw d = records_draw(c, draw);
    d.when = stage, d.step = 0, d.by_stage = true;
    return eg_part_stream(&d);
}
