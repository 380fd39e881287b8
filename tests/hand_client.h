/* hand_client.h - a client and a server of a few parameters with one part, whose hooks a test
 * calls by hand: no network, no data.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_HAND_CLIENT_H
#define EG_TEST_HAND_CLIENT_H

#include "files.h"

#include "run/server/federation.h"

#include <stdlib.h>

/* A part with options "name", "value", ... up to NULL, and what it wishes. */
typedef struct hand_part {
    eg_parts parts;
    eg_train_opts train;
    eg_agreement agreed;
} hand_part;

static inline void hand_part_open(hand_part *p, const eg_method *m, const char *const *options)
{
    *p = (hand_part){.train = {.epochs = 1, .batch = 1, .lr = 0.1, .optimizer = "sgd"}};
    assert_ok(eg_parts_add(&p->parts, m));
    for (; options && options[0]; options += 2)
        assert_ok(
            eg_opts_set(m->component.opts, p->parts.at[0].options, options[0], options[1]));
    assert_ok(eg_parts_setup(&p->parts, &(eg_setting){.train = &p->train}, true, &p->agreed));
}

typedef struct hand_client {
    hand_part part;
    eg_worker worker; /* just enough for records and random numbers */
    eg_turn turn;
    eg_reply reply;
    char store[FILES_PATH];
    eg_client *c; /* the worker's */
    void *self;   /* the part's state */
} hand_client;

/* param and grad [n_params] stay the caller's; what a test does not need may be NULL. */
static inline void hand_client_open(hand_client *h, const eg_method *m,
                                    const char *const *options, size_t n_params, float *param,
                                    float *grad)
{
    memset(h, 0, sizeof *h);
    hand_part_open(&h->part, m, options);
    assert_ok(eg_chain_open(&h->worker.chain, &h->part.parts, &h->part.agreed, false));
    files_folder(h->store);
    assert_ok(eg_records_open(h->store, 0, &h->turn.kept, 0, &h->worker.records));
    h->worker.reply = &h->reply;
    h->worker.agreed = &h->part.agreed;
    h->worker.turn = &h->turn;
    h->self = h->worker.chain.states[0];
    h->c = &h->worker.client;
    h->c->worker = &h->worker;
    h->c->n_params = n_params, h->c->param = param, h->c->grad = grad;
}

/* The next turn: the part's state begins anew, records stay. */
static inline void hand_client_next(hand_client *h)
{
    assert_ok(eg_records_save(h->worker.records, &h->turn.kept));
    eg_records_free(h->worker.records);
    assert_ok(eg_records_open(h->store, 0, &h->turn.kept, 0, &h->worker.records));
    eg_chain_reset(&h->worker.chain);
}

/* Puts a record there for the next turn, which begins. The bundle is taken. */
static inline void hand_client_keep(hand_client *h, const char *name, eg_bundle *record)
{
    assert_ok(eg_client_keep(h->c, name, record));
    hand_client_next(h);
}

/* A record as it is now; NULL: none. */
static inline const eg_bundle *hand_client_kept(hand_client *h, const char *name)
{
    const eg_bundle *record;
    assert_ok(eg_client_recall(h->c, name, &record));
    return record;
}

static inline void hand_client_close(hand_client *h)
{
    eg_chain_close(&h->worker.chain);
    eg_parts_free(&h->part.parts);
    eg_records_free(h->worker.records);
    eg_reply_fini(&h->reply);
    files_remove(h->store);
}

typedef struct hand_server {
    hand_part part;
    eg_chain chain;
    eg_server s;
    eg_federation *run; /* just enough for records */
    char store[FILES_PATH];
    eg_receipt kept;
    void *self; /* the part's state */
} hand_server;

/* Opens it without the part's begin hook. param [n_params]: the global model, or NULL. */
static inline void hand_server_open(hand_server *h, const eg_method *m,
                                    const char *const *options, size_t n_params,
                                    const float *param)
{
    memset(h, 0, sizeof *h);
    hand_part_open(&h->part, m, options);
    assert_ok(eg_chain_open(&h->chain, &h->part.parts, &h->part.agreed, true));
    h->run = calloc(1, sizeof *h->run);
    assert_non_null(h->run);
    files_folder(h->store);
    assert_ok(eg_records_open(h->store, -1, &h->kept, 0, &h->run->records));
    h->s = (eg_server){
        .train = &h->part.train, .n_params = n_params, .param = param, .run = h->run};
    h->self = h->chain.states[0];
}

/* Has the part save; a record of that name, NULL: none, borrowed until it saves again. */
static inline const eg_bundle *hand_server_save(hand_server *h, const char *name)
{
    const eg_bundle *record;
    assert_ok(eg_chain_save(&h->chain, &h->s));
    assert_ok(eg_records_save(h->run->records, &h->kept));
    assert_ok(eg_records_get(h->run->records, name, &record));
    return record;
}

/* Begins a server where another one, which saved, stopped. */
static inline eg_status hand_server_go_on(hand_server *h, const hand_server *from)
{
    eg_records_free(h->run->records);
    assert_ok(eg_records_open(from->store, -1, &from->kept, 0, &h->run->records));
    return eg_chain_begin(&h->chain, &h->s);
}

static inline void hand_server_close(hand_server *h)
{
    eg_chain_close(&h->chain);
    eg_parts_free(&h->part.parts);
    eg_records_free(h->run->records);
    files_remove(h->store);
    free(h->run);
}

#endif
