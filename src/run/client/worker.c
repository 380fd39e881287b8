/* worker.c - a worker becomes a client, carries out its turn, and puts away what it leaves.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/flops.h"
#include "run/client/hide.h"
#include "run/client/outputs.h"
#include "run/privacy/members.h"

#include <engram/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eg_status worker_open_client(eg_worker *w)
{
    eg_client *c = &w->client;
    const eg_memory_row row = {
        .sample = w->feed->sample,
        .target = (size_t)w->feed->aim.width,
        .logits = w->agreed->all.logits ? (size_t)eg_net_spec_of(w->net)->classes : 0};
    c->net = w->net;
    c->aim = &w->feed->aim;
    c->worker = w;
    c->scenario = w->feed->scenario;
    c->train = &w->e->train;
    c->hides = w->agreed->hides;
    c->n_classes = eg_net_spec_of(w->net)->classes;
    c->n_params = w->model->n_params;
    c->n_state = w->model->n_state;
    c->param = w->model->param, c->grad = w->model->grad, c->state = w->model->state;
    EG_TRY(eg_alloc((size_t)eg_scenario_n_classes(c->scenario), 1, &w->met));
    return w->e->memory.kind ? eg_memory_new((eg_memory_kind)w->e->memory.kind,
                                             w->e->memory.size, row, &c->memory)
                             : EG_OK;
}

/* A worker runs one plan at a time. */
static eg_status worker_share(eg_worker *w)
{
    eg_program *const all[] = {w->learn,    w->test,     w->both,    w->plain[0],
                               w->plain[1], w->looks[0], w->looks[1]};
    EG_TRY(eg_room_new(&w->room));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        eg_program_share(all[i], w->room);
    w->shelf.room = w->room;
    return EG_OK;
}

static eg_status worker_fill(eg_worker *w)
{
    EG_TRY(eg_chain_open(&w->chain, &w->e->parts, w->agreed, false));
    EG_TRY(eg_worker_learner(w, "model", eg_net_params(w->net), &w->model));
    EG_TRY(eg_params_alloc(eg_net_params(w->net), &w->beside));
    EG_TRY(worker_open_client(w));
    EG_TRY(eg_worker_open_optimizer(w));
    EG_TRY(eg_worker_open_train(w));
    EG_TRY(eg_worker_open_network(w));
    EG_TRY(eg_parts_known(&w->e->parts, w->agreed, w->net, &w->known));
    EG_TRY(eg_worker_open_test(w));
    return worker_share(w);
}

eg_status eg_worker_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                         const eg_agreement *agreed, const char *store, eg_worker *out)
{
    *out = (eg_worker){.e = e, .feed = feed, .net = net, .agreed = agreed, .store = store};
    eg_status s = worker_fill(out);
    if (s != EG_OK)
        eg_worker_close(out);
    return s;
}

void eg_worker_close(eg_worker *w)
{
    eg_team_free(w->team);
    eg_program_free(w->learn);
    eg_program_free(w->test);
    eg_program_free(w->both);
    for (int i = 0; i < 2; i++) {
        eg_program_free(w->plain[i]);
        eg_program_free(w->looks[i]);
    }
    eg_chain_close(&w->chain);
    eg_shelf_fini(&w->shelf);
    eg_room_free(w->room);
    eg_bundle_free(w->known);
    eg_memory_free(w->client.memory);
    eg_worker_free_samples(w);
    free(w->beside);
    free(w->pieces);
    free(w->replayed);
    free(w->order);
    free(w->picked);
    free(w->fed);
    free(w->truth);
    free(w->met);
    eg_members_free(w->members);
    memset(w, 0, sizeof *w); /* to close it twice does nothing */
}

/* The rows of a kept memory, all of one number; the memory only reads them. */
static eg_status worker_find_rows(const eg_worker *w, const eg_bundle *kept,
                                  eg_memory_rows *out)
{
    const float *x, *labels, *logits = NULL;
    const eg_aim *aim = &w->feed->aim;
    size_t n, width = (size_t)aim->width;
    int64_t outputs = w->client.n_classes;
    EG_TRY(eg_bundle_need_count(kept, "memory.seen", INT64_C(1) << 53, &out->seen));
    if (!eg_bundle_find(kept, "memory.labels", &n))
        return EG_OK; /* it is empty yet */
    EG_TRY(aim->kind->classes
               ? eg_bundle_need_counts(kept, "memory.labels", n, outputs - 1, &labels)
               : eg_bundle_need(kept, "memory.labels", n, &labels));
    if (n % width)
        return eg_fail(EG_EFORMAT, "'memory.labels' has %zu numbers for targets of %zu", n,
                       width);
    n /= width;
    EG_TRY(eg_bundle_need(kept, "memory.x", n * out->sample, &x));
    if (eg_bundle_find(kept, "memory.logits", NULL))
        EG_TRY(eg_bundle_need(kept, "memory.logits", n * (size_t)outputs, &logits));
    out->n = (int64_t)n;
    out->x = (float *)(uintptr_t)x;
    out->labels = (float *)(uintptr_t)labels;
    out->logits = (float *)(uintptr_t)logits;
    return EG_OK;
}

static eg_status worker_recall_memory(eg_worker *w)
{
    eg_memory_rows rows = {.sample = w->feed->sample};
    const eg_bundle *kept;
    EG_TRY(eg_client_recall(&w->client, "memory", &kept));
    if (kept)
        EG_TRY(eg_blame(worker_find_rows(w, kept, &rows), "the record 'memory'"));
    w->n_offered = rows.seen;
    return eg_memory_set(w->client.memory, &rows);
}

static eg_status worker_fill_memory(const eg_worker *w, eg_bundle *to)
{
    eg_memory_rows r = eg_memory_get(w->client.memory);
    EG_TRY(eg_bundle_scalar(to, "memory.seen", (double)r.seen));
    if (r.n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_add(to, "memory.x", eg_dims(r.n, (int64_t)r.sample), r.x));
    if (r.logits)
        EG_TRY(eg_bundle_add(to, "memory.logits", eg_dims(r.n, w->client.n_classes), r.logits));
    return eg_bundle_add(to, "memory.labels", eg_aim_shape(&w->feed->aim, r.n), r.labels);
}

/* *out is true if the client resumes from its own model: it has one, and models are personal or
 * nothing was broadcast since. */
static eg_status worker_goes_on(const eg_worker *w, const eg_bundle *own, bool *out)
{
    int64_t last, interval = w->e->server.interval;
    *out = false;
    if (!w->turn->own || !own)
        return EG_OK;
    EG_TRY(eg_bundle_need_count(own, "own.round", eg_scenario_n_rounds(w->client.scenario),
                                &last));
    *out = w->agreed->all.personal || last / interval == w->turn->round / interval;
    return EG_OK;
}

/* Where the client starts from: the model of these names. */
static eg_status worker_find_model(eg_client *c, const char *param, const char *state,
                                   const eg_bundle *from)
{
    EG_TRY(eg_bundle_need(from, param, c->n_params, &c->global));
    c->global_state = NULL;
    return c->n_state ? eg_bundle_need(from, state, c->n_state, &c->global_state) : EG_OK;
}

/* The client's model: its own as it was last, or the one it received. */
static eg_status worker_restore_model(eg_worker *w)
{
    eg_client *c = &w->client;
    const eg_bundle *own;
    bool goes_on, found = false, personal = w->agreed->all.personal;
    EG_TRY(eg_client_recall(c, "own", &own));
    EG_TRY(eg_blame(worker_find_model(c, "param", "state", w->turn->down), "the download"));
    EG_TRY(eg_blame(worker_goes_on(w, own, &goes_on), "the record 'own'"));
    if (goes_on)
        EG_TRY(eg_learner_recall(w->model, "own", own, &found));
    if (found && !personal)
        EG_TRY(worker_find_model(c, "own.param", "own.state", own));
    if (found)
        return EG_OK;
    memcpy(c->param, c->global, c->n_params * sizeof *c->param);
    if (c->n_state)
        memcpy(c->state, c->global_state, c->n_state * sizeof *c->state);
    return EG_OK;
}

static eg_status worker_fill_model(const eg_worker *w, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, "own.round", (double)w->turn->round));
    return eg_learner_keep(w->model, "own", to);
}

static eg_status worker_fill_uploaded(const eg_worker *w, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, EG_UPLOADED ".round", (double)w->turn->round));
    return eg_learner_keep(w->model, EG_UPLOADED, to);
}

bool eg_worker_tests_uploads(const eg_experiment *e, const eg_scenario *s,
                             const eg_agreement *agreed, int64_t round)
{
    return e->eval.local && !agreed->all.personal && !agreed->has_models &&
           !eg_scenario_streams(s) && eg_scenario_task_ends(s, round);
}

/* Keeps a record that fill makes. */
static eg_status worker_keep(eg_worker *w, const char *name,
                             eg_status (*fill)(const eg_worker *w, eg_bundle *to))
{
    eg_bundle *b;
    EG_TRY(eg_bundle_new(&b));
    EG_TRY(eg_bundle_filled(b, fill(w, b)));
    return eg_client_keep(&w->client, name, b);
}

/* The client as it is at the beginning of a turn. */
static eg_status worker_become(eg_worker *w)
{
    const eg_turn *t = w->turn;
    eg_client *c = &w->client;
    if (t->exchange >= w->agreed->n_exchanges ||
        !eg_scenario_view(c->scenario, t->id, t->stage, &c->view))
        return eg_fail(EG_EINVAL, "there is no such turn");
    c->id = t->id, c->round = t->round, c->seed = t->seed;
    c->view.left = t->left;
    c->view.first = t->stage != t->left;
    c->view.last = t->last;
    c->told_boundary = t->told_boundary;
    c->has_trained = t->left >= 0;
    c->step = 0, c->epoch = 0, c->loss = 0, c->n_batches = 0;
    w->n_gradients = 0;
    c->lr =
        w->e->train.lr * eg_experiment_rate(w->e, c->round, eg_scenario_n_rounds(c->scenario));
    /* No plan writes the gaps between tensors. What a client that diverged left there must not
     * reach the next one. */
    memset(c->grad, 0, c->n_params * sizeof *c->grad);
    memset(w->beside, 0, c->n_params * sizeof *w->beside);
    eg_chain_reset(&w->chain);
    eg_worker_clear_samples(w);
    eg_worker_meet(w);
    EG_TRY(worker_restore_model(w));
    if (c->memory)
        EG_TRY(worker_recall_memory(w));
    return eg_chain_download(&w->chain, c, t->exchange, t->down);
}

static eg_status worker_fill_known(const eg_worker *w, eg_bundle *to)
{
    eg_worker *own = w->client.worker;
    EG_TRY(eg_chain_know_own(&own->chain, &own->client, to));
    return eg_bundle_n(to) ? eg_bundle_check(to, w->known) : EG_OK;
}

/* At the end of a stage: how many rows of each class the memory holds, for the page. It leaves
 * no device, and is no part of what is summed in secret. */
static eg_status worker_tell_memory(eg_worker *w)
{
    eg_client *c = &w->client;
    eg_memory_rows rows = eg_memory_get(c->memory);
    const int64_t most = EG_MAX_NOTES / 2, n = c->n_classes / w->feed->fan;
    if (rows.n == 0 || n > most || w->reply->n_notes > (size_t)(EG_MAX_NOTES - n))
        return EG_OK;
    int64_t *held;
    EG_TRY(eg_alloc((size_t)n, sizeof *held, &held));
    for (int64_t i = 0; i < rows.n; i++)
        held[(int64_t)rows.labels[i] / w->feed->fan]++;
    eg_status s = EG_OK;
    for (int64_t k = 0; k < n && s == EG_OK; k++) {
        char name[64];
        snprintf(name, sizeof name, EG_HELD "%" PRId64, k);
        s = held[k] ? eg_client_note(c, name, (double)held[k]) : EG_OK;
    }
    free(held);
    return s;
}

/* Whether it is: known at the end of a stage alone. */
static bool worker_tells_memory(const eg_worker *w)
{
    return w->client.memory && w->agreed->all.memory && w->turn->last && !w->apart &&
           !w->agreed->hides && w->feed->aim.kind->classes;
}

/* What training tells the server, and what the client keeps for itself. */
static eg_status worker_finish(eg_worker *w)
{
    eg_client *c = &w->client;
    eg_bundle *up = w->reply->up;
    bool personal = w->agreed->all.personal;
    EG_TRY(eg_bundle_scalar(up, "samples", (double)c->view.n));
    EG_TRY(eg_bundle_scalar(up, "loss", c->n_batches ? c->loss / (double)c->n_batches : 0));
    if (!personal) {
        EG_TRY(eg_bundle_add_flat(up, "param", c->param, c->n_params));
        if (c->n_state)
            EG_TRY(eg_bundle_add_flat(up, "state", c->state, c->n_state));
    }
    if (personal || w->e->server.interval > 1)
        EG_TRY(worker_keep(w, "own", worker_fill_model));
    if (personal && w->known)
        EG_TRY(worker_keep(w, EG_KNOWN, worker_fill_known));
    if (eg_worker_tests_uploads(w->e, c->scenario, w->agreed, c->round))
        EG_TRY(worker_keep(w, EG_UPLOADED, worker_fill_uploaded));
    /* Rows that were offered once per task stay as they were in all its later rounds: they are
     * not written again. */
    if (c->memory && eg_memory_get(c->memory).seen != w->n_offered)
        EG_TRY(worker_keep(w, "memory", worker_fill_memory));
    if (worker_tells_memory(w))
        EG_TRY(worker_tell_memory(w));
    return eg_worker_keep_optimizer(w);
}

static eg_status worker_training(eg_worker *w)
{
    eg_client *c = &w->client;
    EG_TRY(eg_worker_begin_optimizer(w));
    if (c->told_boundary)
        EG_TRY(eg_chain_task(&w->chain, c));
    EG_TRY(eg_worker_train(w));
    EG_TRY(eg_chain_trained(&w->chain, c));
    return worker_finish(w);
}

/* All of a turn but the beginning and the end of its reply. */
static eg_status worker_answer(eg_worker *w)
{
    EG_TRY(worker_become(w));
    if (w->turn->exchange == EG_TRAINING)
        EG_TRY(worker_training(w));
    EG_TRY(eg_chain_answer(&w->chain, &w->client, w->turn->exchange, w->reply->up));
    if (w->agreed->hides)
        EG_TRY(eg_worker_hide(w));
    return eg_records_save(w->records, &w->reply->kept);
}

/* A server's streams are those of a client before its first batch, and of another step. */
eg_rng eg_piece_stream(const eg_piece *p, int64_t of, uint32_t draw)
{
    enum { SERVER_STEP = 0xfffffff }; /* no client takes so many */
    return eg_part_stream(&(eg_part_draw){.part = p->part,
                                          .seed = p->seed,
                                          .client = of,
                                          .when = p->round,
                                          .step = SERVER_STEP,
                                          .draw = draw});
}

static eg_status worker_do_piece(eg_worker *w, const eg_turn *turn, eg_bundle *to)
{
    if (turn->piece.part >= w->e->parts.n)
        return eg_fail(EG_EINVAL, "there is no such work");
    return eg_chain_work(&w->chain, turn->piece.part,
                         &(eg_piece){.i = turn->piece.i,
                                     .worker = w,
                                     .net = w->net,
                                     .from = turn->down,
                                     .round = turn->round,
                                     .seed = turn->seed,
                                     .part = eg_parts_stream(&w->e->parts, turn->piece.part)},
                         to);
}

eg_status eg_worker_take_work(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    double since = eg_seconds();
    uint64_t flops = eg_flops();
    *out = (eg_reply){0};
    EG_TRY(eg_bundle_new(&out->up));
    eg_status s = worker_do_piece(w, turn, out->up);
    if (s != EG_OK)
        eg_reply_fini(out);
    out->seconds = eg_seconds() - since;
    out->flops = eg_flops() - flops;
    eg_flops_set(flops); /* the thread may be the server's own, which counts replies */
    return s;
}

static eg_status worker_take(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    double since = eg_seconds();
    *out = (eg_reply){0};
    if (turn->kind == EG_TURN_TEST)
        return eg_worker_take_test(w, turn, out);
    if (turn->kind == EG_TURN_PIECE)
        return eg_worker_take_work(w, turn, out);
    if (w->agreed->hides && eg_worker_is_step(turn))
        return eg_worker_step(w, turn, out);
    w->turn = turn, w->reply = out;
    uint64_t flops = eg_flops();
    memset(w->chain.seconds, 0, sizeof w->chain.seconds);
    EG_TRY(eg_records_open(w->store, turn->id, &turn->kept, turn->committed, &w->records));
    eg_status s = eg_bundle_new(&out->up);
    if (s == EG_OK)
        s = worker_answer(w);
    eg_records_free(w->records);
    w->records = NULL;
    if (s != EG_OK)
        eg_reply_fini(out);
    out->seconds = eg_seconds() - since;
    out->flops = eg_flops() - flops;
    memcpy(out->part_seconds, w->chain.seconds, sizeof out->part_seconds);
    return s;
}

/* A team of the size that it may have now; a worker of one thread has none. */
static eg_status worker_gather(eg_worker *w)
{
    if (w->threads <= 1 || eg_team_size(w->team) == w->threads)
        return EG_OK;
    eg_team_free(w->team);
    w->team = NULL;
    return eg_team_new(w->threads, &w->team);
}

eg_status eg_worker_turn(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    eg_team *before = eg_team_here();
    *out = (eg_reply){0};
    EG_TRY(worker_gather(w));
    eg_team_enter(w->threads > 1 ? w->team : NULL);
    eg_status s = worker_take(w, turn, out);
    eg_team_enter(before);
    return s;
}

void eg_workers_share(eg_worker *workers, int n, int64_t n_turns, int threads)
{
    int busy = n_turns < n ? (int)n_turns : n;
    int each = busy > 0 ? threads / busy : 1;
    each = each < EG_MAX_TEAM ? each : EG_MAX_TEAM;
    for (int i = 0; i < n; i++)
        workers[i].threads = each;
}

eg_status eg_worker_exhibit(eg_worker *w, int64_t client, const eg_receipt *kept,
                            int64_t committed, struct eg_gallery *to)
{
    EG_TRY(eg_records_open(w->store, client, kept, committed, &w->records));
    w->client.id = client;
    eg_chain_reset(&w->chain);
    eg_status s = eg_chain_show(&w->chain, &w->client, to);
    eg_records_free(w->records);
    w->records = NULL;
    return eg_blame(s, "client %lld", (long long)client);
}

eg_status eg_worker_program(eg_worker *w, const char *key, eg_recorder record, void *context,
                            eg_program **out)
{
    return eg_shelf_program(&w->shelf, key, record, context, out);
}

eg_status eg_worker_learner(eg_worker *w, const char *key, const eg_params *table,
                            eg_learner **out)
{
    return eg_shelf_learner(&w->shelf, key, table, out);
}

static void worker_end_generator(void *generator)
{
    eg_generator_free(generator);
}

eg_status eg_worker_generator(eg_worker *w, const char *key, const eg_generator_spec *spec,
                              eg_generator **out)
{
    eg_shelf_item *item;
    EG_TRY(eg_shelf_find(&w->shelf, key, &item));
    if (!item->thing) {
        eg_generator *made;
        EG_TRY(eg_generator_new(spec, &made));
        item->thing = made, item->end = worker_end_generator;
    }
    EG_ASSERT(item->end == worker_end_generator);
    *out = item->thing;
    return EG_OK;
}
