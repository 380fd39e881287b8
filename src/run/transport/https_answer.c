/* https_answer.c - what devices ask, and what they are answered.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   GET  /run       what the run is: configuration, seed, what must be alike
 *   GET  /frozen    the tensors of the network that are not trained
 *   GET  /turn      waits for a turn; 204: there is none yet, 410: the run is over
 *   GET  /model     the global model as it was after the last round, as a file
 *   GET  /download  what all clients of the exchange are sent; 409: it is over
 *   POST /alive     the device is still at work on its turn; 409: nobody wants it any more
 *   POST /reply     the answer to a turn; 409 likewise
 *
 * All with ?client=K and the client's key or signature; all but the first also with the session
 * that the device named in its hello, the last three with a number; https_admit.c has how a
 * device gets there. Nothing of a request is used before its key
 * is known to be the client's, and no body is longer than its route's can be. Answers are taken
 * apart by a thread of their own, one after the other, while their requests wait.
 */
#include "run/transport/https.h"

#include <engram/remote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_HELLO = 8192, ANSWER_ENROL = 1024 }; /* bytes of their bodies */

static void answer_page(eg_http_answer *out, eg_http_page *page)
{
    out->code = 200;
    out->page = eg_http_page_hold(page);
}

/* The turn for whose answer of a device somebody still waits; NULL: there is none. */
static eg_https_turn *answer_open(eg_https *h, const eg_https_device *d)
{
    if (d->met && d->late)
        return d->late->turn.there ? NULL : &d->late->at;
    bool waits =
        d->met && d->turn >= 0 && eg_board_find(&h->board, eg_board_number(&h->board, d->turn));
    return waits ? &h->turns[d->turn] : NULL;
}

/* The same, if this number names it. */
static eg_https_turn *answer_find(eg_https *h, const eg_http_request *r)
{
    eg_https_turn *t = answer_open(h, &h->devices[r->client]);
    return t && t->number == r->number ? t : NULL;
}

static void answer_run(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    answer_page(out, h->welcome);
}

/* The frozen part of the network, which a device asks for once. */
static void answer_frozen(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    if (h->frozen)
        answer_page(out, h->frozen);
    else
        eg_http_say(out, 404, "nothing of the network is frozen");
}

static void answer_turn(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    eg_https_turn *t = answer_open(h, d);
    if (h->over) {
        d->told_end = !d->wants_model;
        pthread_cond_broadcast(&h->changed);
        eg_http_say(out, 410, "the run is over");
    } else if (t) {
        t->asked = t->given ? t->asked : eg_seconds();
        if (!t->given)
            eg_https_changed(h);
        t->given = true;
        answer_page(out, t->ask);
    } else if (r->late) {
        eg_http_say(out, 204, "%s", "");
    }
}

/* The model as it was last shown; who has it once the run is over knows that it is. */
static void answer_model(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    h->model_wanted = true;
    if (!h->model && r->late) {
        eg_http_say(out, 503, "there is no model before the first round");
    } else if (h->model) {
        answer_page(out, h->model);
        d->told_end = d->told_end || h->over;
        pthread_cond_broadcast(&h->changed);
    }
}

static void answer_gone(eg_http_answer *out)
{
    eg_http_say(out, 409, "nobody waits for this any more");
}

static void answer_download(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    const eg_https_late *late = h->devices[r->client].late;
    if (h->down && r->number == h->board.exchange)
        answer_page(out, h->down);
    else if (late && r->number == eg_board_exchange_of(late->at.number))
        answer_page(out, late->down);
    else
        answer_gone(out);
}

static void answer_alive(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    if (answer_find(h, r))
        eg_http_say(out, 200, "go on");
    else
        answer_gone(out);
}

/* An answer has come: the reader has it now, and the request waits for what it says. */
static void answer_reply(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    if (!r->body && r->n_body == 0 && d->reads == r->number && r->number >= 0) {
        if (d->read_code || r->late)
            eg_http_say(out, d->read_code ? d->read_code : 200, "%s",
                        d->read_code ? d->read_text : "it is there, and still being read");
        return;
    }
    eg_https_turn *t = answer_find(h, r);
    if (!t || d->reads == r->number) {
        answer_gone(out);
        return;
    }
    if (!r->body) {
        eg_http_say(out, 400, "this is no answer");
        return;
    }
    d->reads = r->number, d->read_code = 0;
    t->body = r->body, t->next = NULL;
    t->is_signed = eg_key_kind_of(h->keys[r->client]) == EG_KEY_PUBLIC;
    memcpy(t->digest, d->body, sizeof t->digest);
    out->takes_body = true;
    *(h->first ? &h->last->next : &h->first) = t;
    h->last = t;
    pthread_cond_signal(&h->more);
}

eg_status eg_https_read(const eg_https *h, const eg_https_turn *t, eg_chunk *body,
                        eg_board_turn *out)
{
    eg_message *m;
    size_t n, n_classes = (size_t)eg_scenario_n_classes(h->site.feed->scenario);
    const void *bytes = eg_chunk_bytes(body, &n);
    if (!bytes)
        return eg_fail(EG_ENOMEM, "no memory to read an answer");
    if (t->is_signed) {
        eg_secret digest;
        eg_signed_digest(bytes, n, digest);
        if (!eg_same(digest, t->digest, sizeof digest))
            return eg_fail(EG_EFORMAT, "it was changed on its way");
    }
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = eg_message_unpack(bytes, n, n_classes, m);
    if (s == EG_OK && m->head.number != t->number)
        s = eg_fail(EG_EFORMAT, "it answers another turn than it says");
    if (s == EG_OK) {
        out->status = eg_message_hear(&out->is, m, &out->reply);
        out->why = out->status == EG_OK ? NULL : strdup(eg_error());
    }
    eg_message_fini(m);
    free(m);
    return s;
}

/* Under the lock: what a reading came to, s, becomes the turn's and the device's. */
static void answer_settle(eg_https *h, eg_https_turn *x, eg_status s, eg_board_turn *read)
{
    char why[EG_HTTPS_TEXT];
    eg_board_turn *t = x->of;
    eg_https_device *d = &h->devices[t->is.id];
    size_t bytes = read->reply.up ? eg_bundle_bytes(read->reply.up) : 0;
    d->read_code = s == EG_OK ? 200 : s == EG_ENOMEM ? 503 : 400;
    snprintf(d->read_text, sizeof d->read_text, "%.250s", s == EG_OK ? "taken" : eg_error());
    if (s == EG_ENOMEM) { /* ours: it may send it again */
        d->reads = -1;
    } else if (!t->there) {
        snprintf(why, sizeof why, "it answered with what is no answer: %.200s", eg_error());
        t->status = s == EG_OK ? read->status : s;
        t->why = s == EG_OK ? read->why : strdup(why);
        read->why = NULL;
        t->there = true;
        d->took = eg_seconds() - x->asked;
        if (!t->is.brief && !x->late)
            h->took[h->n_took++ % EG_HTTPS_TOOK] = d->took;
        d->lost = t->status != EG_OK;
        d->n_answered++;
        h->n_answers++;
        eg_https_changed(h);
        bool stays = h->held + bytes <= eg_https_memory(h);
        if (stays || t->status != EG_OK) {
            t->reply = read->reply, read->reply = (eg_reply){0};
            h->held += bytes;
        }
        if (!stays && t->status == EG_OK) { /* it is read once more when it is taken */
            eg_chunk_rest(x->body);
            return;
        }
    }
    eg_chunk_free(x->body);
    x->body = NULL;
}

/* Reads what has come, one answer after the other. */
static void *answer_reader(void *context)
{
    eg_https *h = context;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        eg_https_turn *x = h->first;
        if (h->ends)
            break;
        if (!x) {
            pthread_cond_wait(&h->more, &h->lock);
            continue;
        }
        eg_board_turn read = {.is = x->of->is};
        h->first = x->next;
        h->busy = true;
        pthread_mutex_unlock(&h->lock);
        eg_status s = eg_https_read(h, x, x->body, &read);
        pthread_mutex_lock(&h->lock);
        answer_settle(h, x, s, &read);
        h->busy = false;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        eg_reply_fini(&read.reply);
        free(read.why);
        eg_http_server_wake(h->server, read.is.id);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

eg_status eg_https_reader_start(eg_https *h)
{
    h->reads = pthread_create(&h->reader, NULL, answer_reader, h) == 0;
    return h->reads ? EG_OK : eg_fail(EG_ENOMEM, "no thread to read answers");
}

void eg_https_reader_end(eg_https *h)
{
    if (!h->reads)
        return;
    pthread_mutex_lock(&h->lock);
    h->ends = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->reader, NULL);
    h->reads = false;
}

typedef struct answer_route {
    const char *method, *path;
    void (*answer)(eg_https *h, const eg_http_request *r, eg_http_answer *out);
    bool joined; /* only for who has said hello */
    /* Whether its body may come; out says why not. */
    bool (*admits)(eg_https *h, const eg_http_request *r, eg_http_answer *out);
    size_t most; /* bytes of its body; 0: it has none */
} answer_route;

static bool answer_anybody(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)h;
    (void)r;
    (void)out;
    return true;
}

static const answer_route answer_routes[] = {
    {"GET", EG_HTTPS_ROOT "/challenge", eg_https_challenge, false, answer_anybody, 0},
    {"POST", EG_HTTPS_ROOT "/enrol", eg_https_enrol, false, eg_https_may_enrol, ANSWER_ENROL},
    {"GET", EG_HTTPS_ROOT "/run", answer_run, false, eg_https_knows, 0},
    {"GET", EG_HTTPS_ROOT "/frozen", answer_frozen, false, eg_https_knows, 0},
    {"GET", EG_HTTPS_ROOT "/model", answer_model, false, eg_https_knows, 0},
    {"POST", EG_HTTPS_ROOT "/hello", eg_https_hello, false, eg_https_knows, ANSWER_HELLO},
    {"GET", EG_HTTPS_ROOT "/turn", answer_turn, true, eg_https_knows, 0},
    {"GET", EG_HTTPS_ROOT "/download", answer_download, true, eg_https_knows, 0},
    {"POST", EG_HTTPS_ROOT "/alive", answer_alive, true, eg_https_knows, 0},
    {"POST", EG_HTTPS_ROOT "/reply", answer_reply, true, eg_https_knows, 0},
};

/* Whether the rest of a request may come: who is asking, and, of an answer, whether anybody
 * waits for it. */
static void answer_begin(eg_https *h, const eg_http_request *r, const answer_route *route,
                         eg_http_answer *out)
{
    bool replies = route->answer == answer_reply;
    if (!route->admits(h, r, out))
        return;
    out->most = replies ? h->most : route->most;
    if (route->admits != eg_https_knows)
        return;
    eg_https_device *d = &h->devices[r->client];
    out->known = true;
    if (r->n_body > 0 && d->n_bodies++ > 0) {
        eg_http_say(out, 409, "it sends another message at the moment");
        return;
    }
    if (route->joined && !(d->met && d->session == r->session)) {
        eg_http_say(out, 428, "say hello first");
        return;
    }
    if (route->joined)
        d->heard = eg_seconds();
    if (!replies || answer_find(h, r))
        return;
    if (d->reads == r->number && d->read_code) /* it did not hear that it was taken */
        eg_http_say(out, d->read_code, "%s", d->read_text);
    else
        answer_gone(out);
}

void eg_https_answer(void *context, const eg_http_request *r, eg_http_answer *out)
{
    eg_https *h = context;
    for (size_t i = 0; i < sizeof answer_routes / sizeof *answer_routes; i++) {
        if (strcmp(answer_routes[i].path, r->path) != 0 ||
            strcmp(answer_routes[i].method, r->method) != 0)
            continue;
        pthread_mutex_lock(&h->lock);
        if (r->begins)
            answer_begin(h, r, &answer_routes[i], out);
        else
            answer_routes[i].answer(h, r, out);
        pthread_mutex_unlock(&h->lock);
        return;
    }
    eg_http_say(out, 404, "there is nothing here");
}

void eg_https_ended(void *context, int64_t client, size_t n_body)
{
    eg_https *h = context;
    (void)n_body;
    pthread_mutex_lock(&h->lock);
    h->devices[client].n_bodies--;
    pthread_mutex_unlock(&h->lock);
}

void eg_https_strange(void *context, int64_t client, const char *address, int64_t n)
{
    eg_https *h = context;
    int64_t power = 1;
    while (power < n)
        power *= 10;
    pthread_mutex_lock(&h->lock);
    h->n_wrong_keys++;
    eg_https_audit(h, "wrong_key", client, address, NULL);
    if (power == n) /* the first, the tenth, the hundredth, ... */
        eg_https_say(h, "%s: %lld request%s with a wrong key, the last as client %lld", address,
                     (long long)n, n == 1 ? "" : "s", (long long)client);
    pthread_mutex_unlock(&h->lock);
}
