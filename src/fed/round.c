/* round.c - one round: download, local training on the workers, aggregation in client order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A client's turn, from the moment a worker takes it until the server has its upload. */
typedef struct round_turn {
    int64_t client;
    eg_bundle *down; /* its own, when parts send each client something else; else NULL */
    eg_bundle *up, *keep;
} round_turn;

typedef struct round_state {
    eg_federation *f;
    int64_t n;
    const int32_t *selected;
    round_turn *turns; /* [n] */
    eg_bundle *down;   /* what all are sent */
    eg_bundle *like;   /* what an upload must look like; the first good one's form */
    int64_t good;      /* uploads that count */
    double samples, loss, bytes_up, bytes_down;
} round_state;

/* Whether clients take the server's model in this round; else they go on from their own. */
static bool round_syncs(const eg_federation *f, int64_t round)
{
    return round % f->e->server.interval == 0;
}

/* The global model. */
static eg_status round_base(const eg_federation *f, eg_bundle **out)
{
    EG_TRY(eg_bundle_new(out));
    EG_TRY(eg_bundle_add_flat(*out, "param", f->param, f->server.n_params));
    if (f->server.n_state)
        EG_TRY(eg_bundle_add_flat(*out, "state", f->state, f->server.n_state));
    return EG_OK;
}

/* What all clients are sent. */
static eg_status round_send_all(eg_federation *f, eg_bundle **out)
{
    EG_TRY(round_base(f, out));
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->send_all)
            EG_TRY(f->e->parts[k].method->send_all(f->states[k], &f->server, *out));
    return EG_OK;
}

/* What one client is sent: the same as all, unless a part sends each its own. */
static eg_status round_send(round_state *r, int64_t i)
{
    eg_federation *f = r->f;
    for (size_t k = 0; k < f->e->n_parts; k++) {
        if (!f->e->parts[k].method->send)
            continue;
        if (!r->turns[i].down)
            EG_TRY(round_send_all(f, &r->turns[i].down));
        EG_TRY(f->e->parts[k].method->send(f->states[k], &f->server, r->turns[i].client,
                                           r->turns[i].down));
    }
    const eg_bundle *down = r->turns[i].down ? r->turns[i].down : r->down;
    if (round_syncs(f, f->server.round))
        r->bytes_down += (double)eg_bundle_bytes(down);
    return EG_OK;
}

/* A turn in this process. */
static eg_status round_turn_here(eg_worker *w, eg_wire_what what, eg_turn *turn, round_turn *t)
{
    EG_TRY(eg_bundle_new(&t->up));
    EG_TRY(eg_bundle_new(&t->keep));
    turn->up = t->up, turn->keep = t->keep;
    return what == EG_WIRE_PHASE ? eg_worker_phase(w, turn) : eg_worker_train(w, turn);
}

/* One client's turn at training, or at the parts' second exchange. */
static eg_status round_turn_run(round_state *r, eg_worker *w, int64_t i, eg_wire_what what)
{
    eg_federation *f = r->f;
    round_turn *t = &r->turns[i];
    eg_bundle *kept = NULL;
    eg_turn turn = {.id = t->client,
                    .round = eg_cursor_round(f->cursor),
                    .seed = f->seed,
                    .cursor = f->cursor,
                    .down = t->down ? t->down : r->down,
                    .own = f->personal || (what == EG_WIRE_TRAIN &&
                                           !round_syncs(f, eg_cursor_round(f->cursor)))};
    EG_ASSERT(eg_cursor_view(f->cursor, t->client, &turn.view));
    turn.told_boundary =
        turn.view.first && eg_scenario_offers(f->feed.scenario) & EG_OFFERS_BOUNDARIES;
    EG_TRY(eg_federation_kept(f, t->client, &kept));
    turn.kept = kept;
    eg_status s = f->n_wires
                      ? eg_wire_turn(&f->wires[w - f->workers], what, &turn, &t->up, &t->keep)
                      : round_turn_here(w, what, &turn, t);
    eg_bundle_free(kept);
    return eg_blame(s, "client %lld", (long long)t->client);
}

static eg_status round_work(void *context, eg_worker *w, int64_t i)
{
    return round_turn_run(context, w, i, EG_WIRE_TRAIN);
}

static eg_status round_phase_work(void *context, eg_worker *w, int64_t i)
{
    return round_turn_run(context, w, i, EG_WIRE_PHASE);
}

static void round_forget(round_turn *t)
{
    eg_bundle_free(t->up);
    eg_bundle_free(t->keep);
    eg_bundle_free(t->down);
    t->up = t->keep = t->down = NULL;
}

static eg_status round_phase_done(void *context, int64_t i)
{
    round_state *r = context;
    eg_federation *f = r->f;
    round_turn *t = &r->turns[i];
    eg_status s = eg_bundle_check(t->up, t->up);
    r->bytes_up += (double)eg_bundle_bytes(t->up);
    if (s != EG_OK)
        s = eg_run_write_left_out(f->folder, eg_cursor_round(f->cursor) + 1, t->client,
                                  eg_error());
    else
        for (size_t k = 0; k < f->e->n_parts && s == EG_OK; k++)
            if (f->e->parts[k].method->phase_collect)
                s = f->e->parts[k].method->phase_collect(f->states[k], &f->server, t->client,
                                                         t->up);
    round_forget(t);
    return s;
}

static eg_status round_keep(eg_federation *f, const round_turn *t)
{
    if (eg_bundle_n(t->keep) == 0)
        return EG_OK;
    unsigned char *bytes;
    size_t n;
    EG_TRY(eg_bundle_pack(t->keep, &bytes, &n));
    eg_status s = eg_store_put(f->store, t->client, bytes, n);
    free(bytes);
    return s;
}

static eg_status round_add(eg_federation *f, eg_mean *param, eg_mean *state,
                           const eg_bundle *up, double weight)
{
    EG_TRY(eg_mean_add(param, eg_bundle_find(up, "param", NULL), weight));
    if (f->server.n_state && f->e->server.bn == 0)
        EG_TRY(eg_mean_add(state, eg_bundle_find(up, "state", NULL), weight));
    return EG_OK;
}

/* Adds an upload with its weight, and what parts make of that. If they leave none, the mean
 * without their factors applies: it is kept beside. */
static eg_status round_join_mean(round_state *r, const round_turn *t, double weight)
{
    eg_federation *f = r->f;
    double factor = 1;
    bool weighed = false;
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->weight) {
            factor *= f->e->parts[k].method->weight(f->states[k], &f->server, t->client, t->up);
            weighed = true;
        }
    if (weighed)
        EG_TRY(round_add(f, &f->plain_param, &f->plain_state, t->up, weight));
    return factor > 0 ? round_add(f, &f->mean_param, &f->mean_state, t->up, weight * factor)
                      : EG_OK;
}

/* An upload that fits and is finite joins the mean; another is left out, with a line. */
static eg_status round_collect(round_state *r, const round_turn *t)
{
    eg_federation *f = r->f;
    double samples = 0, loss = 0;
    if (!r->like)
        EG_TRY(round_base(f, &r->like));
    if (eg_bundle_check(t->up, f->personal ? t->up : r->like) != EG_OK)
        return eg_run_write_left_out(f->folder, eg_cursor_round(f->cursor) + 1, t->client,
                                     eg_error());
    eg_bundle_scalar_of(t->up, "samples", &samples);
    eg_bundle_scalar_of(t->up, "loss", &loss);
    if (!f->personal)
        EG_TRY(round_join_mean(r, t, f->e->server.weights == 0 ? samples : 1));
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->collect)
            EG_TRY(f->e->parts[k].method->collect(f->states[k], &f->server, t->client, t->up));
    r->samples += samples;
    r->loss += loss * samples;
    r->good++;
    return EG_OK;
}

static eg_status round_done(void *context, int64_t i)
{
    round_state *r = context;
    round_turn *t = &r->turns[i];
    if (round_syncs(r->f, r->f->server.round + 1)) /* else it serves the tests alone */
        r->bytes_up += (double)eg_bundle_bytes(t->up);
    eg_status s = round_keep(r->f, t);
    if (s == EG_OK)
        s = round_collect(r, t);
    round_forget(t);
    return s;
}

static eg_status round_aggregate(round_state *r)
{
    eg_federation *f = r->f;
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->aggregate)
            return f->e->parts[k].method->aggregate(f->states[k], &f->server);
    if (f->personal)
        return EG_OK;
    bool weighed = f->mean_param.weight > 0;
    EG_TRY(eg_mean_get(weighed ? &f->mean_param : &f->plain_param, f->param));
    return f->server.n_state && f->e->server.bn == 0
               ? eg_mean_get(weighed ? &f->mean_state : &f->plain_state, f->state)
               : EG_OK;
}

static bool round_is_wanted(eg_federation *f)
{
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->wants_round &&
            !f->e->parts[k].method->wants_round(f->states[k], &f->server))
            return false;
    return true;
}

static eg_status round_train(round_state *r)
{
    eg_federation *f = r->f;
    EG_TRY(round_send_all(f, &r->down));
    EG_TRY(eg_alloc((size_t)r->n, sizeof *r->turns, &r->turns));
    for (int64_t i = 0; i < r->n; i++) {
        r->turns[i].client = r->selected[i];
        EG_TRY(round_send(r, i));
    }
    eg_mean_reset(&f->mean_param);
    eg_mean_reset(&f->mean_state);
    eg_mean_reset(&f->plain_param);
    eg_mean_reset(&f->plain_state);
    return eg_crew_run(f, &(eg_crew_job){r->n, round_work, round_done, r});
}

/* The second exchange, if a part has one: the new model goes down, its answers come up. */
static eg_status round_phase(round_state *r)
{
    eg_federation *f = r->f;
    bool wanted = false;
    for (size_t k = 0; k < f->e->n_parts; k++) {
        const eg_method *m = f->e->parts[k].method;
        wanted |= m->phase && (!m->wants_phase || m->wants_phase(f->states[k], &f->server));
    }
    if (!wanted || !round_syncs(f, f->server.round + 1))
        return EG_OK;
    eg_bundle_free(r->down);
    r->down = NULL;
    EG_TRY(round_base(f, &r->down));
    /* In a real federation the next round's download brings this model anyway: it is sent once.
     */
    EG_TRY(eg_crew_run(f, &(eg_crew_job){r->n, round_phase_work, round_phase_done, r}));
    for (size_t k = 0; k < f->e->n_parts; k++)
        if (f->e->parts[k].method->phase_end)
            EG_TRY(f->e->parts[k].method->phase_end(f->states[k], &f->server));
    return EG_OK;
}

static void round_release(round_state *r)
{
    for (int64_t i = 0; r->turns && i < r->n; i++)
        round_forget(&r->turns[i]);
    free(r->turns);
    eg_bundle_free(r->down);
    eg_bundle_free(r->like);
}

static eg_status round_log(const round_state *r, int64_t number, double seconds)
{
    int64_t *clients;
    EG_TRY(eg_alloc((size_t)r->n, sizeof *clients, &clients));
    for (int64_t i = 0; i < r->n; i++)
        clients[i] = r->selected[i];
    eg_status s =
        eg_run_write_round(r->f->folder, &(eg_round_event){.round = number,
                                                           .clients = clients,
                                                           .n_clients = (size_t)r->n,
                                                           .samples = (int64_t)r->samples,
                                                           .loss = r->f->round_loss,
                                                           .bytes_up = (int64_t)r->bytes_up,
                                                           .bytes_down = (int64_t)r->bytes_down,
                                                           .seconds = seconds});
    free(clients);
    return s;
}

eg_status eg_federation_round(eg_federation *f)
{
    int64_t number = eg_cursor_round(f->cursor) + 1;
    round_state r = {.f = f};
    double start = eg_seconds();
    f->server.round = number - 1;
    r.selected = eg_cursor_selected(f->cursor, &r.n);
    f->round_loss = NAN;
    if (!round_is_wanted(f))
        return EG_OK;
    if (r.n == 0)
        return eg_run_write_skipped(f->folder, number, "no client has data");
    eg_status s = round_train(&r);
    if (s == EG_OK && r.good < f->e->server.min_clients)
        s = eg_run_write_skipped(f->folder, number, "too few uploads are good");
    else if (s == EG_OK)
        s = round_aggregate(&r);
    if (s == EG_OK && r.good >= f->e->server.min_clients)
        s = round_phase(&r);
    f->bytes_up += r.bytes_up;
    f->bytes_down += r.bytes_down;
    f->round_loss = r.samples > 0 ? r.loss / r.samples : NAN;
    if (s == EG_OK)
        s = round_log(&r, number, eg_seconds() - start);
    round_release(&r);
    return s;
}
