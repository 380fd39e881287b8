/* hidden.c - an exchange of whose answers the server learns the sum alone.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With masks it is a step of the protocol after the other, each with those who are left; a
 * client that is lost, refuses or cheats is out, and all others go on. Without masks vectors of
 * whole numbers are added as they come: the same sum.
 */
#include "run/privacy/hidden.h"
#include "run/client/hide.h"

#include "run/privacy/members.h"
#include "run/privacy/secure.h"
#include "run/server/privacy.h"
#include "run/server/round.h"
#include "run/server/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_SENTENCE = 400 };

/* An exchange on its way. */
typedef struct hidden {
    eg_round *r;
    eg_hidden h;
    eg_bundle *sums;
    int64_t n; /* clients */
    double clip;
    bool *turned;             /* [n]: it had the turn in which its vector is made */
    bool *counted;            /* [n]: it is in the sum */
    bool *added;              /* [n]: its vector is good; it is in the sum if there is one */
    int64_t *summed;          /* [n]: the numbers of those that are */
    uint32_t *sum;            /* [length] */
    double *x;                /* [length], the sum as numbers */
    eg_secure_server *secure; /* NULL: no masks */
    eg_secure_step step;
    int64_t *asked; /* [n_asked], of the step: places in the exchange */
    int64_t n_asked;
    eg_bundle *nothing; /* what all are sent where there is nothing to say to all */
} hidden;

static bool hidden_sends_vectors(const hidden *e)
{
    return !e->secure || e->step == EG_SECURE_MASKED;
}

static eg_status hidden_open(hidden *e)
{
    eg_federation *f = e->r->f;
    size_t n = (size_t)e->n;
    e->clip = f->privacy ? eg_privacy_clip(f->privacy, e->r->exchange) : 0;
    const eg_summed what = {e->r->exchange, n ? n : 1, e->clip};
    EG_TRY(
        eg_hidden_of_run(f->e, f->feed.scenario, &f->agreed, f->net, &what, &e->h, &e->sums));
    EG_TRY(eg_alloc(n + 1, sizeof *e->turned, &e->turned));
    EG_TRY(eg_alloc(n + 1, sizeof *e->counted, &e->counted));
    EG_TRY(eg_alloc(n + 1, sizeof *e->added, &e->added));
    EG_TRY(eg_alloc(n + 1, sizeof *e->summed, &e->summed));
    EG_TRY(eg_alloc(n + 1, sizeof *e->asked, &e->asked));
    EG_TRY(eg_alloc(e->h.length, sizeof *e->sum, &e->sum));
    EG_TRY(eg_bundle_new(&e->nothing));
    return eg_alloc(e->h.length, sizeof *e->x, &e->x);
}

static void hidden_close(hidden *e)
{
    eg_secure_server_free(e->secure);
    eg_hidden_fini(&e->h);
    eg_bundle_free(e->sums);
    eg_bundle_free(e->nothing);
    free(e->turned);
    free(e->counted);
    free(e->added);
    free(e->summed);
    free(e->asked);
    free(e->sum);
    free(e->x);
}

/* What all need beside the model. */
static eg_status hidden_send(hidden *e)
{
    EG_TRY(eg_round_send(e->r));
    EG_TRY(eg_bundle_scalar(e->r->down, EG_HIDDEN_N, (double)e->n));
    return e->clip > 0 ? eg_bundle_scalar(e->r->down, EG_HIDDEN_CLIP, e->clip) : EG_OK;
}

/* --- Turns. */

static eg_status hidden_add_message(const hidden *e, int64_t i, eg_bundle **own)
{
    eg_blob message;
    void *bytes;
    EG_TRY(eg_secure_server_tell(e->secure, e->step, (size_t)i, &message));
    eg_status s = *own ? EG_OK : eg_bundle_new(own);
    if (s == EG_OK)
        s = eg_bundle_room_as(*own, EG_BUNDLE_U8, EG_HIDDEN_MESSAGE,
                              eg_dims((int64_t)message.n), &bytes);
    if (s == EG_OK) {
        memcpy(bytes, message.bytes, message.n);
        s = eg_bundle_scalar(*own, EG_HIDDEN_STEP, e->step);
    }
    free(message.bytes);
    return s;
}

/* A step's turn is that of the exchange, without what the server has to say in it. */
static eg_status hidden_tell(void *context, int64_t k, eg_turn *out, eg_bundle **own)
{
    hidden *e = context;
    eg_round *r = e->r;
    int64_t i = e->asked[k];
    if (hidden_sends_vectors(e))
        EG_TRY(eg_round_tell(r, i, out, own));
    else
        *out = (eg_turn){.exchange = r->exchange,
                         .id = r->now->clients[i],
                         .round = eg_cursor_round(r->f->cursor),
                         .seed = r->f->seed,
                         .left = -1,
                         .brief = true};
    out->kept = eg_ledger_receipt(r->f->ledger, out->id, &out->committed);
    if (!e->secure)
        return EG_OK;
    EG_TRY(hidden_add_message(e, i, own));
    r->bytes_down += hidden_sends_vectors(e) ? 0 : (double)eg_bundle_bytes(*own);
    return EG_OK;
}

/* --- Answers. */

static eg_status hidden_add(hidden *e, int64_t i, const uint32_t *y, size_t n)
{
    const eg_federation *f = e->r->f;
    if (e->secure)
        return eg_secure_server_add(e->secure, (size_t)i, y, n);
    if (n != e->h.length)
        return eg_fail(EG_ESHAPE, "a vector of %zu numbers, not %zu", n, e->h.length);
    if (f->privacy && !eg_hidden_is_short(&e->h, y))
        return eg_fail(EG_EINVAL, "its change is longer than %g", e->clip);
    for (size_t k = 0; k < n; k++)
        e->sum[k] += y[k];
    e->counted[i] = true;
    return EG_OK;
}

/* A sentence of the client's, as far as it can be read. */
static eg_status hidden_refused(const char *text, size_t n)
{
    char why[HIDDEN_SENTENCE];
    size_t k = 0;
    for (; k < n && k < sizeof why - 1; k++)
        why[k] = text[k] >= ' ' && text[k] <= '~' ? text[k] : '?';
    why[k] = 0;
    return eg_fail(EG_EINVAL, "%s", why);
}

static eg_status hidden_judge(hidden *e, int64_t i, const eg_bundle *up)
{
    size_t n;
    const void *what = eg_bundle_find_as(up, EG_BUNDLE_U8, EG_HIDDEN_REFUSED, &n);
    if (what)
        return hidden_refused(what, n);
    if (eg_bundle_n(up) != 1)
        return eg_fail(EG_EFORMAT, "an answer of %zu entries, not of one", eg_bundle_n(up));
    if (hidden_sends_vectors(e)) {
        what = eg_bundle_find_as(up, EG_BUNDLE_U32, EG_HIDDEN_SUM, &n);
        return what ? hidden_add(e, i, what, n) : eg_fail(EG_ENOENT, "its vector is missing");
    }
    what = eg_bundle_find_as(up, EG_BUNDLE_U8, EG_HIDDEN_MESSAGE, &n);
    return what ? eg_secure_server_hear(e->secure, e->step, (size_t)i, what, n)
                : eg_fail(EG_ENOENT, "its message is missing");
}

/* Leaves a client out of this step and those that follow. */
static eg_status hidden_leave_out(hidden *e, int64_t i)
{
    return eg_round_leave_out(e->r, e->r->now->clients[i],
                              e->added[i]    ? EG_LEFT_SUMMED
                              : e->turned[i] ? EG_LEFT_ANSWERED
                                             : EG_LEFT_UNHEARD);
}

/* In a replay the log knows whose vector was refused. */
static eg_status hidden_judge_known(hidden *e, int64_t i, const eg_bundle *up)
{
    const eg_federation *f = e->r->f;
    const char *why;
    if (f->script && eg_script_fate(f->script, f->server.round + 1, e->r->exchange,
                                    e->r->now->clients[i], &why) == EG_FATE_REFUSED)
        return eg_fail(EG_EINVAL, "%s", why);
    return hidden_judge(e, i, up);
}

static eg_status hidden_hear(hidden *e, int64_t i, const eg_reply *reply)
{
    eg_round *r = e->r;
    int64_t client = r->now->clients[i];
    eg_status s = eg_ledger_enter(r->f->ledger, client, &reply->kept);
    if (s == EG_EINVAL)
        return hidden_leave_out(e, i);
    EG_TRY(s);
    e->turned[i] |= hidden_sends_vectors(e);
    EG_TRY(eg_round_note(r, client, reply));
    r->bytes_up += (double)eg_bundle_bytes(reply->up);
    s = hidden_judge_known(e, i, reply->up);
    e->added[i] |= s == EG_OK && hidden_sends_vectors(e);
    return s == EG_OK || s == EG_ENOMEM ? s : hidden_leave_out(e, i);
}

static eg_status hidden_take(hidden *e, int64_t k)
{
    eg_round *r = e->r;
    eg_federation *f = r->f;
    int64_t i = e->asked[k];
    eg_reply reply = {0};
    bool lost = false;
    eg_status s = f->transport->take(f->carrier, k, &reply, &lost);
    if (s == EG_OK && lost)
        s = hidden_leave_out(e, i);
    else if (s == EG_OK) {
        s = hidden_hear(e, i, &reply);
        eg_round_spend(f, r->exchange == EG_TRAINING, &reply);
    }
    eg_reply_fini(&reply);
    return s;
}

/* Whether a client has a turn in this step. In a replay it has one if its vector was heard. */
static bool hidden_asks(const hidden *e, int64_t i)
{
    const eg_federation *f = e->r->f;
    int64_t client = e->r->now->clients[i], round = f->server.round;
    const char *why;
    if (e->secure && !eg_secure_server_asks(e->secure, e->step, (size_t)i))
        return false;
    if (f->script &&
        eg_script_fate(f->script, round + 1, e->r->exchange, client, &why) == EG_FATE_UNHEARD)
        return false;
    return !f->privacy || eg_privacy_allows(f->privacy, client, round, e->r->exchange);
}

/* All of a step, or all there is without masks. */
static eg_status hidden_job(hidden *e, const char *what)
{
    eg_federation *f = e->r->f;
    e->n_asked = 0;
    for (int64_t i = 0; i < e->n; i++)
        if (hidden_asks(e, i))
            e->asked[e->n_asked++] = i;
    if (e->n_asked == 0)
        return EG_OK;
    eg_job job = {.n = e->n_asked,
                  .down = hidden_sends_vectors(e) ? e->r->down : e->nothing,
                  .tell = hidden_tell,
                  .context = e};
    EG_TRY(f->transport->begin(f->carrier, &job));
    eg_moment at = {.at = EG_AT_CLIENTS, .what = what, .of = job.n};
    eg_status s = EG_OK;
    for (; at.done < job.n && s == EG_OK; at.done++) {
        eg_federation_moment(f, at);
        s = hidden_take(e, at.done);
    }
    f->transport->end(f->carrier);
    return s;
}

/* --- The sum. */

static void hidden_abandon(hidden *e)
{
    snprintf(e->r->abandoned, sizeof e->r->abandoned, "no sum comes of '%s': %s",
             e->r->f->agreed.exchanges[e->r->exchange].is.name, eg_error());
}

/* Whom the log leaves out of a step, beside those whose vectors were refused. */
static eg_status hidden_replay_lost(hidden *e)
{
    const eg_federation *f = e->r->f;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t client = e->r->now->clients[i];
        const char *why;
        eg_fate fate =
            eg_script_fate(f->script, f->server.round + 1, e->r->exchange, client, &why);
        if (!why || fate == EG_FATE_REFUSED)
            continue;
        eg_fail(EG_EIO, "%s", why);
        EG_TRY(eg_round_leave_out(e->r, client,
                                  fate == EG_FATE_COUNTS ? EG_LEFT_SUMMED : EG_LEFT_UNHEARD));
    }
    return EG_OK;
}

/* The sum of those who are in it, without masks: the same. None comes if none came then. */
static eg_status hidden_replay(hidden *e)
{
    const eg_federation *f = e->r->f;
    const char *name = f->agreed.exchanges[e->r->exchange].is.name;
    char begins[128];
    EG_TRY(hidden_replay_lost(e));
    EG_TRY(hidden_job(e, name));
    snprintf(begins, sizeof begins, "no sum comes of '%.60s'", name);
    if (eg_script_skips(f->script, f->server.round + 1, begins)) {
        eg_fail(EG_EINVAL, "as in the run that is replayed");
        hidden_abandon(e);
    }
    return EG_OK;
}

static eg_status hidden_run_steps(hidden *e)
{
    eg_federation *f = e->r->f;
    eg_secure_server_how how = {
        .of = {.round = eg_cursor_round(f->cursor), .exchange = (uint32_t)e->r->exchange},
        .n = (size_t)e->n,
        .member = eg_members_find,
        .length = e->h.length};
    int64_t *clients;
    EG_TRY(eg_alloc((size_t)e->n + 1, sizeof *clients, &clients));
    for (int64_t i = 0; i < e->n; i++)
        clients[i] = e->r->now->clients[i];
    if (!f->members)
        EG_TRY(eg_members_simulate(f->seed, &f->members));
    how.clients = clients, how.context = f->members;
    eg_hidden_run(f->e->sha256, f->seed, how.of.run);
    eg_status s = eg_secure_server_new(&how, &e->secure);
    free(clients);
    if (s == EG_EINVAL) {
        hidden_abandon(e);
        return EG_OK;
    }
    for (int step = 0; step < EG_SECURE_N_STEPS && s == EG_OK; step++) {
        e->step = (eg_secure_step)step;
        s = hidden_job(e, step == EG_SECURE_MASKED ? f->agreed.exchanges[e->r->exchange].is.name
                                                   : eg_secure_step_names[step]);
        if (s == EG_OK && eg_secure_server_close(e->secure, e->step) != EG_OK) {
            hidden_abandon(e);
            return EG_OK;
        }
    }
    if (s == EG_OK)
        memcpy(e->sum, eg_secure_server_sum(e->secure), e->h.length * sizeof *e->sum);
    for (int64_t i = 0; i < e->n && s == EG_OK; i++)
        e->counted[i] = eg_secure_server_counts(e->secure, (size_t)i);
    return s;
}

/* Who had no turn to train in. */
static eg_status hidden_note_lost(const hidden *e)
{
    eg_federation *f = e->r->f;
    bool any = false;
    for (int64_t i = 0; i < e->n; i++)
        any |= !e->turned[i];
    if (e->r->exchange != EG_TRAINING || !any)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)e->n, sizeof *f->lost, &f->lost));
    for (int64_t i = 0; i < e->n; i++)
        f->lost[i] = !e->turned[i];
    return EG_OK;
}

static eg_status hidden_note_sum(const hidden *e, size_t n)
{
    eg_federation *f = e->r->f;
    double clipped = eg_hidden_clipped(&e->h, e->x);
    if (e->r->exchange == EG_TRAINING && !f->privacy)
        f->round_loss = n ? eg_hidden_loss(&e->h, e->x) : NAN;
    if (e->r->exchange == EG_TRAINING && e->h.is.most_weight > 1)
        e->r->samples = eg_hidden_weight(&e->h, e->x);
    return clipped > 0 ? eg_run_write_note(f->folder, f->server.round + 1, EG_SERVER,
                                           "secure.clipped", clipped)
                       : EG_OK;
}

/* The sum has its noise before anything else sees it. */
static eg_status hidden_release(hidden *e)
{
    eg_federation *f = e->r->f;
    size_t first = eg_hidden_first_value(&e->h);
    eg_hidden_take(&e->h, e->sum, e->x);
    if (!f->privacy)
        return EG_OK;
    for (int64_t i = 0; i < e->n; i++)
        if (e->counted[i] && e->r->exchange == EG_TRAINING)
            eg_privacy_note(f->privacy, e->r->now->clients[i], f->server.round);
    EG_TRY(eg_privacy_release(f->privacy, f->server.round, e->r->exchange, e->x + first,
                              e->h.length - first, e->h.is.adapts ? e->x : NULL));
    if (e->h.is.adapts)
        EG_TRY(eg_run_write_note(f->folder, f->server.round + 1, EG_SERVER, "dp.clip",
                                 eg_privacy_clip(f->privacy, EG_TRAINING)));
    return eg_run_write_note(f->folder, f->server.round + 1, EG_SERVER,
                             f->e->dp.noise == 1 ? "no privacy: noise of the seed, epsilon"
                                                 : "epsilon",
                             eg_privacy_epsilon(f->privacy));
}

static eg_status hidden_model(hidden *e, double by)
{
    eg_federation *f = e->r->f;
    memcpy(f->next_param, f->param, f->server.n_params * sizeof *f->param);
    if (f->server.n_state)
        memcpy(f->next_state, f->state, f->server.n_state * sizeof *f->state);
    bool any = eg_hidden_mean(&e->h, e->x, by, f->next_param, f->next_state);
    eg_params_clear_gaps(eg_net_params(f->net), true, f->next_param);
    if (!any)
        eg_fail(EG_EINVAL, "its weights are 0");
    if (!any || eg_federation_check_model(f, f->next_param, f->next_state) != EG_OK)
        hidden_abandon(e);
    return EG_OK;
}

static eg_status hidden_collect(hidden *e, double by)
{
    eg_federation *f = e->r->f;
    eg_bundle *mean;
    EG_TRY(eg_bundle_new(&mean));
    eg_status s = eg_hidden_parts(&e->h, e->x, by, mean);
    bool any = e->r->exchange == EG_TRAINING ? f->server.n_summed > 0 : eg_bundle_n(mean) > 0;
    if (s == EG_OK && any)
        s = eg_chain_collect(&f->chain, &f->server, e->r->exchange, EG_SERVER, mean);
    eg_bundle_free(mean);
    return s;
}

/* What a sum comes to. */
static eg_status hidden_finish(hidden *e)
{
    eg_federation *f = e->r->f;
    size_t n = 0;
    for (int64_t i = 0; i < e->n; i++)
        if (e->counted[i])
            e->summed[n++] = e->r->now->clients[i];
    if (n == 0 && !f->privacy)
        return EG_OK;
    EG_TRY(hidden_release(e));
    EG_TRY(hidden_note_sum(e, n));
    double by = f->privacy ? eg_privacy_cohort(f->privacy) : 0;
    if (e->r->exchange == EG_TRAINING) {
        e->r->good = (int64_t)n;
        EG_TRY(hidden_model(e, by));
        if (*e->r->abandoned)
            return EG_OK;
    }
    f->server.summed = e->summed, f->server.n_summed = n;
    eg_status s = hidden_collect(e, by);
    f->server.summed = NULL, f->server.n_summed = 0;
    return s;
}

static eg_status hidden_all(hidden *e)
{
    eg_federation *f = e->r->f;
    EG_TRY(hidden_open(e));
    EG_TRY(hidden_send(e));
    if (f->script)
        EG_TRY(hidden_replay(e));
    else if (f->e->secure.kind == EG_SUMS_MASKED && e->n > 0)
        EG_TRY(hidden_run_steps(e));
    else
        EG_TRY(hidden_job(e, f->agreed.exchanges[e->r->exchange].is.name));
    EG_TRY(hidden_note_lost(e));
    return *e->r->abandoned ? EG_OK : hidden_finish(e);
}

eg_status eg_round_hidden(eg_round *r)
{
    hidden e = {.r = r, .n = r->now->n};
    bool trains = r->exchange == EG_TRAINING;
    eg_status s = hidden_all(&e);
    hidden_close(&e);
    if (s == EG_OK && !trains && *r->abandoned) { /* the model stands: only this did not come */
        s = eg_run_write_skipped(r->f->folder, r->f->server.round + 1, r->abandoned);
        *r->abandoned = 0;
    }
    return s;
}

/* Devices sign what hides them; in a simulation their keys follow from the seed. */
static eg_status hidden_open_members(eg_federation *f, const eg_listen *l)
{
    if (f->e->secure.kind != EG_SUMS_MASKED || !l)
        return EG_OK;
    const char *path = l->members ? l->members : l->keys;
    EG_TRY(eg_members_load(path, &f->members));
    return eg_blame(eg_members_check(f->members, eg_scenario_n_clients(f->feed.scenario)), "%s",
                    path);
}

/* What is spent is counted from the first round on. */
static eg_status hidden_open_privacy(eg_federation *f)
{
    const eg_scenario *s = f->feed.scenario;
    int64_t n = eg_scenario_n_clients(s);
    if (!(f->e->dp.sigma > 0))
        return EG_OK;
    return eg_privacy_open(&(eg_privacy_how){.opts = &f->e->dp,
                                             .store = f->store,
                                             .seed = f->seed,
                                             .q = eg_scenario_chance(s),
                                             .n_clients = n,
                                             .n_wanted = eg_scenario_wanted(s, n),
                                             .resume = f->how->resume},
                           &f->privacy);
}

eg_status eg_federation_open_hidden(eg_federation *f)
{
    EG_TRY(hidden_open_members(f, f->how->listen));
    return hidden_open_privacy(f);
}
