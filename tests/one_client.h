/* one_client.h - one client through the real worker, made from an experiment's text.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_ONE_CLIENT_H
#define EG_TEST_ONE_CLIENT_H

#include "files.h"

#include "run/client/outputs.h"
#include "run/client/worker.h"

enum { ONE_CLIENT_SEED = 3, ONE_CLIENT_MAX = 8 };

typedef struct one_client {
    eg_experiment *e;
    eg_feed feed;
    eg_agreement agreed;
    eg_net *net;
    eg_cursor *cursor;
    eg_worker worker;
    eg_client *c;                    /* the worker's */
    eg_bundle *down;                 /* of the round that comes */
    eg_reply reply;                  /* of the last one */
    eg_bundle *up;                   /* the reply's */
    char store[FILES_PATH];          /* where clients keep their records */
    eg_receipt kept[ONE_CLIENT_MAX]; /* every client's */
    eg_records *records;             /* of the client whose turn was last */
} one_client;

static inline void one_client_load(one_client *o, const char *text, const char *set)
{
    char folder[FILES_PATH], file[FILES_PATH * 2];
    files_folder(folder);
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, NULL, set ? 1 : 0, &set, &o->e));
    files_remove(folder);
    assert_ok(eg_feed_open(o->e, ONE_CLIENT_SEED, NULL, &o->feed));
    const eg_setting setting = eg_experiment_setting(o->e, o->feed.scenario);
    assert_ok(eg_parts_setup(&o->e->parts, &setting, o->e->memory.kind != 0, &o->agreed));
}

/* Initial weights, for the worker and for the first download. */
static inline void one_client_init(one_client *o)
{
    eg_client *c = o->c;
    eg_params_init(eg_net_params(o->net), ONE_CLIENT_SEED, c->param, c->state);
    assert_ok(eg_bundle_new(&o->down));
    assert_ok(eg_bundle_add_flat(o->down, "param", c->param, c->n_params));
    if (c->n_state)
        assert_ok(eg_bundle_add_flat(o->down, "state", c->state, c->n_state));
}

/* The part that records the network's features; NULL: none. */
static inline const eg_part *one_client_recording(const eg_experiment *e)
{
    for (size_t i = 0; i < e->parts.n; i++)
        if (e->parts.at[i].method->features)
            return &e->parts.at[i];
    return NULL;
}

/* Opens the first run of an experiment's text, its network with a second head of so many
 * outputs; below 0: of as many as the parts wish. set is "key=value" or NULL. */
static inline void one_client_open_side(one_client *o, const char *text, const char *set,
                                        int64_t side)
{
    memset(o, 0, sizeof *o);
    one_client_load(o, text, set);
    files_folder(o->store);
    eg_net_spec spec = eg_feed_net(o->e, &o->feed);
    spec.side = side < 0 ? o->agreed.all.side : side;
    const eg_part *part = one_client_recording(o->e);
    if (part) {
        const eg_method *m = part->method;
        const eg_graft graft = {&m->component, part->options, m->features};
        assert_ok(eg_net_new_grafted(&spec, &graft, &o->net));
        assert_ok(eg_net_freeze(o->net, o->agreed.all.train));
    } else
        assert_ok(eg_net_new(&spec, &o->net));
    assert_ok(eg_worker_open(o->e, &o->feed, o->net, &o->agreed, o->store, &o->worker));
    assert_ok(eg_cursor_new(o->feed.scenario, &o->cursor));
    o->c = &o->worker.client;
    o->c->seed = ONE_CLIENT_SEED;
    one_client_init(o);
}

static inline void one_client_open(one_client *o, const char *text, const char *set)
{
    one_client_open_side(o, text, set, -1);
}

/* The first n samples of the client's stage. */
static inline void one_client_samples(const one_client *o, int64_t stage, int64_t n,
                                      eg_sample *out)
{
    int64_t n_spans, got = 0;
    const eg_span *spans = eg_scenario_spans(o->feed.scenario, o->c->id, stage, &n_spans);
    for (int64_t s = 0; s < n_spans; s++)
        for (int64_t i = 0; i < spans[s].n && got < n; i++)
            out[got++] = (eg_sample){spans[s].task, spans[s].ids[i]};
    assert_int_equal(got, n);
}

/* Puts a record of a client there before its turn. The bundle is taken. */
static inline void one_client_keep(one_client *o, int64_t id, const char *name,
                                   eg_bundle *record)
{
    eg_records *r;
    assert_ok(eg_records_open(o->store, id, &o->kept[id], 0, &r));
    assert_ok(eg_records_put(r, name, record));
    assert_ok(eg_records_save(r, &o->kept[id]));
    eg_records_free(r);
}

/* A record of the client whose turn was last, as it keeps it after that; NULL: none. */
static inline const eg_bundle *one_client_kept(const one_client *o, const char *name)
{
    const eg_bundle *record;
    assert_ok(eg_records_get(o->records, name, &record));
    return record;
}

/* What the last turn noted under this name; NaN: nothing. */
static inline double one_client_noted(const one_client *o, const char *name)
{
    for (size_t i = 0; i < o->reply.n_notes; i++)
        if (strcmp(o->reply.notes[i].name, name) == 0)
            return o->reply.notes[i].value;
    return NAN;
}

/* Classes met before this round, as the server tells them; free() it. */
static inline uint8_t *one_client_met(const one_client *o, int64_t id)
{
    const eg_scenario *s = o->feed.scenario;
    int rule = o->e->train.classes;
    uint8_t *met = calloc((size_t)eg_scenario_n_classes(s), 1);
    assert_non_null(met);
    eg_classes_mark(s, o->cursor, rule == EG_CLASSES_SEEN ? EG_SERVER : id, met);
    return met;
}

/* A client's turn in an exchange of the cursor's round: it receives o->down and goes on from
 * what it kept. Leaves the client as its last hook saw it, and its answer in o->up. */
static inline eg_status one_client_exchange(one_client *o, int64_t id, size_t exchange)
{
    assert_true(id < ONE_CLIENT_MAX);
    eg_view view;
    assert_true(eg_cursor_view(o->cursor, id, &view));
    uint8_t *met = one_client_met(o, id);
    eg_turn turn = {.exchange = exchange,
                    .id = id,
                    .round = eg_cursor_round(o->cursor),
                    .seed = ONE_CLIENT_SEED,
                    .stage = view.stage,
                    .left = view.left,
                    .last = view.last,
                    .told_boundary = view.first && eg_scenario_offers(o->feed.scenario) &
                                                       EG_OFFERS_BOUNDARIES,
                    .met = met,
                    .kept = o->kept[id],
                    .down = o->down};
    eg_records_free(o->records);
    o->records = NULL;
    eg_reply_fini(&o->reply);
    eg_status s = eg_worker_turn(&o->worker, &turn, &o->reply);
    o->up = o->reply.up;
    if (s == EG_OK)
        o->kept[id] = o->reply.kept;
    assert_ok(eg_records_open(o->store, id, &o->kept[id], 0, &o->records));
    o->worker.turn = NULL;
    o->worker.records = o->records; /* for hooks that a test calls by hand */
    free(met);
    return s;
}

/* A client's training in the cursor's round. */
static inline eg_status one_client_turn(one_client *o, int64_t id)
{
    return one_client_exchange(o, id, EG_TRAINING);
}

/* One round of client 0: what it uploads is what it receives in the next. */
static inline void one_client_train(one_client *o)
{
    assert_ok(one_client_turn(o, 0));
    eg_bundle_clear(o->down);
    assert_ok(eg_bundle_add_flat(o->down, "param", o->c->param, o->c->n_params));
    if (o->c->n_state)
        assert_ok(eg_bundle_add_flat(o->down, "state", o->c->state, o->c->n_state));
    eg_cursor_next(o->cursor, NULL);
}

static inline void one_client_close(one_client *o)
{
    eg_bundle_free(o->down);
    eg_reply_fini(&o->reply);
    eg_records_free(o->records);
    files_remove(o->store);
    eg_cursor_free(o->cursor);
    eg_worker_close(&o->worker);
    eg_net_free(o->net);
    eg_feed_close(&o->feed);
    eg_experiment_free(o->e);
}

/* Trains some rounds and returns the model's values, to be freed. */
static inline float *one_client_run(const char *text, const char *set, int rounds, size_t *n)
{
    one_client o;
    one_client_open(&o, text, set);
    for (int i = 0; i < rounds; i++)
        one_client_train(&o);
    *n = o.c->n_params;
    float *out = malloc(*n * sizeof *out);
    assert_non_null(out);
    memcpy(out, o.c->param, *n * sizeof *out);
    one_client_close(&o);
    return out;
}

/* Whether two runs end with the same bits. */
static inline bool one_client_same(const char *text, const char *set, const char *other,
                                   const char *other_set, int rounds)
{
    size_t n, m;
    float *a = one_client_run(text, set, rounds, &n);
    float *b = one_client_run(other, other_set, rounds, &m);
    assert_int_equal(n, m);
    bool same = memcmp(a, b, n * sizeof *a) == 0;
    free(a);
    free(b);
    return same;
}

#endif
