/* https_desk.c - what an operator sees of a server's devices, at an address of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   GET  /         the page
 *   GET  /history  JSON: the rounds so far
 *   GET  /events   server-sent events: JSON of how things stand, at every change
 *   GET  /metrics  the same numbers, as Prometheus reads them
 *   GET  /healthz  "ok", or what the run waits for
 *   POST /stop     ends the run at a checkpoint, after its round
 *   POST /deadline?number=S   seconds that a device has for an answer; 0: the usual
 *
 * The last two take the operator's token, as "Authorization: Bearer". Nothing of it is at the
 * address of devices, and nothing of theirs here.
 */
#include "run/transport/https.h"

#include <engram/remote.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DESK_ROWS = 300, /* devices that are listed, those first about whom there is something */
    DESK_WAIT = 20,  /* seconds for which a question for news waits */
    DESK_LATE = 10,  /* and after which a device without an answer is late */
};

/* What a device is at the moment, in the order in which an operator wants to know. */
typedef enum desk_state {
    DESK_IS_LATE,
    DESK_IS_LOST,
    DESK_IS_REFUSED,
    DESK_IS_GONE,
    DESK_IS_REVOKED,
    DESK_IS_WORKING,
    DESK_IS_IN,
    DESK_IS_AWAITED,
    DESK_IS_INVITED,
    DESK_IS_NOBODY,
    DESK_STATES
} desk_state;

static const char *const desk_names[DESK_STATES] = {"late",    "lost",    "refused", "gone",
                                                    "revoked", "working", "in",      "awaited",
                                                    "invited", "nobody"};

/* The turn that a device is at; NULL: none. */
static const eg_https_turn *desk_turn(const eg_https *h, const eg_https_device *d)
{
    if (d->late && !d->late->turn.there)
        return &d->late->at;
    bool is = d->turn >= 0 && h->turns && h->turns[d->turn].given;
    return is && !h->board.turns[d->turn].there ? &h->turns[d->turn] : NULL;
}

static desk_state desk_state_of(const eg_https *h, int64_t i, double now)
{
    const eg_https_device *d = &h->devices[i];
    eg_key_kind key = eg_key_kind_of(h->keys[i]);
    if (key == EG_KEY_REVOKED)
        return DESK_IS_REVOKED;
    if (!d->met)
        return d->refused           ? DESK_IS_REFUSED
               : key == EG_KEY_CODE ? DESK_IS_INVITED
               : key == EG_KEY_NONE ? DESK_IS_NOBODY
                                    : DESK_IS_AWAITED;
    if (now - d->heard > eg_https_patience(h))
        return DESK_IS_GONE;
    const eg_https_turn *t = desk_turn(h, d);
    if (t)
        return t->late || now - t->asked > DESK_LATE ? DESK_IS_LATE : DESK_IS_WORKING;
    return d->lost ? DESK_IS_LOST : DESK_IS_IN;
}

/* Under the lock. */
static void desk_count(const eg_https *h, int64_t counts[DESK_STATES])
{
    double now = eg_seconds();
    memset(counts, 0, DESK_STATES * sizeof *counts);
    for (int64_t i = 0; i < h->n_devices; i++)
        counts[desk_state_of(h, i, now)]++;
}

static eg_status desk_row(const eg_https *h, int64_t i, desk_state is, double now, eg_json *to)
{
    const eg_https_device *d = &h->devices[i];
    eg_json *row = eg_json_object();
    EG_TRY(eg_json_add(to, row));
    EG_TRY(eg_json_set(row, "client", eg_json_of_int(i)));
    EG_TRY(eg_json_set(row, "is", eg_json_of_text(desk_names[is])));
    if (*d->why && (is == DESK_IS_LOST || is == DESK_IS_REFUSED || is == DESK_IS_GONE))
        EG_TRY(eg_json_set(row, "why", eg_json_of_text(d->why)));
    if (d->heard > 0)
        EG_TRY(eg_json_set(row, "heard", eg_json_of_real(round(10 * (now - d->heard)) / 10)));
    if (is == DESK_IS_LATE || is == DESK_IS_WORKING)
        EG_TRY(eg_json_set(row, "asked",
                           eg_json_of_real(round(10 * (now - desk_turn(h, d)->asked)) / 10)));
    EG_TRY(eg_json_set(row, "answered", eg_json_of_int(d->n_answered)));
    EG_TRY(eg_json_set(row, "left_out", eg_json_of_int(d->n_left_out)));
    return eg_json_set(row, "took", eg_json_of_real(round(1000 * d->took) / 1000));
}

static eg_status desk_list(const eg_https *h, eg_json *to)
{
    double now = eg_seconds();
    int64_t n = 0;
    for (int is = 0; is < DESK_IS_NOBODY; is++)
        for (int64_t i = 0; i < h->n_devices && n < DESK_ROWS; i++)
            if (desk_state_of(h, i, now) == (desk_state)is) {
                EG_TRY(desk_row(h, i, (desk_state)is, now, to));
                n++;
            }
    return EG_OK;
}

static eg_status desk_real(eg_json *to, const char *name, double value)
{
    return isfinite(value) ? eg_json_set(to, name, eg_json_of_real(value)) : EG_OK;
}

static eg_status desk_standing(const eg_standing *s, eg_json *to)
{
    EG_TRY(eg_json_set(to, "round", eg_json_of_int(s->round)));
    EG_TRY(desk_real(to, "accuracy", s->accuracy));
    EG_TRY(desk_real(to, "loss", s->loss));
    EG_TRY(desk_real(to, "seconds", s->seconds));
    EG_TRY(desk_real(to, "bytes_up", s->bytes_up));
    return desk_real(to, "bytes_down", s->bytes_down);
}

/* How things stand, on one line. */
static eg_status desk_state_json(const eg_https *h, eg_json *to)
{
    int64_t counts[DESK_STATES];
    eg_json *devices = eg_json_array(), *said = eg_json_array(), *number = eg_json_object();
    EG_TRY(eg_json_set(to, "devices", devices));
    EG_TRY(eg_json_set(to, "said", said));
    EG_TRY(eg_json_set(to, "counts", number));
    EG_TRY(desk_standing(&h->now, to));
    EG_TRY(eg_json_set(to, "name", eg_json_of_text(h->site.e->name)));
    EG_TRY(eg_json_set(to, "label", eg_json_of_text(h->site.e->label)));
    EG_TRY(eg_json_set(to, "rounds", eg_json_of_int(h->now.n_rounds)));
    EG_TRY(eg_json_set(to, "clients", eg_json_of_int(h->n_devices)));
    EG_TRY(eg_json_set(to, "over", eg_json_of_bool(h->over)));
    EG_TRY(eg_json_set(to, "stops", eg_json_of_bool(h->stops)));
    EG_TRY(eg_json_set(to, "waits", eg_json_of_bool(h->alone > 0)));
    EG_TRY(eg_json_set(to, "deadline", eg_json_of_real(h->how.deadline)));
    EG_TRY(eg_json_set(to, "wrong_keys", eg_json_of_int(h->n_wrong_keys)));
    desk_count(h, counts);
    for (int is = 0; is < DESK_STATES; is++)
        EG_TRY(eg_json_set(number, desk_names[is], eg_json_of_int(counts[is])));
    for (int i = 0; i < EG_HTTPS_NEWS; i++) {
        const char *line = h->news[(h->n_news + (uint64_t)i) % EG_HTTPS_NEWS];
        if (*line)
            EG_TRY(eg_json_add(said, eg_json_of_text(line)));
    }
    return desk_list(h, devices);
}

static eg_status desk_history(const eg_https *h, eg_json *to)
{
    eg_json *rounds = eg_json_array();
    EG_TRY(eg_json_set(to, "rounds", rounds));
    for (size_t i = 0; i < h->n_past; i++) {
        eg_json *one = eg_json_object();
        EG_TRY(eg_json_add(rounds, one));
        EG_TRY(desk_standing(&h->past[i], one));
    }
    return EG_OK;
}

/* Takes bytes over as an answer's page. */
static void desk_page(eg_http_answer *out, char *text, size_t n, const char *type)
{
    if (eg_http_page_new((unsigned char *)text, n, &out->page) != EG_OK) {
        eg_http_say(out, 500, "%s", eg_error());
        return;
    }
    eg_http_page_type(out->page, type);
    out->code = 200;
}

/* JSON that fill makes, as a page, behind what stands before it and before a line's end. */
static void desk_json(const eg_https *h, eg_status (*fill)(const eg_https *h, eg_json *to),
                      const char *before, const char *type, eg_http_answer *out)
{
    eg_json *json = eg_json_object();
    char *text = NULL, *whole = NULL;
    size_t n = 0, m = strlen(before);
    eg_status s = json ? fill(h, json) : EG_ENOMEM;
    if (s == EG_OK)
        s = eg_json_print(json, 0, &text, &n);
    if (s == EG_OK)
        s = eg_alloc(m + n + 3, 1, &whole);
    if (s == EG_OK) {
        memcpy(whole, before, m);
        memcpy(whole + m, text, n);
        memcpy(whole + m + n, "\n\n", 2);
        desk_page(out, whole, m + n + 2, type);
    } else {
        eg_http_say(out, 500, "%s", eg_error());
    }
    free(text);
    eg_json_free(json);
}

/* A browser asks again as soon as it has an answer, and says the last number it heard. */
static void desk_events(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    char before[96];
    if (r->number == (int64_t)h->changes && !r->late)
        return;
    snprintf(before, sizeof before,
             "retry: 250\nid: %llu\ndata: ", (unsigned long long)h->changes);
    desk_json(h, desk_state_json, before, "text/event-stream", out);
}

static void desk_metric(FILE *f, const char *name, const char *type, const char *help,
                        double value)
{
    fprintf(f, "# HELP engram_%s %s\n# TYPE engram_%s %s\nengram_%s %.17g\n", name, help, name,
            type, name, value);
}

static void desk_metrics(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    char *text = NULL;
    size_t n = 0;
    int64_t counts[DESK_STATES];
    FILE *f = open_memstream(&text, &n);
    (void)r;
    if (!f) {
        eg_http_say(out, 500, "no memory");
        return;
    }
    desk_count(h, counts);
    fprintf(f, "# HELP engram_devices clients of the run, by what their device is\n"
               "# TYPE engram_devices gauge\n");
    for (int is = 0; is < DESK_STATES; is++)
        fprintf(f, "engram_devices{is=\"%s\"} %lld\n", desk_names[is], (long long)counts[is]);
    desk_metric(f, "round", "gauge", "rounds done", (double)h->now.round);
    desk_metric(f, "rounds", "gauge", "rounds of the run", (double)h->now.n_rounds);
    if (isfinite(h->now.accuracy))
        desk_metric(f, "accuracy", "gauge", "of the last test, 0 to 1", h->now.accuracy);
    if (isfinite(h->now.loss))
        desk_metric(f, "loss", "gauge", "mean training loss of the last round", h->now.loss);
    desk_metric(f, "seconds_total", "counter", "that the run took so far", h->now.seconds);
    desk_metric(f, "bytes_up_total", "counter", "of uploads", h->now.bytes_up);
    desk_metric(f, "bytes_down_total", "counter", "of downloads", h->now.bytes_down);
    desk_metric(f, "answers_total", "counter", "turns that were answered",
                (double)h->n_answers);
    desk_metric(f, "left_out_total", "counter", "turns without an answer that counts",
                (double)h->n_left_out);
    desk_metric(f, "refused_total", "counter", "hellos that were refused",
                (double)h->n_refused);
    desk_metric(f, "wrong_keys_total", "counter", "requests with a wrong key",
                (double)h->n_wrong_keys);
    desk_metric(f, "waiting", "gauge", "1 while too few devices are there", h->alone > 0);
    desk_metric(f, "held_bytes", "gauge", "of answers in memory", (double)h->held);
    if (fclose(f) != 0) {
        free(text);
        eg_http_say(out, 500, "no memory");
        return;
    }
    desk_page(out, text, n, "text/plain; version=0.0.4");
}

static void desk_health(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    if (h->alone > 0)
        eg_http_say(out, 200, "waiting for devices for %.0f seconds\n",
                    eg_seconds() - h->alone);
    else
        eg_http_say(out, 200, "ok\n");
}

static void desk_show(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    if (h->desk_page)
        out->page = eg_http_page_hold(h->desk_page);
    out->code = h->desk_page ? 200 : 404;
}

static void desk_rounds(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    desk_json(h, desk_history, "", "application/json", out);
}

static void desk_stop(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    (void)r;
    h->stops = true;
    eg_https_audit(h, "stopped", -1, NULL, "by the operator");
    eg_https_say(h, "the operator has the run stop after this round");
    pthread_cond_broadcast(&h->changed);
    eg_http_say(out, 200, "the run stops after this round\n");
}

static void desk_deadline(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    if (r->number < 0 || r->number > 10000000) {
        eg_http_say(out, 400, "a deadline is a whole number of seconds; 0: the usual\n");
        return;
    }
    h->how.deadline = (double)r->number;
    eg_https_audit(h, "deadline", -1, NULL, r->number ? "set by the operator" : "the usual");
    pthread_cond_broadcast(&h->changed);
    eg_http_say(out, 200, "the deadline is %lld seconds\n", (long long)r->number);
}

static const struct {
    const char *method, *path;
    void (*answer)(eg_https *h, const eg_http_request *r, eg_http_answer *out);
} desk_routes[] = {{"GET", "/", desk_show},
                   {"GET", "/events", desk_events},
                   {"GET", "/history", desk_rounds},
                   {"GET", "/metrics", desk_metrics},
                   {"GET", "/healthz", desk_health},
                   {"POST", "/stop", desk_stop},
                   {"POST", "/deadline", desk_deadline}};

static void desk_answer(void *context, const eg_http_request *r, eg_http_answer *out)
{
    eg_https *h = context;
    bool posts = strcmp(r->method, "POST") == 0;
    if (r->begins && posts && !eg_keys_equal(h->desk_token, r->key)) {
        eg_http_say(out, 401, "this takes the operator's token\n");
        return;
    }
    out->known = posts;
    for (size_t i = 0; i < sizeof desk_routes / sizeof *desk_routes; i++)
        if (strcmp(r->path, desk_routes[i].path) == 0 &&
            strcmp(r->method, desk_routes[i].method) == 0) {
            if (r->begins)
                return;
            pthread_mutex_lock(&h->lock);
            desk_routes[i].answer(h, r, out);
            pthread_mutex_unlock(&h->lock);
            return;
        }
    eg_http_say(out, 404, "there is nothing here\n");
}

/* A line about what happened, without its time: "client 7 left out: it did not answer". */
static void desk_line(const char *event, int64_t client, const char *why,
                      char out[EG_HTTPS_TEXT])
{
    int n = client < 0 ? 0 : snprintf(out, EG_HTTPS_TEXT, "client %lld ", (long long)client);
    for (; *event && n < EG_HTTPS_TEXT / 2; event++)
        out[n++] = *event == '_' ? ' ' : *event;
    out[n] = 0;
    if (why && *why)
        snprintf(out + n, EG_HTTPS_TEXT - (size_t)n, ": %.100s", why);
}

void eg_https_news(eg_https *h, const char *event, int64_t client, const char *why)
{
    enum { CLOCK = 9 }; /* "12:34:56 " */
    char text[EG_HTTPS_TEXT];
    time_t now = time(NULL);
    struct tm t;
    desk_line(event, client, why, text);
    for (int i = 0; i < EG_HTTPS_NEWS; i++)
        if (*h->news[i] && strcmp(h->news[i] + CLOCK, text) == 0)
            return; /* once is enough for as long as it can be seen */
    char *line = h->news[h->n_news++ % EG_HTTPS_NEWS];
    localtime_r(&now, &t);
    size_t n = strftime(line, EG_HTTPS_TEXT, "%H:%M:%S ", &t);
    snprintf(line + n, EG_HTTPS_TEXT - n, "%.240s", text);
    eg_https_changed(h);
}

void eg_https_changed(eg_https *h)
{
    h->changes++;
    if (h->desk)
        eg_http_server_wake(h->desk, -1);
}

void eg_https_stand(eg_https *h, const eg_standing *s)
{
    pthread_mutex_lock(&h->lock);
    h->now = *s;
    if (h->n_past == EG_HTTPS_PAST) { /* every second one is enough from here on */
        for (size_t i = 0; i < EG_HTTPS_PAST / 2; i++)
            h->past[i] = h->past[2 * i + 1];
        h->n_past /= 2;
    }
    h->past[h->n_past++] = *s;
    eg_https_changed(h);
    pthread_mutex_unlock(&h->lock);
}

/* The operator's page as a page of the server's; without one there are numbers alone. */
static eg_status desk_keep_page(eg_https *h)
{
    unsigned char *text;
    size_t n = h->how.page ? strlen(h->how.page) : 0;
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_alloc(n, 1, &text));
    memcpy(text, h->how.page, n);
    EG_TRY(eg_http_page_new(text, n, &h->desk_page));
    eg_http_page_type(h->desk_page, "text/html; charset=utf-8");
    return EG_OK;
}

eg_status eg_https_desk_open(eg_https *h)
{
    char url[400];
    unsigned char drawn[16];
    if (!h->how.desk)
        return EG_OK;
    EG_TRY(desk_keep_page(h));
    eg_random(drawn, sizeof drawn);
    eg_hex_print(drawn, sizeof drawn, h->desk_token);
    EG_TRY(eg_https_serve(h,
                          &(eg_http_listen){.wait = DESK_WAIT,
                                            .connections = 64,
                                            .spool = h->spool,
                                            .handle = desk_answer,
                                            .context = h},
                          h->how.desk, &h->desk, url));
    if (h->how.desk_ready) {
        snprintf(url + strlen(url), sizeof url - strlen(url), "/#%s", h->desk_token);
        h->how.desk_ready(h->how.context, url);
    }
    return EG_OK;
}
