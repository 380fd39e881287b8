/* late.c - answers to earlier rounds: waited for, and counted by their age.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/late.h"

#include "run/server/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The model of a round that somebody still has an answer to. */
struct eg_late_model {
    int64_t round, n_users;
    float *param;
};

static size_t late_find(const eg_federation *f, int64_t client)
{
    size_t i = 0;
    while (i < f->n_late && f->late[i].client != client)
        i++;
    return i;
}

bool eg_late_asks(const eg_round *r, int64_t i)
{
    const eg_federation *f = r->f;
    int64_t client = r->now->clients[i], round = f->server.round + 1;
    const char *why;
    size_t at = late_find(f, client);
    if (f->script) {
        if (eg_script_fate(f->script, round, r->exchange, client, &why) != EG_FATE_UNHEARD ||
            (r->exchange == EG_TRAINING && eg_script_late(f->script, round, client)))
            return true;
        eg_fail(EG_EIO, "%s", why);
        return false;
    }
    if (at == f->n_late)
        return true;
    eg_fail(EG_EBUSY, "its answer to round %lld has not come yet",
            (long long)f->late[at].model->round + 1);
    return false;
}

/* The model as it is before the round's mean, which others that are late may have kept. */
static eg_status late_model(eg_federation *f, eg_late_model **out)
{
    *out = NULL;
    for (size_t i = 0; i < f->n_late && !*out; i++)
        if (f->late[i].model->round == f->server.round)
            *out = f->late[i].model;
    if (*out)
        return EG_OK;
    eg_late_model *m;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    m->round = f->server.round;
    eg_status s = eg_alloc(f->server.n_params, sizeof *m->param, &m->param);
    if (s == EG_OK) {
        memcpy(m->param, f->param, f->server.n_params * sizeof *m->param);
        *out = m;
    } else {
        free(m);
    }
    return s;
}

static void late_forget(eg_federation *f, size_t at)
{
    eg_late_model *m = f->late[at].model;
    if (--m->n_users == 0) {
        free(m->param);
        free(m);
    }
    eg_reply_fini(&f->late[at].reply);
    f->late[at] = f->late[--f->n_late];
}

eg_status eg_late_keep(eg_round *r, int64_t i, eg_reply *reply, bool *kept)
{
    eg_federation *f = r->f;
    eg_late l = {.client = r->now->clients[i]};
    eg_view view;
    *kept = r->exchange == EG_TRAINING && eg_experiment_waits_late(f->e) &&
            (f->script ? eg_script_late(f->script, f->server.round + 1, l.client) != NULL
                       : f->transport->is_late && f->transport->is_late(f->carrier, l.client));
    if (!*kept)
        return EG_OK;
    if (!eg_cursor_view(f->cursor, l.client, &view))
        return eg_fail(EG_EINVAL, "client %lld has no data", (long long)l.client);
    EG_TRY(eg_grow(&f->late, f->n_late, &f->cap_late, sizeof *f->late));
    EG_TRY(late_model(f, &l.model));
    l.model->n_users++;
    l.stage = view.stage, l.dealt = view.n;
    if (reply)
        l.reply = *reply, *reply = (eg_reply){0};
    f->late[f->n_late++] = l;
    return EG_OK;
}

eg_status eg_late_begin(eg_federation *f)
{
    for (size_t i = 0; i < f->n_late;) {
        if (f->script || f->server.round - f->late[i].model->round <= EG_LATE_AGE) {
            i++;
            continue;
        }
        f->transport->drop_late(f->carrier, f->late[i].client);
        late_forget(f, i);
    }
    return EG_OK;
}

/* Its change, at the model of now. Statistics stay as they came. */
static void late_move(const eg_federation *f, const eg_late_model *m, eg_bundle *up)
{
    size_t n;
    if (!eg_bundle_find(up, "param", &n) || n != f->server.n_params)
        return; /* which is judged */
    float *param = eg_bundle_values(up, "param");
    for (size_t i = 0; i < n; i++)
        param[i] = f->param[i] + (param[i] - m->param[i]);
}

/* An answer that is there, with its age in the log. */
static eg_status late_hear(eg_round *r, const eg_late *l, eg_reply *reply)
{
    eg_federation *f = r->f;
    eg_late_event e = {.round = f->server.round + 1,
                       .client = l->client,
                       .age = f->server.round - l->model->round,
                       .stage = l->stage};
    const char *why = NULL;
    EG_TRY(eg_round_note(r, l->client, reply));
    eg_round_spend(f, true, reply);
    r->bytes_up += (double)eg_bundle_bytes(reply->up);
    eg_cursor_took_part(f->cursor, l->client, l->stage);
    late_move(f, l->model, reply->up);
    if (eg_federation_accept(f, EG_TRAINING, l->client, l->dealt, reply->up) != EG_OK)
        why = eg_error();
    if (f->script) /* what a device answered is known to the log alone */
        why = eg_script_late(f->script, l->model->round + 1, l->client)->why;
    e.why = why;
    EG_TRY(eg_run_write_late(f->folder, &e));
    if (why)
        return EG_OK;
    r->at = -1;
    EG_TRY(eg_round_count(r, l->client, reply->up, 1 / sqrt(1 + (double)e.age)));
    return eg_chain_collect(&f->chain, &f->server, EG_TRAINING, l->client, reply->up);
}

/* What the transport has heard of a client. */
static eg_status late_take(eg_round *r, int64_t client, eg_reply *reply, bool lost)
{
    eg_federation *f = r->f;
    size_t at = late_find(f, client);
    eg_status s;
    if (at == f->n_late)
        return EG_OK;
    if (lost) {
        s = eg_round_leave_out(r, client, EG_LEFT_UNHEARD);
    } else {
        s = eg_ledger_enter(f->ledger, client, &reply->kept);
        s = s == EG_EINVAL ? eg_round_leave_out(r, client, EG_LEFT_UNHEARD)
            : s == EG_OK   ? late_hear(r, &f->late[at], reply)
                           : s;
    }
    late_forget(f, at);
    return s;
}

static eg_status late_replay(eg_round *r)
{
    eg_federation *f = r->f;
    size_t n;
    const eg_late_event *heard = eg_script_heard(f->script, f->server.round + 1, &n);
    for (size_t k = 0; k < n; k++) {
        size_t at = late_find(f, heard[k].client);
        if (at == f->n_late)
            return eg_fail(EG_EFORMAT, "%s: client %lld was not asked in round %lld",
                           f->script->folder, (long long)heard[k].client,
                           (long long)(heard[k].round - heard[k].age));
        EG_TRY(late_hear(r, &f->late[at], &f->late[at].reply));
        late_forget(f, at);
    }
    return EG_OK;
}

eg_status eg_late_count(eg_round *r)
{
    eg_federation *f = r->f;
    eg_status s = EG_OK;
    if (r->exchange != EG_TRAINING || !eg_experiment_waits_late(f->e))
        return EG_OK;
    if (f->script)
        return late_replay(r);
    for (int64_t client = 0; f->n_late > 0 && client >= 0 && s == EG_OK;) {
        eg_reply reply = {0};
        bool lost = false, waits = r->good < f->e->server.min_clients;
        s = f->transport->hear_late(f->carrier, waits, &client, &reply, &lost);
        if (s == EG_OK && client >= 0)
            s = late_take(r, client, &reply, lost);
        eg_reply_fini(&reply);
    }
    return s;
}

void eg_late_close(eg_federation *f)
{
    while (f->n_late > 0)
        late_forget(f, 0);
    free(f->late);
}
