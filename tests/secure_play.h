/* secure_play.h - a whole secure exchange in memory, in which anybody may fall silent or cheat.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_SECURE_PLAY_H
#define EG_TEST_SECURE_PLAY_H

#include "test.h"

#include <engram/rng.h>

#include "run/privacy/secure_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAY_MOST = 200, PLAY_SENTENCE = 200 };

typedef struct play play;

/* What a cheat does to a message on its way, either way. i: the client's number. Free what is
 * taken out of *m. False: it is silent. */
typedef bool (*play_cheat)(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m);

struct play {
    size_t n, length;
    int64_t ids[PLAY_MOST];
    eg_identity identities[PLAY_MOST];
    eg_secure_client *clients[PLAY_MOST];
    eg_secure_server *server;
    uint32_t *x;                      /* [n, length] */
    eg_secure_step silent[PLAY_MOST]; /* from this step on; EG_SECURE_N_STEPS: never */
    play_cheat cheat;
    eg_status ends[PLAY_MOST]; /* of the client's own steps */
    char why[PLAY_MOST][PLAY_SENTENCE], left_out[PLAY_MOST][PLAY_SENTENCE];
    size_t bytes_up, bytes_down;
    bool repacks; /* clients go through their bytes between steps */
    eg_secure_step reached;
    char abandoned[PLAY_SENTENCE];
};

static bool play_member(const void *context, int64_t client, eg_secret out)
{
    const play *p = context;
    for (size_t i = 0; i < p->n; i++)
        if (p->ids[i] == client) {
            memcpy(out, p->identities[i].public, EG_SECRET);
            return true;
        }
    return false;
}

static eg_secure_of play_of(void)
{
    eg_secure_of of = {.round = 5, .exchange = 1};
    memset(of.run, 7, EG_SECRET);
    return of;
}

static void play_open(play *p, size_t n, size_t length, eg_rng *rng)
{
    memset(p, 0, sizeof *p);
    p->n = n, p->length = length;
    p->x = calloc(n * length + 1, sizeof *p->x);
    for (size_t i = 0; i < n; i++) {
        p->ids[i] = (int64_t)(3 * i + eg_rng_below(rng, 3));
        p->silent[i] = EG_SECURE_N_STEPS;
        eg_identity_new(&p->identities[i]);
    }
    for (size_t i = 0; i < n * length; i++)
        p->x[i] = (uint32_t)eg_rng_below(rng, UINT64_C(1) << 20) - (1 << 19);
    assert_ok(eg_secure_server_new(&(eg_secure_server_how){.of = play_of(),
                                                           .n = n,
                                                           .clients = p->ids,
                                                           .member = play_member,
                                                           .context = p,
                                                           .length = length},
                                   &p->server));
}

static void play_close(play *p)
{
    for (size_t i = 0; i < p->n; i++)
        eg_secure_client_free(p->clients[i]);
    eg_secure_server_free(p->server);
    free(p->x);
}

static void play_repack(play *p, size_t i)
{
    eg_blob bytes;
    if (!p->repacks || !p->clients[i])
        return;
    assert_ok(eg_secure_client_pack(p->clients[i], &bytes));
    eg_secure_client_free(p->clients[i]);
    assert_ok(eg_secure_client_unpack(bytes.bytes, bytes.n, &p->clients[i]));
    free(bytes.bytes);
}

static eg_secure_client_how play_how(const play *p, size_t i)
{
    return (eg_secure_client_how){.of = play_of(),
                                  .me = p->ids[i],
                                  .identity = &p->identities[i],
                                  .member = play_member,
                                  .context = p};
}

/* The client's own part; *y is its vector, masked, of step 3. */
static eg_status play_client(play *p, eg_secure_step step, size_t i, const eg_blob *in,
                             eg_blob *out)
{
    eg_secure_client_how how = play_how(p, i);
    if (step == EG_SECURE_KEYS)
        return eg_secure_client_begin(&how, in->bytes, in->n, &p->clients[i], out);
    EG_TRY(eg_secure_client_hear(p->clients[i], &how, step, in->bytes, in->n, out));
    if (step != EG_SECURE_MASKED)
        return EG_OK;
    out->n = p->length * sizeof *p->x;
    out->bytes = malloc(out->n + 1);
    memcpy(out->bytes, p->x + i * p->length, out->n);
    return eg_secure_client_mask(p->clients[i], (uint32_t *)(void *)out->bytes, p->length);
}

/* One client's turn in a step. */
static void play_turn(play *p, eg_secure_step step, size_t i)
{
    eg_blob in = {0}, out = {0};
    assert_ok(eg_secure_server_tell(p->server, step, i, &in));
    p->bytes_down += in.n;
    bool heard = step < p->silent[i] && (!p->cheat || p->cheat(p, step, i, true, &in));
    if (heard && (step == EG_SECURE_KEYS || p->clients[i])) {
        eg_status s = play_client(p, step, i, &in, &out);
        if (s != EG_OK && p->ends[i] == EG_OK) {
            p->ends[i] = s;
            snprintf(p->why[i], sizeof p->why[i], "%s", eg_error());
        }
        assert_true(s == EG_OK || !out.bytes);
        heard = s == EG_OK && (!p->cheat || p->cheat(p, step, i, false, &out));
        p->bytes_up += heard ? out.n : 0;
        if (heard) {
            s = step == EG_SECURE_MASKED
                    ? eg_secure_server_add(p->server, i, (uint32_t *)(void *)out.bytes,
                                           out.n / sizeof *p->x)
                    : eg_secure_server_hear(p->server, step, i, out.bytes, out.n);
            if (s != EG_OK)
                snprintf(p->left_out[i], sizeof p->left_out[i], "%s", eg_error());
        }
    }
    play_repack(p, i);
    free(in.bytes);
    free(out.bytes);
}

/* All steps; false: abandoned. */
static bool play_run(play *p)
{
    for (int step = 0; step < EG_SECURE_N_STEPS; step++) {
        p->reached = (eg_secure_step)step;
        for (size_t i = 0; i < p->n; i++)
            if (eg_secure_server_asks(p->server, p->reached, i))
                play_turn(p, p->reached, i);
        if (eg_secure_server_close(p->server, p->reached) != EG_OK) {
            snprintf(p->abandoned, sizeof p->abandoned, "%s", eg_error());
            assert_null(eg_secure_server_sum(p->server));
            return false;
        }
    }
    return true;
}

/* The sum is that of those who count, by hand in 64 bits. */
static void play_check(const play *p)
{
    const uint32_t *sum = eg_secure_server_sum(p->server);
    assert_non_null(sum);
    for (size_t k = 0; k < p->length; k++) {
        int64_t by_hand = 0;
        for (size_t i = 0; i < p->n; i++)
            if (eg_secure_server_counts(p->server, i))
                by_hand += (int32_t)p->x[i * p->length + k];
        assert_int_equal((int32_t)sum[k], by_hand);
    }
}

/* A random case: up to `lost` clients fall silent, each at a random step. Whether it goes
 * through depends on how many are left in each step. */
static inline void play_random(size_t n, size_t lost, eg_rng *rng, size_t *abandoned)
{
    static play p;
    play_open(&p, n, 1 + (size_t)eg_rng_below(rng, 40), rng);
    p.repacks = eg_rng_below(rng, 2);
    for (size_t i = 0; i < lost; i++)
        p.silent[eg_rng_below(rng, n)] = (eg_secure_step)eg_rng_below(rng, EG_SECURE_N_STEPS);
    size_t left = 0;
    bool masked_enough;
    for (size_t i = 0; i < n; i++)
        left += p.silent[i] == EG_SECURE_N_STEPS;
    masked_enough = left >= eg_secure_threshold(n);
    bool done = play_run(&p);
    assert_true(n > EG_SECURE_MANY || done == masked_enough);
    *abandoned += !done;
    for (size_t i = 0; i < n && done; i++)
        assert_int_equal(eg_secure_server_counts(p.server, i), p.silent[i] > EG_SECURE_MASKED);
    if (done)
        play_check(&p);
    play_close(&p);
}

#endif
