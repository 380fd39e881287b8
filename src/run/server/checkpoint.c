/* checkpoint.c - a run to disk and back: records of the server, receipts, the log's length.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include "run/log/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_federation_own(const eg_federation *f, int64_t client, eg_records **own,
                            eg_weights *out)
{
    EG_TRY(eg_ledger_records(f->ledger, client, own));
    EG_TRY(eg_blame(eg_records_model(*own, "own", eg_net_params(f->net), out), "client %lld",
                    (long long)client));
    if (!out->param)
        *out = (eg_weights){f->param, f->state};
    return EG_OK;
}

/* Events first, then the states, in one commit that knows how many events there were. */
static eg_status checkpoint_commit(eg_federation *f)
{
    int64_t position;
    EG_TRY(eg_run_folder_sync(f->folder, &position));
    eg_json *extra = eg_json_object();
    eg_status s = extra ? eg_json_set(extra, "position", eg_json_of_int(position)) : EG_ENOMEM;
    if (s == EG_OK)
        s = eg_ledger_commit(f->ledger, extra);
    eg_json_free(extra);
    return s;
}

static eg_status checkpoint_fill_model(const eg_federation *f, eg_bundle *to)
{
    return eg_server_add_model(&f->server, f->param, f->state, to);
}

static eg_status checkpoint_fill_run(const eg_federation *f, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, "round", (double)eg_cursor_round(f->cursor)));
    EG_TRY(eg_bundle_scalar(to, "bytes_up", f->bytes_up));
    EG_TRY(eg_bundle_scalar(to, "bytes_down", f->bytes_down));
    EG_TRY(eg_bundle_scalar(to, "accuracy", f->accuracy));
    EG_TRY(eg_bundle_scalar(to, "losses", (double)f->n_losses));
    EG_TRY(eg_federation_save_patience(f, to));
    return eg_federation_save_spent(f, to);
}

enum { CHECKPOINT_SLOTS = 4 };

static const char *const checkpoint_slots[CHECKPOINT_SLOTS] = {"slot0", "slot1", "slot2",
                                                               "slot3"};

/* The state of the server's optimiser. */
static eg_status checkpoint_fill_optimizer(const eg_federation *f, eg_bundle *to)
{
    for (int i = 0; f->optimizer && eg_server_optimizer_slot(f->optimizer, i); i++)
        EG_TRY(eg_bundle_add_flat(to, checkpoint_slots[i],
                                  eg_server_optimizer_slot(f->optimizer, i),
                                  f->server.n_params));
    return EG_OK;
}

static eg_status checkpoint_take_optimizer(eg_federation *f)
{
    const float *slots[CHECKPOINT_SLOTS] = {0};
    const eg_bundle *kept;
    EG_TRY(eg_records_get(f->records, "optimizer", &kept));
    for (int i = 0; f->optimizer && eg_server_optimizer_slot(f->optimizer, i); i++) {
        if (!kept)
            return eg_fail(EG_EFORMAT, "the checkpoint lacks the server's optimiser");
        EG_TRY(eg_bundle_need(kept, checkpoint_slots[i], f->server.n_params, &slots[i]));
    }
    if (f->optimizer)
        eg_server_optimizer_restore(f->optimizer, slots);
    return EG_OK;
}

static eg_status checkpoint_put(eg_federation *f, const char *name,
                                eg_status (*fill)(const eg_federation *f, eg_bundle *to))
{
    eg_bundle *b;
    EG_TRY(eg_bundle_new(&b));
    EG_TRY(eg_bundle_filled(b, fill(f, b)));
    return eg_records_put(f->records, name, b);
}

static eg_status checkpoint_put_vector(eg_federation *f, const eg_kept_vector *v)
{
    eg_bundle *b;
    EG_TRY(eg_bundle_new(&b));
    EG_TRY(eg_bundle_filled(b, eg_bundle_add_flat(b, v->name, v->values, f->server.n_params)));
    return eg_records_put(f->records, v->name, b);
}

eg_status eg_federation_checkpoint(eg_federation *f)
{
    eg_receipt receipt;
    EG_TRY(checkpoint_put(f, "model", checkpoint_fill_model));
    EG_TRY(checkpoint_put(f, "run", checkpoint_fill_run));
    if (f->optimizer)
        EG_TRY(checkpoint_put(f, "optimizer", checkpoint_fill_optimizer));
    for (size_t i = 0; i < f->n_vectors; i++)
        EG_TRY(checkpoint_put_vector(f, &f->vectors[i]));
    EG_TRY(eg_chain_save(&f->chain, &f->server));
    EG_TRY(eg_records_save(f->records, &receipt));
    EG_TRY(eg_ledger_enter(f->ledger, EG_SERVER, &receipt));
    EG_TRY(checkpoint_commit(f));
    eg_records_free(f->records); /* to be told what is committed now */
    f->records = NULL;
    return eg_ledger_records(f->ledger, EG_SERVER, &f->records);
}

static eg_status checkpoint_take_model(eg_federation *f, const eg_bundle *b)
{
    const float *param, *state = NULL;
    size_t n = f->server.n_params, m = f->server.n_state;
    EG_TRY(eg_bundle_need(b, "param", n, &param));
    if (m)
        EG_TRY(eg_bundle_need(b, "state", m, &state));
    memcpy(f->param, param, n * sizeof *param);
    if (m)
        memcpy(f->state, state, m * sizeof *state);
    return EG_OK;
}

/* Who has taken part in an earlier round, as was heard in this one. */
static eg_status checkpoint_walk_late(eg_federation *f, const eg_events *log)
{
    for (size_t k = 0; k < log->n_late; k++) {
        const eg_late_event *e = &log->late[k];
        if (e->round != eg_cursor_round(f->cursor) + 1)
            continue;
        if (e->stage >= eg_scenario_n_stages(f->feed.scenario, e->client))
            return eg_fail(EG_EFORMAT, "%s: client %lld has no stage %lld", f->folder_path,
                           (long long)e->client, (long long)e->stage);
        eg_cursor_took_part(f->cursor, e->client, e->stage);
    }
    return EG_OK;
}

/* Ends the cursor's round as the log has it. */
static eg_status checkpoint_walk(eg_federation *f, const eg_events *log,
                                 const eg_round_event *e)
{
    int64_t n;
    const int32_t *selected = eg_cursor_selected(f->cursor, &n);
    bool *lost;
    EG_TRY(eg_alloc((size_t)n, sizeof *lost, &lost));
    for (size_t k = 0; e && k < e->n_lost; k++)
        for (int64_t i = 0; i < n; i++)
            lost[i] |= selected[i] == e->lost[k];
    eg_status s = checkpoint_walk_late(f, log);
    if (s == EG_OK)
        eg_cursor_next(f->cursor, lost);
    free(lost);
    return s;
}

/* Moves the cursor to a round. Who took part follows from the scenario, unless somebody was
 * lost on the way: then only the log knows. */
static eg_status checkpoint_seek(eg_federation *f, int64_t round)
{
    eg_events *log;
    if (f->n_losses == 0) {
        eg_cursor_seek(f->cursor, round);
        return EG_OK;
    }
    EG_TRY(eg_events_load(f->folder_path, &log));
    eg_status s = EG_OK;
    size_t k = 0;
    for (int64_t r = 0; r < round && s == EG_OK; r++) {
        while (k < log->n_round && log->round[k].round < r + 1)
            k++;
        bool there = k < log->n_round && log->round[k].round == r + 1;
        s = checkpoint_walk(f, log, there ? &log->round[k] : NULL);
    }
    eg_events_free(log);
    return s;
}

static eg_status checkpoint_take_run(eg_federation *f, const eg_bundle *b)
{
    int64_t round, losses;
    EG_TRY(eg_bundle_need_count(b, "round", eg_scenario_n_rounds(f->feed.scenario), &round));
    EG_TRY(eg_bundle_need_count(b, "losses", INT64_C(1) << 53, &losses));
    eg_bundle_scalar_of(b, "bytes_up", &f->bytes_up);
    eg_bundle_scalar_of(b, "bytes_down", &f->bytes_down);
    eg_bundle_scalar_of(b, "accuracy", &f->accuracy);
    f->n_losses = (size_t)losses;
    EG_TRY(eg_federation_load_patience(f, b));
    eg_federation_load_spent(f, b);
    return checkpoint_seek(f, round);
}

eg_status eg_federation_compare(const eg_federation *f, const char *folder)
{
    eg_events *log;
    eg_fingerprint then = {0};
    EG_TRY(eg_events_load_start(folder, &log));
    bool goes_on = log->start.replay && !f->script;
    then.isa = log->start.isa, then.version = log->start.version;
    then.commit = log->start.commit;
    snprintf(then.labels, sizeof then.labels, "%s", log->start.labels);
    snprintf(then.pixels, sizeof then.pixels, "%s", log->start.pixels);
    eg_status s = eg_fingerprint_compare(&then, &f->print);
    eg_events_free(log);
    return goes_on ? eg_fail(EG_ENOTSUP,
                             "%s: a replay does not go on: remove it, and begin it "
                             "anew",
                             folder)
                   : s;
}

/* What the run began with must be here again, or be done without by force. *differs: what is
 * not the same; "": nothing. */
static eg_status checkpoint_compare(const eg_federation *f, bool force, char differs[1024])
{
    *differs = 0;
    eg_status s = eg_federation_compare(f, f->folder_path);
    if (s == EG_OK || s != EG_EINVAL)
        return s;
    snprintf(differs, 1024, "%s", eg_error());
    return force ? EG_OK
                 : eg_fail(EG_EINVAL, "%s: %s; --force goes on, but bits may differ",
                           f->folder_path, differs);
}

eg_status eg_federation_resume(eg_federation *f, bool force)
{
    char differs[1024];
    const eg_bundle *model, *run;
    EG_TRY(eg_records_get(f->records, "model", &model));
    EG_TRY(eg_records_get(f->records, "run", &run));
    if (!model && !run)
        return EG_OK; /* nothing was committed: from the start */
    if (!model || !run)
        return eg_fail(EG_EFORMAT, "the checkpoint lacks the server's model or its round");
    EG_TRY(checkpoint_compare(f, force, differs));
    EG_TRY(checkpoint_take_model(f, model));
    EG_TRY(checkpoint_take_optimizer(f));
    EG_TRY(checkpoint_take_run(f, run));
    return *differs ? eg_run_write_forced(f->folder, eg_cursor_round(f->cursor), differs)
                    : EG_OK;
}
