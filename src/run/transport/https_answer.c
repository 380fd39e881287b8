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
 * All with ?client=K and the client's key; the last three also with a number. Nothing of a
 * request is used before its key is known to be the client's.
 */
#include "run/transport/https.h"

#include <engram/remote.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The turn for whose answer of a device somebody still waits; NULL: there is none. A device
 * that has not said hello to this process may answer a turn that an earlier one gave it under
 * the same number. */
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

static void answer_hello(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_json *json;
    eg_hello theirs;
    eg_status s = eg_json_parse(r->body ? r->body : "", r->n_body, &json);
    if (s == EG_OK) {
        s = eg_hello_get(json, &theirs);
        eg_json_free(json);
    }
    if (s != EG_OK) {
        answer_say(out, 400, "%s", eg_error());
        return;
    }
    if (eg_hello_compare(&h->mine, &theirs, h->how.mixed) != EG_OK) {
        answer_say(out, 409, "%s", eg_error());
        return;
    }
    h->devices[r->client].met = true;
    answer_say(out, 200, "welcome");
    pthread_cond_broadcast(&h->changed);
}

static void answer_turn(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    if (h->over) {
        d->told_end = true;
        pthread_cond_broadcast(&h->changed);
        answer_say(out, 410, "the run is over");
    } else if (!d->met) {
        answer_say(out, 428, "say hello first");
    } else if (answer_open(h, d)) {
        answer_page(out, h->turns[d->turn].ask);
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

/* Takes an answer apart. What a device says is about the device, whatever the code: *out is of
 * the reading alone. */
static eg_status answer_read(const eg_https *h, const eg_http_request *r, eg_board_turn *t)
{
    eg_message *m;
    size_t n_classes = (size_t)eg_scenario_n_classes(h->site.feed->scenario);
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = eg_message_unpack(r->body ? r->body : "", r->n_body, n_classes, m);
    if (s == EG_OK && m->head.number != r->number)
        s = eg_fail(EG_EFORMAT, "it answers another turn than it says");
    if (s == EG_OK) {
        t->status = eg_message_hear(&t->is, m, &t->reply);
        if (t->status != EG_OK)
            t->why = strdup(eg_error());
    }
    eg_message_fini(m);
    free(m);
    return s;
}

static void answer_reply(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    char why[512];
    eg_board_turn *t = answer_find(h, r);
    if (!t) {
        answer_gone(out);
        return;
    }
    eg_status s = answer_read(h, r, t);
    answer_say(out,
               s == EG_OK       ? 200
               : s == EG_ENOMEM ? 503
                                : 400,
               "%s", s == EG_OK ? "taken" : eg_error());
    if (s != EG_OK && s != EG_ENOMEM) { /* the run need not wait for more of this */
        snprintf(why, sizeof why, "it answered with what is no answer: %s", eg_error());
        t->status = s, t->why = strdup(why);
    }
    t->there = s != EG_ENOMEM;
    pthread_cond_broadcast(&h->changed);
}

static const struct {
    const char *method, *path;
    void (*answer)(eg_https *h, const eg_http_request *r, eg_http_answer *out);
} answer_routes[] = {
    {"GET", EG_HTTPS_ROOT "/run", answer_run},
    {"POST", EG_HTTPS_ROOT "/hello", answer_hello},
    {"GET", EG_HTTPS_ROOT "/turn", answer_turn},
    {"GET", EG_HTTPS_ROOT "/download", answer_download},
    {"POST", EG_HTTPS_ROOT "/alive", answer_alive},
    {"POST", EG_HTTPS_ROOT "/reply", answer_reply},
};

/* Whether the rest of a request may come: who is asking, and, of an answer, whether anybody
 * waits for it. */
static void answer_begin(eg_https *h, const eg_http_request *r,
                         void (*route)(eg_https *h, const eg_http_request *r,
                                       eg_http_answer *out),
                         eg_http_answer *out)
{
    if (r->client < 0 || r->client >= h->n_devices ||
        !eg_keys_equal(h->keys[r->client], r->key)) {
        answer_say(out, 401, "there is no such client, or its key is another");
        return;
    }
    h->devices[r->client].heard = eg_seconds();
    if (route == answer_reply && !answer_find(h, r))
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
            answer_begin(h, r, answer_routes[i].answer, out);
        else
            answer_routes[i].answer(h, r, out);
        pthread_mutex_unlock(&h->lock);
        return;
    }
    answer_say(out, 404, "there is nothing here");
}
