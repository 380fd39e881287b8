/* one_client.h - one client through the real worker, made from an experiment's text.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_ONE_CLIENT_H
#define EG_TEST_ONE_CLIENT_H

#include "files.h"

#include "client/worker.h"

typedef struct one_client {
    eg_experiment *e;
    eg_feed feed;
    eg_net *net;
    eg_cursor *cursor;
    eg_worker worker;
    eg_client *c;                /* the worker's */
    eg_bundle *down, *kept, *up; /* of the round that comes, and of the last one */
} one_client;

enum { ONE_CLIENT_SEED = 3 };

/* Opens the first run of an experiment's text with initial weights; set is "key=value" or
 * NULL. */
static inline void one_client_open(one_client *o, const char *text, const char *set)
{
    char folder[FILES_PATH], file[FILES_PATH * 2];
    memset(o, 0, sizeof *o);
    files_folder(folder);
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, NULL, set ? 1 : 0, &set, &o->e));
    files_remove(folder);
    assert_ok(eg_feed_open(o->e, ONE_CLIENT_SEED, NULL, &o->feed));
    const eg_net_spec spec = eg_feed_net(o->e, &o->feed);
    assert_ok(eg_net_new(&spec, &o->net));
    assert_ok(eg_worker_open(o->e, &o->feed, o->net, &o->worker));
    assert_ok(eg_cursor_new(o->feed.scenario, &o->cursor));
    const eg_params *p = eg_net_params(o->net);
    eg_params_init(p, ONE_CLIENT_SEED, o->worker.param, o->worker.state);
    o->c = &o->worker.client;
    o->c->seed = ONE_CLIENT_SEED;
    assert_ok(eg_bundle_new(&o->down));
    assert_ok(eg_bundle_add_flat(o->down, "param", o->worker.param, eg_params_length(p)));
    if (eg_state_length(p))
        assert_ok(eg_bundle_add_flat(o->down, "state", o->worker.state, eg_state_length(p)));
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

/* The cursor's round for one client that receives o->down: trains it with what it kept, which
 * is replaced. Leaves the client as its last hook saw it, and its upload in o->up. */
static inline eg_status one_client_turn(one_client *o, int64_t id, eg_bundle **kept)
{
    eg_turn turn = {.id = id,
                    .round = eg_cursor_round(o->cursor),
                    .seed = ONE_CLIENT_SEED,
                    .cursor = o->cursor,
                    .down = o->down,
                    .kept = *kept};
    assert_true(eg_cursor_view(o->cursor, id, &turn.view));
    turn.told_boundary =
        turn.view.first && eg_scenario_offers(o->feed.scenario) & EG_OFFERS_BOUNDARIES;
    eg_bundle_free(o->up);
    assert_ok(eg_bundle_new(&o->up));
    assert_ok(eg_bundle_new(&turn.keep));
    turn.up = o->up;
    eg_status s = eg_worker_train(&o->worker, &turn);
    eg_bundle_free(*kept);
    *kept = turn.keep;
    return s;
}

/* One round of client 0: what it uploads is what it receives in the next. */
static inline void one_client_train(one_client *o)
{
    assert_ok(one_client_turn(o, 0, &o->kept));
    eg_bundle_clear(o->down);
    assert_ok(eg_bundle_add_flat(o->down, "param", o->c->param, o->c->n_params));
    if (o->c->n_state)
        assert_ok(eg_bundle_add_flat(o->down, "state", o->c->state, o->c->n_state));
    eg_cursor_next(o->cursor);
}

static inline void one_client_close(one_client *o)
{
    eg_bundle_free(o->down);
    eg_bundle_free(o->kept);
    eg_bundle_free(o->up);
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
    *n = o.worker.client.n_params;
    float *out = malloc(*n * sizeof *out);
    assert_non_null(out);
    memcpy(out, o.worker.param, *n * sizeof *out);
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
