/* round.c - one round: exchange after exchange, each with all clients that take part.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/round.h"

#include "run/client/outputs.h"
#include "run/server/late.h"
#include "run/server/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void eg_federation_moment(const eg_federation *f, eg_moment m)
{
    if (!f->how->moment)
        return;
    m.round = f->server.round + 1;
    m.n_rounds = eg_scenario_n_rounds(f->feed.scenario);
    m.seconds = eg_federation_spent(f).seconds;
    f->how->moment(f->how->context, &m);
}

/* Whether clients take the server's model in this round; else they go on from their own. */
static bool round_syncs(const eg_federation *f, int64_t round)
{
    return round % f->e->server.interval == 0;
}

/* What all clients are sent: the global model, and what parts add. */
eg_status eg_round_send(eg_round *r)
{
    eg_federation *f = r->f;
    eg_bundle_free(r->down);
    r->down = NULL;
    EG_TRY(eg_bundle_new(&r->down));
    EG_TRY(eg_server_add_model(&f->server, f->param, f->state, r->down));
    return eg_chain_send(&f->chain, &f->server, r->exchange, r->down);
}

/* What client i alone is sent, if there is anything: the server's model of it, and what parts
 * add. */
static eg_status round_send_one(eg_round *r, int64_t i, eg_bundle **own)
{
    eg_federation *f = r->f;
    int64_t client = r->now->clients[i];
    if (r->exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_federation_model_of(f, client, own));
    if (!f->agreed.sends_each)
        return EG_OK;
    if (!*own)
        EG_TRY(eg_bundle_new(own));
    EG_TRY(eg_chain_send_one(&f->chain, &f->server, client, *own));
    if (eg_bundle_n(*own) > 0)
        return EG_OK;
    eg_bundle_free(*own);
    *own = NULL;
    return EG_OK;
}

/* What only the server knows of client i's turn. */
eg_status eg_round_tell(void *context, int64_t i, eg_turn *out, eg_bundle **own)
{
    eg_round *r = context;
    eg_federation *f = r->f;
    int64_t id = r->now->clients[i], round = eg_cursor_round(f->cursor);
    eg_view view;
    bool idle = !eg_cursor_view(f->cursor, id, &view);
    if (idle && !eg_cursor_idle(f->cursor, id, &view))
        return eg_fail(EG_EINVAL, "client %lld has no data", (long long)id);
    bool goes_on = r->exchange == EG_TRAINING && !round_syncs(f, round);
    *out = (eg_turn){
        .exchange = r->exchange,
        .id = id,
        .round = round,
        .seed = f->seed,
        .stage = view.stage,
        .left = view.left,
        .last = view.last,
        .told_boundary =
            view.first && eg_scenario_offers(f->feed.scenario) & EG_OFFERS_BOUNDARIES,
        .own = f->agreed.all.personal || goes_on,
        .met = r->now->met ? r->now->met + (size_t)i * r->now->met_step : NULL,
    };
    out->kept = eg_ledger_receipt(f->ledger, id, &out->committed);
    EG_TRY(round_send_one(r, i, own));
    /* A model for a further exchange is the one that the next training would bring anyway: it
     * is sent once. Who does not train has it for this alone. */
    if (idle || (r->exchange == EG_TRAINING && round_syncs(f, round)))
        r->bytes_down +=
            (double)(eg_bundle_bytes(r->down) + (*own ? eg_bundle_bytes(*own) : 0));
    return EG_OK;
}

/* The classes that count in a client's loss, beside those it has this round. */
static eg_status round_meet(const eg_federation *f, eg_round_who *w)
{
    const eg_scenario *s = f->feed.scenario;
    size_t classes = (size_t)eg_scenario_n_classes(s);
    int rule = f->e->train.classes;
    if (rule == EG_CLASSES_ALL)
        return EG_OK;
    w->met_step = rule == EG_CLASSES_SEEN ? 0 : classes;
    int64_t rows = w->met_step ? w->n : 1;
    EG_TRY(eg_alloc((size_t)rows * classes, 1, &w->met));
    for (int64_t i = 0; i < rows; i++)
        eg_classes_mark(s, f->cursor, w->met_step ? w->clients[i] : EG_SERVER,
                        w->met + (size_t)i * w->met_step);
    return EG_OK;
}

eg_status eg_round_count(eg_round *r, int64_t client, const eg_bundle *up, double factor)
{
    eg_federation *f = r->f;
    bool alike = f->agreed.all.plain_mean || f->e->server.weights != 0;
    double samples = 0, loss = 0;
    eg_bundle_scalar_of(up, "samples", &samples);
    eg_bundle_scalar_of(up, "loss", &loss);
    r->samples += samples;
    r->loss += loss * samples;
    if (r->at >= 0)
        r->losses[r->at] = round(loss * 1e6) / 1e6; /* short in the log */
    r->good++;
    return f->agreed.all.personal
               ? EG_OK
               : eg_federation_mean_add(f, client, up, (alike ? 1 : samples) * factor);
}

eg_status eg_round_leave_out(eg_round *r, int64_t client, eg_left left)
{
    return eg_run_write_left_out(r->f->folder,
                                 &(eg_loss_event){.round = r->f->server.round + 1,
                                                  .client = client,
                                                  .why = eg_error(),
                                                  .exchange = (int64_t)r->exchange,
                                                  .answered = left == EG_LEFT_ANSWERED,
                                                  .summed = left == EG_LEFT_SUMMED});
}

/* Nothing of client i counts in this exchange, for what eg_error says. */
static eg_status round_lose(eg_round *r, int64_t i)
{
    eg_federation *f = r->f;
    EG_TRY(eg_round_leave_out(r, r->now->clients[i], EG_LEFT_UNHEARD));
    if (r->exchange != EG_TRAINING)
        return EG_OK;
    if (!f->lost)
        EG_TRY(eg_alloc((size_t)r->chosen.n, sizeof *f->lost, &f->lost));
    f->lost[i] = true;
    return EG_OK;
}

/* Whether an answer counts; in a replay the log knows what came of a device. */
static eg_status round_judge_answer(eg_round *r, int64_t client, eg_bundle *up)
{
    eg_federation *f = r->f;
    const char *why;
    if (f->script && eg_script_fate(f->script, f->server.round + 1, r->exchange, client,
                                    &why) == EG_FATE_REFUSED)
        return eg_fail(EG_EINVAL, "%s", why);
    return eg_federation_accept(f, r->exchange, client, eg_federation_dealt(f, client), up);
}

/* An answer that is accepted counts; another is left out, with a line. */
static eg_status round_collect(eg_round *r, int64_t client, eg_bundle *up)
{
    eg_federation *f = r->f;
    bool trains = r->exchange == EG_TRAINING;
    /* In a round that does not sync an upload serves the tests alone. */
    if (!trains || round_syncs(f, f->server.round + 1))
        r->bytes_up += (double)eg_bundle_bytes(up);
    if (round_judge_answer(r, client, up) != EG_OK)
        return eg_round_leave_out(r, client, EG_LEFT_ANSWERED);
    if (f->agreed.exchanges[r->exchange].is.sum) {
        eg_status s = eg_bundle_mean_add(&r->answers, up);
        return s == EG_ESHAPE ? eg_round_leave_out(r, client, EG_LEFT_ANSWERED) : s;
    }
    if (trains)
        EG_TRY(eg_round_count(r, client, up, 1));
    return eg_chain_collect(&f->chain, &f->server, r->exchange, client, up);
}

/* What counts by its mean alone is collected once, as if it were the server's own answer. */
static eg_status round_collect_mean(eg_round *r)
{
    eg_bundle *mean;
    EG_TRY(eg_bundle_new(&mean));
    eg_status s = eg_bundle_mean_get(&r->answers, mean);
    if (s == EG_OK)
        s = eg_chain_collect(&r->f->chain, &r->f->server, r->exchange, EG_SERVER, mean);
    eg_bundle_free(mean);
    return s;
}

void eg_round_spend(eg_federation *f, bool trains, const eg_reply *reply)
{
    *(trains ? &f->now.train : &f->now.phase) += reply->seconds;
    f->now.flops_clients += reply->flops;
    for (size_t i = 0; trains && i < EG_MAX_PARTS; i++)
        f->now.part[i] += reply->part_seconds[i];
}

/* Rows of a class in a client's memory, if a note is about that. It may be a stranger's word.
 */
static bool round_is_held(const eg_round *r, const eg_note *note, int64_t *class)
{
    size_t n = strlen(EG_HELD);
    char *end;
    if (strncmp(note->name, EG_HELD, n) != 0)
        return false;
    *class = strtoll(note->name + n, &end, 10);
    return *end == 0 && *class >= 0 && *class < eg_scenario_n_classes(r->f->feed.scenario) &&
           note->value >= 0 && note->value <= (double)r->f->e->memory.size;
}

eg_status eg_round_note(eg_round *r, int64_t client, const eg_reply *reply)
{
    bool told = false;
    int64_t class;
    for (size_t i = 0; i < reply->n_notes; i++) {
        const eg_note *note = &reply->notes[i];
        if (!round_is_held(r, note, &class)) {
            EG_TRY(eg_run_write_note(r->f->folder, r->f->server.round + 1, client, note->name,
                                     note->value));
            continue;
        }
        if (!r->held)
            EG_TRY(eg_alloc((size_t)eg_scenario_n_classes(r->f->feed.scenario), sizeof *r->held,
                            &r->held));
        r->held[class] += (int64_t)note->value;
        told = true;
    }
    r->held_by += told;
    return EG_OK;
}

/* What a client's reply comes to: its receipt is entered whatever becomes of the answer. An
 * impossible receipt discards the whole reply. */
static eg_status round_hear(eg_round *r, int64_t i, eg_reply *reply)
{
    int64_t client = r->now->clients[i];
    bool later;
    eg_status s = eg_ledger_enter(r->f->ledger, client, &reply->kept);
    if (s == EG_EINVAL)
        return round_lose(r, i);
    EG_TRY(s);
    if (r->f->script)
        EG_TRY(eg_late_keep(r, i, reply, &later));
    if (r->f->script && later) {
        const char *why;
        eg_script_fate(r->f->script, r->f->server.round + 1, r->exchange, client, &why);
        eg_fail(EG_EIO, "%s", why ? why : "it answered later");
        return round_lose(r, i);
    }
    EG_TRY(eg_round_note(r, client, reply));
    eg_round_spend(r->f, r->exchange == EG_TRAINING, reply);
    return round_collect(r, client, reply->up);
}

/* Takes the reply of the k-th who was asked, if it has one. */
static eg_status round_take(eg_round *r, int64_t k)
{
    eg_federation *f = r->f;
    eg_reply reply = {0};
    bool lost = false, later;
    r->at = r->asked[k];
    eg_status s = f->transport->take(f->carrier, k, &reply, &lost);
    if (s == EG_OK && !lost)
        s = round_hear(r, r->asked[k], &reply);
    else if (s == EG_OK)
        s = round_lose(r, r->asked[k]);
    if (s == EG_OK && lost)
        s = eg_late_keep(r, r->asked[k], NULL, &later);
    eg_reply_fini(&reply);
    return s;
}

/* Whom the exchange asks; the others are left out. */
static eg_status round_ask(eg_round *r)
{
    free(r->asked);
    r->n_asked = 0;
    EG_TRY(eg_alloc((size_t)r->now->n + 1, sizeof *r->asked, &r->asked));
    for (int64_t i = 0; i < r->now->n; i++)
        if (eg_late_asks(r, i))
            r->asked[r->n_asked++] = i;
        else
            EG_TRY(round_lose(r, i));
    return EG_OK;
}

static eg_status round_tell_asked(void *context, int64_t k, eg_turn *out, eg_bundle **own)
{
    const eg_round *r = context;
    return eg_round_tell(context, r->asked[k], out, own);
}

/* All who are asked take their turns. */
static eg_status round_turns(eg_round *r)
{
    eg_federation *f = r->f;
    const int64_t n = r->n_asked;
    const eg_job job = {.n = n,
                        .down = r->down,
                        .tell = round_tell_asked,
                        .context = r,
                        .waits_late =
                            r->exchange == EG_TRAINING && eg_experiment_waits_late(f->e)};
    eg_moment at = {
        .at = EG_AT_CLIENTS, .what = f->agreed.exchanges[r->exchange].is.name, .of = n};
    eg_status s = EG_OK;
    if (n == 0)
        return EG_OK;
    EG_TRY(f->transport->begin(f->carrier, &job));
    for (; at.done < n && s == EG_OK; at.done++) {
        eg_federation_moment(f, at);
        s = round_take(r, at.done);
    }
    f->transport->end(f->carrier);
    return s;
}

/* Sends, has every client take its turn, and collects the answers in client order. */
static eg_status round_exchange(eg_round *r, size_t x)
{
    r->exchange = x;
    if (r->f->agreed.hides)
        return eg_round_hidden(r);
    EG_TRY(eg_round_send(r));
    EG_TRY(round_ask(r));
    eg_status s = round_turns(r);
    if (s == EG_OK)
        s = eg_late_count(r);
    if (s == EG_OK && r->answers.n > 0)
        s = round_collect_mean(r);
    eg_bundle_mean_fini(&r->answers);
    return s;
}

/* Why the new model cannot be the model, for the log; NULL: it can, and the step of the
 * server's optimiser that led to it counts. */
static const char *round_judge(const eg_federation *f)
{
    if (!eg_all_finite(f->next_param, f->server.n_params) ||
        !eg_all_finite(f->next_state, f->server.n_state))
        return "the new model is not finite: the last one stays";
    if (f->optimizer && !eg_server_optimizer_keep(f->optimizer))
        return "the state of server.optimizer would not be finite: the last model stays";
    return NULL;
}

/* The mean becomes the model, once the parts have had their say; *done is false if it cannot.
 */
static eg_status round_aggregate(eg_federation *f, bool *done)
{
    *done = true;
    eg_federation_moment(f, (eg_moment){.at = EG_AT_SERVER, .what = ""});
    if (f->agreed.all.personal)
        return EG_OK;
    if (!f->agreed.hides) /* else the sum is there already */
        EG_TRY(eg_federation_mean_get(f));
    if (f->optimizer)
        eg_server_optimizer_step(f->optimizer, f->param, f->next_param, f->next_param);
    EG_TRY(eg_chain_refine(&f->chain, &f->server, f->next_param, f->next_state));
    const char *flaw = round_judge(f);
    *done = !flaw;
    if (flaw)
        return eg_run_write_skipped(f->folder, f->server.round + 1, flaw);
    memcpy(f->param, f->next_param, f->server.n_params * sizeof *f->param);
    if (f->server.n_state)
        memcpy(f->state, f->next_state, f->server.n_state * sizeof *f->state);
    return EG_OK;
}

/* What is told with noise may not depend on how many there are. */
static bool round_is_enough(const eg_round *r)
{
    const eg_experiment *e = r->f->e;
    return !*r->abandoned && (e->dp.sigma > 0 || r->good >= e->server.min_clients);
}

static eg_status round_train(eg_round *r)
{
    eg_federation *f = r->f;
    eg_federation_mean_begin(f);
    EG_TRY(eg_late_begin(f));
    EG_TRY(round_meet(f, &r->chosen));
    if (!f->agreed.hides)
        EG_TRY(eg_alloc((size_t)r->chosen.n, sizeof *r->losses, &r->losses));
    for (int64_t i = 0; r->losses && i < r->chosen.n; i++)
        r->losses[i] = NAN;
    EG_TRY(round_exchange(r, EG_TRAINING));
    if (*r->abandoned)
        return eg_run_write_skipped(f->folder, f->server.round + 1, r->abandoned);
    if (!round_is_enough(r))
        return eg_run_write_skipped(f->folder, f->server.round + 1, "too few uploads are good");
    bool done;
    EG_TRY(round_aggregate(f, &done));
    return done ? eg_chain_finish(&f->chain, &f->server, EG_TRAINING) : EG_OK;
}

/* Those of the round and all who would be among them if they had data, in client order. */
static eg_status round_gather(eg_round *r)
{
    eg_federation *f = r->f;
    int64_t n = eg_scenario_n_clients(f->feed.scenario), k = 0;
    eg_view view;
    if (r->all.n > 0)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)n, sizeof *r->list, &r->list));
    for (int64_t i = 0; i < n; i++) {
        bool chosen = k < r->chosen.n && r->chosen.clients[k] == i;
        k += chosen;
        if (chosen || eg_cursor_idle(f->cursor, i, &view))
            r->list[r->all.n++] = (int32_t)i;
    }
    r->all.clients = r->list;
    return round_meet(f, &r->all);
}

/* The exchanges that parts added, at the new model. */
static eg_status round_further(eg_round *r)
{
    eg_federation *f = r->f;
    if (!round_is_enough(r) || !round_syncs(f, f->server.round + 1))
        return EG_OK;
    for (size_t x = EG_TRAINING + 1; x < f->agreed.n_exchanges; x++) {
        if (!eg_chain_wants(&f->chain, &f->server, x))
            continue;
        if (f->agreed.exchanges[x].is.everyone)
            EG_TRY(round_gather(r));
        r->now = f->agreed.exchanges[x].is.everyone ? &r->all : &r->chosen;
        EG_TRY(round_exchange(r, x));
        EG_TRY(eg_chain_finish(&f->chain, &f->server, x));
    }
    return EG_OK;
}

/* Those of the clients whom the transport lost, into list [n]; returns how many. */
static size_t round_lost(const eg_round *r, int64_t *list)
{
    size_t n = 0;
    for (int64_t i = 0; r->f->lost && i < r->chosen.n; i++)
        if (r->f->lost[i])
            list[n++] = r->chosen.clients[i];
    return n;
}

static eg_status round_log(const eg_round *r, int64_t number, double seconds)
{
    int64_t *clients; /* [2, n]: all, and those lost */
    EG_TRY(eg_alloc(2 * (size_t)r->chosen.n, sizeof *clients, &clients));
    for (int64_t i = 0; i < r->chosen.n; i++)
        clients[i] = r->chosen.clients[i];
    size_t n_lost = round_lost(r, clients + r->chosen.n), n_held = 0;
    for (int64_t k = 0; r->held && k < eg_scenario_n_classes(r->f->feed.scenario); k++)
        n_held = r->held[k] ? (size_t)k + 1 : n_held;
    eg_status s = eg_run_write_round(
        r->f->folder, &(eg_round_event){.round = number,
                                        .clients = clients,
                                        .n_clients = (size_t)r->chosen.n,
                                        .lost = n_lost ? clients + r->chosen.n : NULL,
                                        .n_lost = n_lost,
                                        .samples = (int64_t)r->samples,
                                        .loss = r->f->round_loss,
                                        .losses = r->losses,
                                        .held = n_held ? r->held : NULL,
                                        .n_held = n_held,
                                        .held_by = r->held_by,
                                        .bytes_up = (int64_t)r->bytes_up,
                                        .bytes_down = (int64_t)r->bytes_down,
                                        .seconds = seconds});
    r->f->n_losses += n_lost;
    free(clients);
    return s;
}

eg_status eg_federation_round(eg_federation *f)
{
    int64_t number = eg_cursor_round(f->cursor) + 1;
    eg_round r = {.f = f};
    double start = eg_seconds();
    f->server.round = number - 1;
    free(f->lost);
    f->lost = NULL;
    r.chosen.clients = eg_cursor_selected(f->cursor, &r.chosen.n);
    r.now = &r.chosen;
    f->round_loss = NAN;
    if (!eg_chain_wants(&f->chain, &f->server, EG_TRAINING))
        return EG_OK;
    if (r.chosen.n == 0 && !(f->e->dp.sigma > 0)) /* noise says nothing of how many there are */
        return eg_run_write_skipped(f->folder, number, "no client has data");
    eg_status s = round_train(&r);
    if (s == EG_OK)
        s = round_further(&r);
    f->bytes_up += r.bytes_up;
    f->bytes_down += r.bytes_down;
    if (!f->agreed.hides)
        f->round_loss = r.samples > 0 ? r.loss / r.samples : NAN;
    if (s == EG_OK)
        s = round_log(&r, number, eg_seconds() - start);
    eg_bundle_free(r.down);
    free(r.losses);
    free(r.held);
    free(r.asked);
    free(r.chosen.met);
    free(r.all.met);
    free(r.list);
    return s;
}
