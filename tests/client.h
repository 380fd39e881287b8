/* client.h - one client on one worker, made from an experiment's text: for tests of what a part
 * does inside a client.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_CLIENT_H
#define EG_TEST_CLIENT_H

#include "files.h"

#include "fed/worker.h"

typedef struct client {
    char folder[FILES_PATH];
    eg_experiment *e;
    eg_feed feed;
    eg_net *net;
    eg_worker worker;
    eg_client *c; /* the worker's */
    eg_cursor *cursor;
} client;

/* Opens the first run of an experiment with initial weights; set: one more setting, or NULL. */
static inline void client_open(client *k, const char *text, const char *set)
{
    char file[FILES_PATH * 2];
    memset(k, 0, sizeof *k);
    files_folder(k->folder);
    files_write(k->folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", k->folder);
    assert_ok(eg_experiment_load(file, NULL, set ? 1 : 0, &set, &k->e));
    assert_ok(eg_feed_open(k->e, 3, NULL, &k->feed));
    assert_ok(eg_net_new(&(eg_net_spec){.model = k->e->model,
                                        .options = k->e->model_options,
                                        .channels = k->feed.channels,
                                        .height = k->feed.height,
                                        .width = k->feed.width,
                                        .classes = eg_scenario_n_classes(k->feed.scenario)},
                         &k->net));
    assert_ok(eg_worker_open(k->e, &k->feed, k->net, &k->worker));
    assert_ok(eg_cursor_new(k->feed.scenario, &k->cursor));
    eg_params_init(eg_net_params(k->net), 3, k->worker.param, k->worker.state);
    k->c = &k->worker.client;
    k->c->seed = 3;
}

static inline void client_close(client *k)
{
    eg_cursor_free(k->cursor);
    eg_worker_close(&k->worker);
    eg_net_free(k->net);
    eg_feed_close(&k->feed);
    eg_experiment_free(k->e);
    files_remove(k->folder);
}

/* The first n samples of a client's stage. */
static inline void client_samples(const client *k, int64_t stage, int64_t n, eg_sample *out)
{
    int64_t n_spans, got = 0;
    const eg_span *spans = eg_scenario_spans(k->feed.scenario, k->c->id, stage, &n_spans);
    for (int64_t s = 0; s < n_spans; s++)
        for (int64_t i = 0; i < spans[s].n && got < n; i++)
            out[got++] = (eg_sample){spans[s].task, spans[s].ids[i]};
    assert_int_equal(got, n);
}

/* The cursor's round for one client that was given the initial weights: trains it with what it
 * kept, which is replaced. Leaves the client as its last hook saw it. */
static inline eg_status client_round(client *k, int64_t id, eg_bundle **kept)
{
    eg_turn t = {.id = id, .round = eg_cursor_round(k->cursor), .seed = 3, .kept = *kept};
    eg_bundle *down;
    assert_true(eg_cursor_view(k->cursor, id, &t.view));
    t.told_boundary =
        t.view.first && eg_scenario_offers(k->feed.scenario) & EG_OFFERS_BOUNDARIES;
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_new(&t.up));
    assert_ok(eg_bundle_new(&t.keep));
    eg_params_init(eg_net_params(k->net), 3, k->worker.param, k->worker.state);
    assert_ok(eg_bundle_add_flat(down, "param", k->worker.param, k->c->n_params));
    if (k->c->n_state)
        assert_ok(eg_bundle_add_flat(down, "state", k->worker.state, k->c->n_state));
    t.down = down;
    eg_status s = eg_worker_train(&k->worker, &t);
    eg_bundle_free(*kept);
    *kept = t.keep;
    eg_bundle_free(t.up);
    eg_bundle_free(down);
    return s;
}

#endif
