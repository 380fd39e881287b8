/* https_answer.c - what devices ask, and what they are answered.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   GET  /run       what the run is: configuration, seed, what must be alike
 *   POST /hello     what the device has; 409 says why it may not join
 *   GET  /turn      waits for a turn; 204: there is none yet, 410: the run is over
 *   GET  /download  what all clients of the exchange are sent; 409: it is over
 *   POST /alive     the device is still at work on its turn; 409: nobody wants it any more
 *   POST /reply     the answer to a turn; 409 likewise
 *
 * All with ?client=K and the client's key; the last four also with the session that the device
 * named in its hello, the last three with a number. Nothing of a request is used before its key
 * is known to be the client's, and no body is longer than its route's can be. Answers are taken
 * apart by a thread of their own, one after the other, while their requests wait.
 */
#include "run/transport/https.h"

#include <engram/remote.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_HELLO = 8192 }; /* bytes of a hello */

static void answer_say(eg_http_answer *out, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void answer_say(eg_http_answer *out, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->code = code;
    vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
}

static void answer_page(eg_http_answer *out, eg_http_page *page)
{
    out->code = 200;
    out->page = eg_http_page_hold(page);
}

/* The turn for whose answer of a device somebody still waits; NULL: there is none. */
static eg_board_turn *answer_open(const eg_https *h, const eg_https_device *d)
{
    return d->met && d->turn >= 0
               ? eg_board_find(&h->board, eg_board_number(&h->board, d->turn))
               : NULL;
}

/* The same, if this number names it. */
static eg_board_turn *answer_find(eg_https *h, const eg_http_request *r)
{
    const eg_https_device *d = &h->devices[r->client];
    bool is = eg_board_number(&h->board, d->turn) == r->number;
    return is ? answer_open(h, d) : NULL;
}

static void answer_run(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    answer_page(out, h->welcome);
}

/* What a device says of itself in its hello. */
typedef struct answer_visitor {
    eg_hello has;
    int64_t session;
    const char *home;
} answer_visitor;

static eg_status answer_visitor_read(const eg_json *json, answer_visitor *out)
{
    const eg_json *session, *home;
    EG_TRY(eg_hello_get(json, &out->has));
    EG_TRY(eg_json_need(json, "session", EG_JSON_INT, &session));
    EG_TRY(eg_json_need(json, "home", EG_JSON_TEXT, &home));
    EG_TRY(eg_json_int(session, &out->session));
    EG_TRY(eg_json_text(home, &out->home));
    if (out->session < 0 || strlen(out->home) >= EG_HTTPS_HOME)
        return eg_fail(EG_EFORMAT, "this is no hello: no such session or home can be");
    return EG_OK;
}

/* Whether the device may be the client: it fits, and no other one is. */
static eg_status answer_admit(eg_https *h, int64_t client, const answer_visitor *v)
{
    eg_https_device *d = &h->devices[client];
    double silent = eg_seconds() - d->heard;
    bool other = d->met && strcmp(d->home, v->home) != 0;
    EG_TRY(eg_hello_compare(&h->mine, &v->has, h->how.mixed));
    if (other && silent < eg_https_patience(h)) {
        eg_https_say(h, "client %lld: a second device wanted its number, and was refused",
                     (long long)client);
        return eg_fail(EG_EBUSY,
                       "another device is client %lld, and was heard of %.0f seconds ago; each "
                       "has a number and a folder of its own",
                       (long long)client, silent);
    }
    if (other)
        eg_https_say(h, "client %lld: another device, or one with a new folder, takes over",
                     (long long)client);
    if (!d->met || d->session != v->session)
        eg_https_audit(h, other ? "took_over" : "joined", client, NULL, NULL);
    d->session = v->session;
    snprintf(d->home, sizeof d->home, "%s", v->home);
    d->heard = eg_seconds();
    d->met = true;
    return EG_OK;
}

static void answer_hello(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_json *json;
    answer_visitor v;
    size_t n = 0;
    const char *body = r->body ? eg_chunk_bytes(r->body, &n) : "";
    if (eg_json_parse(body, n, &json) != EG_OK) {
        answer_say(out, 400, "%s", eg_error());
        return;
    }
    if (answer_visitor_read(json, &v) != EG_OK)
        answer_say(out, 400, "%s", eg_error());
    else if (answer_admit(h, r->client, &v) != EG_OK) {
        eg_https_audit(h, "refused", r->client, NULL, eg_error());
        answer_say(out, 409, "%s", eg_error());
    } else
        answer_say(out, 200, "welcome");
    eg_json_free(json);
    pthread_cond_broadcast(&h->changed);
}

static void answer_turn(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    if (h->over) {
        d->told_end = true;
        pthread_cond_broadcast(&h->changed);
        answer_say(out, 410, "the run is over");
    } else if (answer_open(h, d)) {
        eg_https_turn *t = &h->turns[d->turn];
        t->asked = t->given ? t->asked : eg_seconds();
        t->given = true;
        answer_page(out, t->ask);
    } else if (r->late) {
        answer_say(out, 204, "%s", "");
    }
}

static void answer_gone(eg_http_answer *out)
{
    answer_say(out, 409, "nobody waits for this any more");
}

static void answer_download(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    if (h->down && r->number == h->board.exchange)
        answer_page(out, h->down);
    else
        answer_gone(out);
}

static void answer_alive(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    if (answer_find(h, r))
        answer_say(out, 200, "go on");
    else
        answer_gone(out);
}

/* An answer has come: the reader has it now, and the request waits for what it says. */
static void answer_reply(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    if (!r->body && r->n_body == 0 && d->reads == r->number && r->number >= 0) {
        if (d->read_code || r->late)
            answer_say(out, d->read_code ? d->read_code : 200, "%s",
                       d->read_code ? d->read_text : "it is there, and still being read");
        return;
    }
    if (!answer_find(h, r) || d->reads == r->number) {
        answer_gone(out);
        return;
    }
    if (!r->body) {
        answer_say(out, 400, "this is no answer");
        return;
    }
    eg_https_turn *t = &h->turns[d->turn];
    d->reads = r->number, d->read_code = 0;
    t->body = r->body, t->next = NULL;
    out->takes_body = true;
    *(h->first ? &h->last->next : &h->first) = t;
    h->last = t;
    pthread_cond_signal(&h->more);
}

eg_status eg_https_read(const eg_https *h, int64_t i, eg_chunk *body, eg_board_turn *out)
{
    eg_message *m;
    size_t n, n_classes = (size_t)eg_scenario_n_classes(h->site.feed->scenario);
    const void *bytes = eg_chunk_bytes(body, &n);
    if (!bytes)
        return eg_fail(EG_ENOMEM, "no memory to read an answer");
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = eg_message_unpack(bytes, n, n_classes, m);
    if (s == EG_OK && m->head.number != eg_board_number(&h->board, i))
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
static void answer_settle(eg_https *h, int64_t i, eg_status s, eg_board_turn *read)
{
    char why[EG_HTTPS_TEXT];
    eg_board_turn *t = &h->board.turns[i];
    eg_https_turn *x = &h->turns[i];
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
        h->took[h->n_took++ % EG_HTTPS_TOOK] = eg_seconds() - x->asked;
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
        int64_t i = x - h->turns;
        eg_board_turn read = {.is = h->board.turns[i].is};
        h->first = x->next;
        h->busy = true;
        pthread_mutex_unlock(&h->lock);
        eg_status s = eg_https_read(h, i, x->body, &read);
        pthread_mutex_lock(&h->lock);
        answer_settle(h, i, s, &read);
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
} answer_route;

static const answer_route answer_routes[] = {
    {"GET", EG_HTTPS_ROOT "/run", answer_run, false},
    {"POST", EG_HTTPS_ROOT "/hello", answer_hello, false},
    {"GET", EG_HTTPS_ROOT "/turn", answer_turn, true},
    {"GET", EG_HTTPS_ROOT "/download", answer_download, true},
    {"POST", EG_HTTPS_ROOT "/alive", answer_alive, true},
    {"POST", EG_HTTPS_ROOT "/reply", answer_reply, true},
};

/* Whether the rest of a request may come: who is asking, and, of an answer, whether anybody
 * waits for it. */
static void answer_begin(eg_https *h, const eg_http_request *r, const answer_route *route,
                         eg_http_answer *out)
{
    if (r->client < 0 || r->client >= h->n_devices ||
        !eg_keys_equal(h->keys[r->client], r->key)) {
        answer_say(out, 401, "there is no such client, or its key is another");
        return;
    }
    eg_https_device *d = &h->devices[r->client];
    out->known = true;
    out->most = route->answer == answer_hello   ? ANSWER_HELLO
                : route->answer == answer_reply ? h->most
                                                : 0;
    if (r->n_body > 0 && d->n_bodies++ > 0) {
        answer_say(out, 409, "it sends another message at the moment");
        return;
    }
    if (route->joined && !(d->met && d->session == r->session)) {
        answer_say(out, 428, "say hello first");
        return;
    }
    if (route->joined)
        d->heard = eg_seconds();
    if (route->answer != answer_reply || answer_find(h, r))
        return;
    if (d->reads == r->number && d->read_code) /* it did not hear that it was taken */
        answer_say(out, d->read_code, "%s", d->read_text);
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
    answer_say(out, 404, "there is nothing here");
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
    eg_https_audit(h, "wrong_key", client, address, NULL);
    if (power == n) /* the first, the tenth, the hundredth, ... */
        eg_https_say(h, "%s: %lld request%s with a wrong key, the last as client %lld", address,
                     (long long)n, n == 1 ? "" : "s", (long long)client);
    pthread_mutex_unlock(&h->lock);
}
