/* cluster.c - frames between ranks, piece by piece, without ever blocking.
 * SPDX-License-Identifier: Apache-2.0
 *
 * To every rank one piece at a time is on its way, and one is received at a time: two ranks
 * that send each other much never wait for each other, since both go on receiving.
 */
#include "run/transport/cluster_private.h"

#include "base/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cluster_magic[4] = "egr\n";

#define CLUSTER_MAX_BYTES ((uint64_t)1 << 37) /* of a frame */

enum {
    CLUSTER_NAP_LEAST = 20000,  /* nanoseconds */
    CLUSTER_NAP_MOST = 1000000, /* Open MPI has no wait that leaves the core to others */
};

eg_status eg_parcel_new(unsigned char *take, size_t n, eg_parcel **out)
{
    eg_parcel *p;
    eg_status s = eg_alloc(1, sizeof *p, &p);
    if (s != EG_OK) {
        free(take);
        return s;
    }
    *p = (eg_parcel){.bytes = take, .n = n, .uses = 1};
    *out = p;
    return EG_OK;
}

void eg_parcel_drop(eg_parcel *p)
{
    if (!p || --p->uses > 0)
        return;
    free(p->bytes);
    free(p);
}

void eg_cluster_note(eg_cluster *c, const char *format, ...)
{
    va_list args;
    if (c->failed)
        return;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    c->failed = true;
}

/* MPI itself has failed with this rank: there is nobody to say goodbye to. */
static void cluster_break(eg_cluster *c, int rank)
{
    const char *host = eg_cluster_host(c, rank);
    c->broken = true;
    eg_cluster_note(c, "rank %d%s%s cannot be reached", rank, *host ? " on " : "", host);
}

eg_status eg_cluster_post(eg_cluster *c, int to, eg_cluster_kind kind, eg_parcel *what)
{
    cluster_peer *peer = &c->peers[to];
    cluster_post *p;
    EG_TRY(eg_alloc(1, sizeof *p, &p));
    *p = (cluster_post){.head = {.kind = (uint32_t)kind, .n = what->n}, .what = what};
    memcpy(p->head.magic, cluster_magic, sizeof cluster_magic);
    what->uses++;
    *(peer->last ? &peer->last->next : &peer->first) = p;
    peer->last = p;
    c->nap = CLUSTER_NAP_LEAST;
    return EG_OK;
}

eg_status eg_cluster_post_bytes(eg_cluster *c, int to, eg_cluster_kind kind, const void *bytes,
                                size_t n)
{
    unsigned char *copy;
    eg_parcel *p;
    EG_TRY(eg_alloc(n + 1, 1, &copy));
    if (n)
        memcpy(copy, bytes, n);
    EG_TRY(eg_parcel_new(copy, n, &p));
    eg_status s = eg_cluster_post(c, to, kind, p);
    eg_parcel_drop(p);
    return s;
}

/* The first post to a rank has gone. */
static void cluster_pop(cluster_peer *peer)
{
    cluster_post *p = peer->first;
    peer->first = p->next;
    if (!peer->first)
        peer->last = NULL;
    eg_parcel_drop(p->what);
    free(p);
}

/* Begins with the next piece of the first post. */
static void cluster_begin_piece(eg_cluster *c, int to)
{
    cluster_peer *peer = &c->peers[to];
    cluster_post *p = peer->first;
    size_t left = p->what->n - p->sent;
    peer->piece = !p->headed ? 0 : left < c->most ? left : c->most;
    peer->sending =
        p->headed ? c->calls.send(c->calls.self, to, p->what->bytes + p->sent, (int)peer->piece)
                  : c->calls.send(c->calls.self, to, &p->head, (int)sizeof p->head);
    if (!peer->sending)
        cluster_break(c, to);
}

/* Sends to a rank as far as it goes at once. */
static void cluster_send(eg_cluster *c, int to)
{
    cluster_peer *peer = &c->peers[to];
    while (peer->first && !c->broken) {
        if (!peer->sending)
            cluster_begin_piece(c, to);
        int done = peer->sending ? c->calls.done(c->calls.self, peer->sending) : -1;
        if (done == 0)
            return;
        peer->sending = NULL;
        if (done < 0) {
            cluster_break(c, to);
            return;
        }
        cluster_post *p = peer->first;
        p->sent += peer->piece;
        p->headed = true;
        if (p->sent == p->what->n)
            cluster_pop(peer);
    }
}

/* A frame is here whole: the cluster's own are dealt with, others wait to be taken. */
static void cluster_deliver(eg_cluster *c, cluster_arrival *a)
{
    const eg_cluster_frame *f = &a->frame;
    cluster_peer *peer = &c->peers[f->from];
    const char *text = (const char *)f->bytes;
    bool keep = f->kind >= EG_CLUSTER_HELLO || f->kind == EG_CLUSTER_ORDER;
    if (f->kind == EG_CLUSTER_HERE)
        snprintf(peer->host, sizeof peer->host, "%.*s", (int)f->n, text);
    else if (f->kind == EG_CLUSTER_FAIL)
        eg_cluster_note(c, "rank %d on %s: %.*s", f->from, peer->host, (int)f->n, text);
    else if (f->kind == EG_CLUSTER_BYE)
        peer->bye = true;
    else if (f->kind == EG_CLUSTER_END) {
        c->over = true;
        c->code = f->n ? f->bytes[0] : 1;
    } else if (f->kind == EG_CLUSTER_PING &&
               eg_cluster_post_bytes(c, f->from, EG_CLUSTER_PONG, NULL, 0) != EG_OK)
        eg_cluster_note(c, "%s", eg_error());
    if (keep) {
        *(c->last ? &c->last->next : &c->first) = a;
        c->last = a;
    } else {
        free(f->bytes);
        free(a);
    }
}

/* A head has come: makes room for what it announces. */
static eg_status cluster_expect(eg_cluster *c, int from, size_t got)
{
    const cluster_head *h = &c->head;
    cluster_arrival *a;
    if (got != sizeof *h || memcmp(h->magic, cluster_magic, sizeof cluster_magic) != 0 ||
        h->kind >= EG_CLUSTER_N_KINDS || h->n > CLUSTER_MAX_BYTES)
        return eg_fail(EG_EFORMAT, "rank %d sends what is no frame", from);
    EG_TRY(eg_alloc(1, sizeof *a, &a));
    *a = (cluster_arrival){
        .frame = {.from = from, .kind = (eg_cluster_kind)h->kind, .n = (size_t)h->n}};
    eg_status s = eg_alloc((size_t)h->n + 1, 1, &a->frame.bytes);
    if (s != EG_OK) {
        free(a);
        return s;
    }
    c->peers[from].coming = a;
    return EG_OK;
}

/* A piece has come. */
static void cluster_got(eg_cluster *c)
{
    int from = c->receives_from;
    cluster_peer *peer = &c->peers[from];
    peer->heard = eg_seconds();
    c->nap = CLUSTER_NAP_LEAST;
    if (!peer->coming) {
        if (cluster_expect(c, from, c->receives) != EG_OK) {
            eg_cluster_note(c, "%s", eg_error());
            c->broken = true; /* what follows could not be told apart */
        }
    } else {
        peer->coming->got += c->receives;
    }
    cluster_arrival *a = peer->coming;
    if (a && a->got == a->frame.n) {
        peer->coming = NULL;
        cluster_deliver(c, a);
    }
}

/* Begins to receive what waits; false: nothing does. */
static bool cluster_receive(eg_cluster *c)
{
    int from, n;
    int there = c->calls.probe(c->calls.self, &from, &n);
    if (there <= 0) {
        if (there < 0)
            cluster_break(c, c->rank ? 0 : c->size - 1);
        return false;
    }
    cluster_arrival *a = c->peers[from].coming;
    size_t room = a ? a->frame.n - a->got : sizeof c->head;
    if (n < 0 || (size_t)n > room) {
        eg_cluster_note(c, "rank %d sends more than it announced", from);
        c->broken = true;
        return false;
    }
    c->receives_from = from;
    c->receives = (size_t)n;
    c->receiving = c->calls.receive(c->calls.self, from,
                                    a ? (void *)(a->frame.bytes + a->got) : &c->head, n);
    if (!c->receiving)
        cluster_break(c, from);
    return c->receiving != NULL;
}

eg_status eg_cluster_pump(eg_cluster *c)
{
    for (int r = 0; r < c->size && !c->broken; r++)
        cluster_send(c, r);
    while (!c->broken && (c->receiving || cluster_receive(c))) {
        int done = c->calls.done(c->calls.self, c->receiving);
        if (done == 0)
            break;
        c->receiving = NULL;
        if (done < 0)
            cluster_break(c, c->receives_from);
        else
            cluster_got(c);
    }
    if (c->failed)
        return eg_fail(EG_EIO, "%s", c->why);
    return c->over ? eg_fail(EG_EIO, "rank 0 has ended the run") : EG_OK;
}

eg_status eg_cluster_flush(eg_cluster *c)
{
    for (bool left = true; left && !c->broken;) {
        (void)eg_cluster_pump(c); /* what was posted is sent whatever else happened */
        left = false;
        for (int r = 0; r < c->size; r++)
            left |= c->peers[r].first != NULL;
        if (left)
            eg_cluster_nap(c);
    }
    return c->broken ? eg_fail(EG_EIO, "%s", c->why) : EG_OK;
}

bool eg_cluster_take_kind(eg_cluster *c, eg_cluster_kind kind, eg_cluster_frame *out)
{
    cluster_arrival *before = NULL;
    for (cluster_arrival *a = c->first; a; before = a, a = a->next) {
        bool wanted = kind == EG_CLUSTER_N_KINDS ? a->frame.kind != EG_CLUSTER_ORDER
                                                 : a->frame.kind == kind;
        if (!wanted)
            continue;
        *(before ? &before->next : &c->first) = a->next;
        if (c->last == a)
            c->last = before;
        *out = a->frame;
        free(a);
        return true;
    }
    return false;
}

bool eg_cluster_take(eg_cluster *c, eg_cluster_frame *out)
{
    return eg_cluster_take_kind(c, EG_CLUSTER_N_KINDS, out);
}

void eg_cluster_nap(eg_cluster *c)
{
    pthread_mutex_lock(&c->lock);
    if (!c->awake)
        eg_cond_wait(&c->woken, &c->lock, (double)c->nap / 1e9);
    c->nap = c->awake ? CLUSTER_NAP_LEAST : 2 * c->nap;
    c->awake = false;
    pthread_mutex_unlock(&c->lock);
    c->nap = c->nap < CLUSTER_NAP_MOST ? c->nap : CLUSTER_NAP_MOST;
}

void eg_cluster_wake(eg_cluster *c)
{
    pthread_mutex_lock(&c->lock);
    c->awake = true;
    pthread_cond_signal(&c->woken);
    pthread_mutex_unlock(&c->lock);
}

void eg_cluster_set_piece(eg_cluster *c, size_t bytes)
{
    c->most = bytes;
}

int eg_cluster_rank(const eg_cluster *c)
{
    return c->rank;
}

int eg_cluster_size(const eg_cluster *c)
{
    return c->size;
}

const char *eg_cluster_host(const eg_cluster *c, int rank)
{
    return c->peers[rank].host;
}

int64_t eg_cluster_number(eg_cluster *c)
{
    return ++c->number;
}
