/* https.c - clients are devices on other machines, which ask for their turns over HTTPS.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device has its own data and its own disk; the server has receipts of what it keeps. All
 * devices of an exchange are asked at once, and replies are taken in client order, so that who
 * answers first changes nothing. A device that is gone, too late, or answers what cannot be is
 * lost in this exchange, which goes on without it; it may be back in the next. While fewer
 * devices are there than the run wants, nobody is lost, and the run waits. All
 * tests are the server's own, of models that it has. The bits are those of workers in one
 * process, as long as no device is lost.
 */
#include "run/transport/https.h"

#include "io/file.h"

#include <engram/remote.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    HTTPS_LINGER = 10,  /* seconds for which a server that is done waits until devices know */
    HTTPS_MEMORY = 256, /* megabytes */
    HTTPS_TIMES = 10,   /* the median of what answers took: a turn's own deadline */
    HTTPS_LATE = 10,    /* seconds without an answer after which names are shown, */
    HTTPS_REPORT = 5,   /* and between two reports */
};

#define HTTPS_MODEL ((size_t)1 << 36) /* bytes */
#define HTTPS_COUNT 0.1 /* seconds between two counts of the devices that are there */

double eg_https_patience(const eg_https *h)
{
    return h->how.patience > 0 ? h->how.patience : 60;
}

size_t eg_https_memory(const eg_https *h)
{
    return (size_t)(h->how.memory > 0 ? h->how.memory : HTTPS_MEMORY) << 20;
}

void eg_https_say(eg_https *h, const char *format, ...)
{
    va_list args;
    if (h->n_said == EG_HTTPS_SAID)
        return;
    va_start(args, format);
    vsnprintf(h->said[h->n_said++], EG_HTTPS_TEXT, format, args);
    va_end(args);
}

/* "2026-01-31T12:00:00.000Z" */
static void https_time(char out[32])
{
    struct timespec now;
    struct tm t;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &t);
    size_t n = strftime(out, 24, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

static eg_status https_fill_audit(eg_json *to, const char *event, int64_t client,
                                  const char *where, const char *why)
{
    char when[32];
    https_time(when);
    EG_TRY(eg_json_set(to, "time", eg_json_of_text(when)));
    EG_TRY(eg_json_set(to, "event", eg_json_of_text(event)));
    if (client >= 0)
        EG_TRY(eg_json_set(to, "client", eg_json_of_int(client)));
    if (where && *where)
        EG_TRY(eg_json_set(to, "address", eg_json_of_text(where)));
    return why && *why ? eg_json_set(to, "why", eg_json_of_text(why)) : EG_OK;
}

void eg_https_audit(eg_https *h, const char *event, int64_t client, const char *where,
                    const char *why)
{
    char *text, reason[1024];
    size_t n;
    snprintf(reason, sizeof reason, "%s", why ? why : ""); /* it may be the error text */
    eg_https_news(h, event, client, reason);
    if (!h->audit)
        return;
    eg_json *line = eg_json_object();
    if (line && https_fill_audit(line, event, client, where, reason) == EG_OK &&
        eg_json_print(line, 0, &text, &n) == EG_OK) {
        fprintf(h->audit, "%s\n", text);
        free(text);
    }
    eg_json_free(line);
    eg_fail(EG_OK, "%s", reason);
}

/* Under the lock, which is let go meanwhile: tells the fleet's watcher; false: it has enough.
 */
static bool https_tell_watcher(eg_https *h, const eg_fleet_event *e)
{
    if (!h->how.fleet)
        return true;
    pthread_mutex_unlock(&h->lock);
    bool on = h->how.fleet(h->how.context, e);
    pthread_mutex_lock(&h->lock);
    return on;
}

/* Under the lock, which is let go meanwhile: reads keys and certificate again if that is asked
 * for. */
static void https_renew(eg_https *h)
{
    if (!h->how.reload || !h->how.reload(h->how.context))
        return;
    pthread_mutex_unlock(&h->lock);
    eg_status s = eg_https_reload(h);
    pthread_mutex_lock(&h->lock);
    if (s == EG_OK)
        eg_https_say(h, "keys and certificate were read again");
    else
        eg_https_say(h, "keys and certificate stay as they were: %s", eg_error());
}

/* Under the lock: waits until something has changed, for a moment at most, and shows what there
 * is to be said. */
void eg_https_nap(eg_https *h)
{
    char text[EG_HTTPS_TEXT];
    eg_cond_wait(&h->changed, &h->lock, 0.2);
    https_renew(h);
    if (h->audit)
        fflush(h->audit);
    while (h->n_said > 0) {
        memcpy(text, h->said[0], sizeof text);
        memmove(h->said[0], h->said[1], (size_t)--h->n_said * sizeof text);
        https_tell_watcher(h, &(eg_fleet_event){.kind = EG_FLEET_SAYS, .text = text});
    }
}

/* Under the lock: how many must be there: at first all of whom somebody knows, and from then
 * on. */
static int64_t https_wanted(const eg_https *h)
{
    int64_t least = h->how.at_least, known = 0;
    for (int64_t i = 0; i < h->n_devices; i++)
        known += *h->keys[i] && eg_key_kind_of(h->keys[i]) != EG_KEY_REVOKED;
    if (least <= 0)
        least = h->begun ? h->site.e->server.min_clients : known > 0 ? known : 1;
    return least < h->n_devices ? least : h->n_devices;
}

/* Under the lock. At first a device that has come counts even if it is gone again. */
static int64_t https_there(const eg_https *h)
{
    int64_t there = 0;
    double patience = eg_https_patience(h), now = eg_seconds();
    for (int64_t i = 0; i < h->n_devices; i++)
        there += h->devices[i].met && (!h->begun || now - h->devices[i].heard < patience);
    return there;
}

/* Under the lock: whether too few devices are there, which is reported every now and then. A
 * failure: the wait has been too long, or whoever looks on has enough. */
eg_status eg_https_is_short(eg_https *h, bool *out)
{
    double now = eg_seconds();
    *out = false;
    if (h->alone == 0 && now - h->counted < HTTPS_COUNT)
        return EG_OK;
    int64_t there = https_there(h), wanted = https_wanted(h);
    h->counted = now;
    *out = there < wanted;
    eg_fleet_event e = {.kind = *out ? EG_FLEET_WAITS : EG_FLEET_BACK,
                        .n = there,
                        .wanted = wanted,
                        .seconds = h->alone > 0 ? now - h->alone : 0};
    if (!*out) {
        if (h->alone > 0 && h->begun)
            https_tell_watcher(h, &e);
        for (int64_t i = 0; h->alone > 0 && i < h->board.n_told; i++)
            h->turns[i].asked = now; /* the time without the others is nobody's fault */
        h->back = h->alone > 0 ? now : h->back;
        h->alone = 0;
        return EG_OK;
    }
    h->alone = h->alone > 0 ? h->alone : now;
    if (h->stops)
        return eg_fail(EG_EIO, "stopped by the operator");
    if (h->how.give_up > 0 && e.seconds > h->how.give_up)
        return eg_fail(EG_EIO, "gave up: %lld of %lld devices were there for %.0f seconds",
                       (long long)there, (long long)wanted, e.seconds);
    return https_tell_watcher(h, &e)
               ? EG_OK
               : eg_fail(EG_EIO, "stopped when %lld of %lld devices were there",
                         (long long)there, (long long)wanted);
}

/* Waits until enough devices are there. */
static eg_status https_await(eg_https *h)
{
    bool alone = true;
    eg_status s = EG_OK;
    pthread_mutex_lock(&h->lock);
    while (s == EG_OK && alone) {
        s = eg_https_is_short(h, &alone);
        if (s == EG_OK && alone)
            eg_https_nap(h);
    }
    pthread_mutex_unlock(&h->lock);
    return s;
}

/* A run that has begun ends at its place between two rounds, and one that has not with a word.
 */
static eg_status https_wait(void *self, bool *go)
{
    eg_https *h = self;
    eg_status s = https_await(h);
    *go = s == EG_OK && !h->stops;
    if (s != EG_OK && !h->begun)
        return s;
    if (s != EG_OK) {
        pthread_mutex_lock(&h->lock);
        https_tell_watcher(h, &(eg_fleet_event){.kind = EG_FLEET_SAYS, .text = eg_error()});
        pthread_mutex_unlock(&h->lock);
    }
    h->begun = true;
    return EG_OK;
}

/* A message as a page. */
static eg_status https_pack(const eg_message *m, const eg_bundle *bundle, eg_http_page **out)
{
    const eg_bundle *const both[2] = {bundle, NULL};
    unsigned char *bytes = NULL;
    size_t n;
    eg_status s = eg_message_pack(m, both, &bytes, &n);
    if (s == EG_OK)
        return eg_http_page_new(bytes, n, out);
    free(bytes);
    return s;
}

static eg_status https_begin(void *self, const eg_job *job)
{
    eg_https *h = self;
    eg_message *m;
    eg_board board = {0};
    eg_http_page *down = NULL;
    eg_https_turn *turns = NULL;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    m->head.kind = EG_MESSAGE_DOWNLOAD;
    eg_status s = https_pack(m, job->down, &down);
    free(m);
    if (s == EG_OK)
        s = eg_board_begin(&board, job, h->board.exchange + 1);
    if (s == EG_OK)
        s = eg_alloc((size_t)job->n, sizeof *turns, &turns);
    if (s != EG_OK) {
        eg_board_end(&board);
        eg_http_page_drop(down);
        return s;
    }
    pthread_mutex_lock(&h->lock);
    h->board = board;
    h->turns = turns;
    h->down = down;
    pthread_mutex_unlock(&h->lock);
    return EG_OK;
}

/* Tells the next turn, as bytes. */
static eg_status https_tell(eg_https *h, int64_t i, eg_https_turn *out)
{
    eg_board_turn *t = &h->board.turns[i];
    eg_message *m;
    EG_TRY(eg_board_tell(&h->board));
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s =
        eg_message_of_turn(&t->is, (size_t)eg_scenario_n_classes(h->site.feed->scenario), m);
    m->head.number = eg_board_number(&h->board, i);
    if (s == EG_OK)
        s = https_pack(m, t->own, &out->ask);
    out->n_ask = sizeof m->head + (t->own ? eg_bundle_bytes(t->own) : 0);
    eg_message_end_turn(m);
    free(m);
    eg_bundle_free(t->own);
    t->own = NULL;
    return s;
}

/* Asks all at once, as far as there is memory for what each is sent alone. */
static eg_status https_hand_out(eg_https *h)
{
    eg_board *b = &h->board;
    while (b->n_told < b->job->n && (b->n_told == b->n_taken || h->asks < eg_https_memory(h))) {
        eg_https_turn t = {0};
        int64_t i = b->n_told;
        pthread_mutex_lock(&h->lock);
        eg_status s = https_tell(h, i, &t);
        int64_t id = b->turns[i].is.id;
        if (s == EG_OK) {
            t.asked = eg_seconds();
            t.number = eg_board_number(b, i);
            t.of = &b->turns[i];
            h->turns[i] = t;
            h->asks += t.n_ask;
            h->devices[id].turn = i;
        }
        pthread_mutex_unlock(&h->lock);
        EG_TRY(s);
        eg_http_server_wake(h->server, id);
    }
    return EG_OK;
}

static int https_compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* How long a device may take for a turn; 0: for ever, since nobody has answered yet. */
double eg_https_deadline(const eg_https *h)
{
    double took[EG_HTTPS_TOOK], own, patience = eg_https_patience(h);
    size_t n = h->n_took < EG_HTTPS_TOOK ? (size_t)h->n_took : EG_HTTPS_TOOK;
    if (h->how.deadline > 0 || n == 0)
        return h->how.deadline;
    memcpy(took, h->took, sizeof took);
    qsort(took, n, sizeof *took, https_compare);
    own = HTTPS_TIMES * took[n / 2];
    return own > patience ? own : patience;
}

/* Under the lock: true if turn i will get no answer; the error text says why. */
static bool https_is_lost(const eg_https *h, int64_t i)
{
    const eg_https_turn *t = &h->turns[i];
    const eg_https_device *d = &h->devices[h->board.turns[i].is.id];
    double now = eg_seconds(), patience = eg_https_patience(h), most = eg_https_deadline(h);
    double heard =
        d->heard > h->back ? d->heard : h->back; /* others come back a little later */
    if (t->body)                                 /* it is being read */
        return false;
    if (!d->met)
        eg_fail(EG_EIO, "its device is not there");
    else if (now - heard > patience)
        eg_fail(EG_EIO, "its device was not heard of for %.0f seconds", patience);
    else if (most > 0 && now - t->asked > most)
        eg_fail(EG_EIO, "it did not answer within %.0f seconds", most);
    else
        return false;
    return true;
}

/* Under the lock: names those who have not answered for long, now and then. */
static void https_report_late(eg_https *h)
{
    enum { NAMES = 64 };
    int64_t late[NAMES];
    eg_fleet_event e = {.kind = EG_FLEET_LATE, .clients = late};
    double now = eg_seconds();
    if (now - h->reported < HTTPS_REPORT)
        return;
    for (int64_t i = h->board.n_taken; i < h->board.n_told && e.n < NAMES; i++)
        if (!h->board.turns[i].there && now - h->turns[i].asked > HTTPS_LATE) {
            e.seconds = e.n ? e.seconds : now - h->turns[i].asked;
            late[e.n++] = h->board.turns[i].is.id;
        }
    if (e.n > 0) {
        h->reported = now;
        https_tell_watcher(h, &e);
    }
}

/* Under the lock: waits for the answer to turn i, or until there will be none. While too few
 * devices are there nobody is lost: the run waits for them. */
static eg_status https_hear(eg_https *h, int64_t i, bool *lost)
{
    const eg_board_turn *t = &h->board.turns[i];
    while (!t->there && !*lost) {
        bool alone;
        EG_TRY(eg_https_is_short(h, &alone));
        if (t->there)
            break;
        if (!alone && https_is_lost(h, i)) {
            h->counted = 0; /* several may have gone since the last count */
            EG_TRY(eg_https_is_short(h, &alone));
            if ((*lost = !alone && https_is_lost(h, i)))
                break;
        }
        https_report_late(h);
        eg_https_nap(h);
    }
    return EG_OK;
}

/* Frees what this transport has of a turn. */
static void https_drop(eg_https *h, int64_t i)
{
    eg_https_turn *t = &h->turns[i];
    h->devices[h->board.turns[i].is.id].turn = -1;
    h->asks -= t->n_ask;
    eg_http_page_drop(t->ask);
    eg_chunk_free(t->body);
    *t = (eg_https_turn){0};
}

/* Under the lock: that a device is left out, which the error text says why. */
void eg_https_note_lost(eg_https *h, int64_t client)
{
    eg_https_device *d = &h->devices[client];
    snprintf(d->why, sizeof d->why, "%.250s", eg_error());
    d->lost = true;
    d->n_left_out++;
    h->n_left_out++;
    eg_https_audit(h, "left_out", client, NULL, eg_error());
}

/* Under the lock: the reply that was heard, as it is or out of its bytes. */
static eg_status https_reply(eg_https *h, int64_t i, eg_reply *out, bool *lost)
{
    eg_board_turn *t = &h->board.turns[i];
    bool silent = *lost;
    if (!*lost && t->status == EG_OK && h->turns[i].body) {
        pthread_mutex_unlock(&h->lock);
        eg_status s = eg_https_read(h, &h->turns[i], h->turns[i].body, t);
        pthread_mutex_lock(&h->lock);
        EG_TRY(s);
    } else if (t->reply.up) {
        h->held -= eg_bundle_bytes(t->reply.up);
    }
    if (!*lost && t->status != EG_OK) { /* what cannot be is as good as nothing */
        *lost = true;
        eg_fail(t->status, "%s", t->why ? t->why : "out of memory");
    }
    if (*lost)
        eg_https_note_lost(h, t->is.id);
    t->there = true; /* what comes later is refused */
    *out = eg_board_take(&h->board, i);
    if (silent && h->board.job->waits_late && h->turns[i].given)
        eg_https_keep_late(h, i);
    else
        https_drop(h, i);
    return EG_OK;
}

static eg_status https_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    eg_https *h = self;
    *lost = false;
    *out = (eg_reply){0};
    EG_TRY(https_hand_out(h));
    pthread_mutex_lock(&h->lock);
    eg_status s = https_hear(h, i, lost);
    if (s == EG_OK)
        s = https_reply(h, i, out, lost);
    pthread_mutex_unlock(&h->lock);
    return s;
}

static void https_end(void *self)
{
    eg_https *h = self;
    pthread_mutex_lock(&h->lock);
    eg_https_requeue(h); /* what is not read yet is not read any more */
    while (h->busy)
        eg_cond_wait(&h->changed, &h->lock, 1);
    for (int64_t i = h->board.n_taken; h->turns && i < h->board.n_told; i++) {
        const eg_bundle *up = h->board.turns[i].reply.up;
        h->held -= up ? eg_bundle_bytes(up) : 0;
        https_drop(h, i);
    }
    free(h->turns);
    eg_http_page_drop(h->down);
    h->turns = NULL, h->down = NULL;
    eg_board_end(&h->board);
    pthread_mutex_unlock(&h->lock);
}

/* Whether some device that was there of late does not know yet. */
static bool https_is_awaited(const eg_https *h)
{
    for (int64_t i = 0; i < h->n_devices; i++) {
        const eg_https_device *d = &h->devices[i];
        if (d->met && !d->told_end && eg_seconds() - d->heard < eg_https_patience(h))
            return true;
    }
    return false;
}

static void https_finish(void *self)
{
    eg_https *h = self;
    double since = eg_seconds();
    pthread_mutex_lock(&h->lock);
    h->over = true;
    eg_https_news(h, "over", -1, NULL);
    pthread_mutex_unlock(&h->lock);
    eg_http_server_wake(h->server, -1);
    pthread_mutex_lock(&h->lock);
    while (https_is_awaited(h) && eg_seconds() - since < HTTPS_LINGER)
        eg_https_nap(h);
    pthread_mutex_unlock(&h->lock);
}

static bool https_wants_model(void *self)
{
    eg_https *h = self;
    pthread_mutex_lock(&h->lock);
    bool wanted = h->model_wanted;
    pthread_mutex_unlock(&h->lock);
    return wanted;
}

static eg_status https_show_model(void *self, const char *path)
{
    eg_https *h = self;
    unsigned char *bytes;
    size_t n;
    eg_http_page *page, *old;
    EG_TRY(eg_file_read(path, HTTPS_MODEL, &bytes, &n));
    EG_TRY(eg_http_page_new(bytes, n, &page));
    pthread_mutex_lock(&h->lock);
    old = h->model;
    h->model = page;
    pthread_mutex_unlock(&h->lock);
    eg_http_page_drop(old);
    eg_http_server_wake(h->server, -1);
    return EG_OK;
}

static void https_stand(void *self, const eg_standing *s)
{
    eg_https_stand(self, s);
}

static void https_close(void *self)
{
    eg_https *h = self;
    eg_https_reader_end(h);
    for (int64_t i = 0; h->devices && i < h->n_devices; i++)
        eg_https_drop_late(h, i);
    eg_http_server_free(h->server);
    eg_http_server_free(h->desk);
    eg_http_page_drop(h->desk_page);
    eg_http_page_drop(h->model);
    if (h->audit)
        fclose(h->audit);
    eg_spool_free(h->spool);
    eg_http_page_drop(h->welcome);
    eg_http_page_drop(h->frozen);
    free(h->keys);
    free(h->devices);
    pthread_cond_destroy(&h->changed);
    pthread_cond_destroy(&h->more);
    pthread_mutex_destroy(&h->lock);
}

const eg_transport eg_transport_https = {
    .component = {"https", "clients are devices on other machines, which ask for their turns",
                  sizeof(eg_https), NULL},
    .apart = true,
    .open = eg_https_open,
    .meet = eg_https_meet,
    .wait = https_wait,
    .stand = https_stand,
    .wants_model = https_wants_model,
    .show_model = https_show_model,
    .begin = https_begin,
    .take = https_take,
    .end = https_end,
    .is_late = eg_https_is_late,
    .hear_late = eg_https_hear_late,
    .drop_late = eg_https_drop_late,
    .finish = https_finish,
    .close = https_close,
};
