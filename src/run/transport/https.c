/* https.c - clients are devices on other machines, which ask for their turns over HTTPS.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device has its own data and its own disk; the server has receipts of what it keeps. Turns
 * are told in client order, a window of them at a time, and replies are taken in that order, so
 * that who answers first changes nothing. A device that is gone, too late, or answers what
 * cannot be is lost in this exchange, which goes on without it; it may be back in the next. All
 * tests are the server's own, of models that it has. The bits are those of workers in one
 * process, as long as no device is lost.
 */
#include "run/transport/https.h"

#include "io/file.h"

#include <engram/remote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Turns under way or answered and not yet taken: of those for which each client is sent much of
 * its own, and of others. Seconds for which a server that is done waits until devices know. */
enum {
    HTTPS_LARGE = 8,
    HTTPS_WINDOW = 64,
    HTTPS_LINGER = 10,
    HTTPS_WAIT = 25,
    HTTPS_PEM = 1 << 20
};

/* The longest answer that is heard: models, and generators, which may be larger than a small
 * network. */
enum { HTTPS_MODELS = 32, HTTPS_BESIDE = 64 << 20 };

double eg_https_patience(const eg_https *h)
{
    return h->how.patience > 0 ? h->how.patience : 60;
}

static eg_status https_open(void *self, const eg_site *site)
{
    eg_https *h = self;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    if (!site->listen)
        return eg_fail(EG_EINVAL, "the transport https is for `engram serve`");
    h->site = *site;
    h->how = *site->listen;
    h->n_devices = eg_scenario_n_clients(site->feed->scenario);
    EG_TRY(eg_alloc((size_t)h->n_devices, sizeof *h->keys, &h->keys));
    EG_TRY(eg_alloc((size_t)h->n_devices, sizeof *h->devices, &h->devices));
    for (int64_t i = 0; i < h->n_devices; i++)
        h->devices[i].turn = -1;
    if (!h->how.keys)
        return eg_fail(EG_EINVAL, "a server needs a file for the keys of its devices");
    if (access(h->how.keys, F_OK) != 0)
        EG_TRY(eg_keys_make(h->how.keys, h->n_devices));
    return eg_keys_load(h->how.keys, h->n_devices, h->keys);
}

/* "host:port", "[::1]:8443". */
static eg_status https_split(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;
    bool bracket = n > 1 && *address == '[' && address[n - 1] == ']';
    if (n == 0 || n > 255 || !colon[1] || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return eg_fail(EG_EINVAL, "'%.200s' is no address such as 127.0.0.1:8443", address);
    snprintf(host, 256, "%.*s", (int)(n - 2 * bracket), address + bracket);
    snprintf(port, 16, "%s", colon + 1);
    return EG_OK;
}

static eg_status https_pem(const char *path, char **out)
{
    unsigned char *bytes;
    size_t n;
    EG_TRY(eg_file_read(path, HTTPS_PEM, &bytes, &n));
    *out = (char *)bytes;
    return EG_OK;
}

/* What devices are told of the run, as a page. */
static eg_status https_fill_welcome(const eg_https *h, eg_json *to)
{
    EG_TRY(eg_hello_put(&h->mine, to));
    EG_TRY(eg_json_set(to, "run", eg_json_of_text(h->site.e->sha256)));
    EG_TRY(eg_json_set(to, "config", eg_json_of_text(h->site.e->resolved)));
    EG_TRY(eg_json_set(to, "seed", eg_json_of_int((int64_t)h->site.seed)));
    return eg_json_set(to, "patience", eg_json_of_real(eg_https_patience(h)));
}

static eg_status https_welcome(eg_https *h)
{
    char *text;
    size_t n;
    eg_json *json = eg_json_object();
    if (!json)
        return EG_ENOMEM;
    EG_TRY(eg_hello_fill(&h->site, h->how.own_data, &h->mine));
    eg_status s = https_fill_welcome(h, json);
    if (s == EG_OK)
        s = eg_json_print(json, 0, &text, &n);
    eg_json_free(json);
    EG_TRY(s);
    return eg_http_page_new((unsigned char *)text, n, &h->welcome);
}

static size_t https_max_reply(const eg_https *h)
{
    return HTTPS_BESIDE +
           HTTPS_MODELS * sizeof(float) * eg_params_length(eg_net_params(h->site.net));
}

/* How long a device's question waits: so short that who only waits is not taken for gone. */
static double https_wait_seconds(const eg_https *h)
{
    double quarter = eg_https_patience(h) / 4;
    return quarter < HTTPS_WAIT ? quarter : HTTPS_WAIT;
}

static eg_status https_listen(eg_https *h)
{
    char host[256], port[16], url[320];
    char *certificate = NULL, *secret = NULL;
    EG_TRY(https_split(h->how.address, host, port));
    bool safe = h->how.certificate && h->how.secret;
    if (!safe && !eg_http_is_loopback(host))
        return eg_fail(EG_EINVAL,
                       "%s: other machines reach a server by TLS alone, which takes a "
                       "certificate and its key",
                       h->how.address);
    eg_status s = safe ? https_pem(h->how.certificate, &certificate) : EG_OK;
    if (s == EG_OK && safe)
        s = https_pem(h->how.secret, &secret);
    if (s == EG_OK)
        s = eg_http_server_new(&(eg_http_listen){.host = host,
                                                 .port = port,
                                                 .certificate = certificate,
                                                 .secret = secret,
                                                 .max_body = https_max_reply(h),
                                                 .wait = https_wait_seconds(h),
                                                 .handle = eg_https_answer,
                                                 .context = h},
                               &h->server);
    free(certificate);
    free(secret);
    EG_TRY(s);
    snprintf(url, sizeof url, strchr(host, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
             safe ? "https" : "http", host, eg_http_server_port(h->server));
    if (h->how.ready)
        h->how.ready(h->how.context, url);
    return EG_OK;
}

static eg_status https_meet(void *self, bool *served)
{
    eg_https *h = self;
    *served = false;
    EG_TRY(https_welcome(h));
    return https_listen(h);
}

/* Under the lock: waits until something has changed, for a moment at most. */
static void https_nap(eg_https *h)
{
    struct timespec soon;
    eg_http_soon(0.2, &soon);
    pthread_cond_timedwait(&h->changed, &h->lock, &soon);
}

/* Before the first exchange: until enough devices are there. */
static eg_status https_wait(eg_https *h)
{
    int64_t all = h->n_devices, least = h->how.at_least;
    int64_t wanted = least > 0 && least < all ? least : all, there = 0;
    bool stays = true;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        there = 0;
        for (int64_t i = 0; i < all; i++)
            there += h->devices[i].met;
        if (there >= wanted || !stays)
            break;
        https_nap(h);
        pthread_mutex_unlock(&h->lock);
        stays = !h->how.waits || h->how.waits(h->how.context, there, wanted);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    if (there < wanted)
        return eg_fail(EG_EIO, "stopped when %lld of %lld devices were there", (long long)there,
                       (long long)wanted);
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
    if (!h->begun)
        EG_TRY(https_wait(h));
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
    h->since = eg_seconds();
    pthread_mutex_unlock(&h->lock);
    return EG_OK;
}

/* Tells the next turn, as bytes. */
static eg_status https_tell(eg_https *h, int64_t i, eg_http_page **out)
{
    eg_board_turn *t = &h->board.turns[i];
    eg_message *m;
    EG_TRY(eg_board_tell(&h->board));
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s =
        eg_message_of_turn(&t->is, (size_t)eg_scenario_n_classes(h->site.feed->scenario), m);
    m->head.number = eg_board_number(&h->board, i);
    if (s == EG_OK)
        s = https_pack(m, t->own, out);
    eg_message_end_turn(m);
    free(m);
    eg_bundle_free(t->own);
    t->own = NULL;
    return s;
}

/* Tells as many turns ahead as may be under way. */
static eg_status https_hand_out(eg_https *h)
{
    eg_board *b = &h->board;
    int64_t window = b->job->large ? HTTPS_LARGE : HTTPS_WINDOW;
    while (b->n_told < b->job->n && b->n_told < b->n_taken + window) {
        int64_t i = b->n_told, id;
        eg_http_page *ask = NULL;
        EG_TRY(https_tell(h, i, &ask));
        pthread_mutex_lock(&h->lock);
        id = b->turns[i].is.id;
        h->turns[i].ask = ask;
        h->devices[id].turn = i;
        pthread_mutex_unlock(&h->lock);
        eg_http_server_wake(h->server, id);
    }
    return EG_OK;
}

/* Under the lock: true if the turn will get no answer; the error text says why. */
static bool https_is_lost(const eg_https *h, const eg_board_turn *t)
{
    const eg_https_device *d = &h->devices[t->is.id];
    double now = eg_seconds(), patience = eg_https_patience(h);
    if (!d->met)
        eg_fail(EG_EIO, "its device is not there");
    else if (now - d->heard > patience)
        eg_fail(EG_EIO, "its device was not heard of for %.0f seconds", patience);
    else if (h->how.deadline > 0 && now - h->since > h->how.deadline)
        eg_fail(EG_EIO, "it did not answer within %.0f seconds", h->how.deadline);
    else
        return false;
    return true;
}

static eg_status https_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    eg_https *h = self;
    *lost = false;
    *out = (eg_reply){0};
    EG_TRY(https_hand_out(h));
    eg_board_turn *t = &h->board.turns[i];
    pthread_mutex_lock(&h->lock);
    while (!t->there && !(*lost = https_is_lost(h, t)))
        https_nap(h);
    t->there = true; /* what comes later is refused */
    h->devices[t->is.id].turn = -1;
    if (!*lost && t->status != EG_OK) { /* what cannot be is as good as nothing */
        *lost = true;
        eg_fail(t->status, "%s", t->why ? t->why : "out of memory");
    }
    *out = eg_board_take(&h->board, i);
    pthread_mutex_unlock(&h->lock);
    eg_http_page_drop(h->turns[i].ask);
    h->turns[i].ask = NULL;
    return EG_OK;
}

static void https_end(void *self)
{
    eg_https *h = self;
    pthread_mutex_lock(&h->lock);
    for (int64_t i = 0; h->turns && i < h->board.n_told; i++) {
        h->devices[h->board.turns[i].is.id].turn = -1;
        eg_http_page_drop(h->turns[i].ask);
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
    pthread_mutex_unlock(&h->lock);
    eg_http_server_wake(h->server, -1);
    pthread_mutex_lock(&h->lock);
    while (https_is_awaited(h) && eg_seconds() - since < HTTPS_LINGER)
        https_nap(h);
    pthread_mutex_unlock(&h->lock);
}

static void https_close(void *self)
{
    eg_https *h = self;
    eg_http_server_free(h->server);
    eg_http_page_drop(h->welcome);
    free(h->keys);
    free(h->devices);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

const eg_transport eg_transport_https = {
    .component = {"https", "clients are devices on other machines, which ask for their turns",
                  sizeof(eg_https), NULL},
    .apart = true,
    .open = https_open,
    .meet = https_meet,
    .begin = https_begin,
    .take = https_take,
    .end = https_end,
    .finish = https_finish,
    .close = https_close,
};
