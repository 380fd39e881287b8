/* device.c - a device's folder, and "still at work" every now and then.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/device.h"

#include "io/disk.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file with the version at which a device that had lost its disk began anew. */
static void home_base_path(const eg_home *h, char out[EG_HOME_PATH + 64])
{
    snprintf(out, EG_HOME_PATH + 64, "%s/client-%lld.base", h->store, (long long)h->client);
}

static eg_status home_read_base(eg_home *h)
{
    char path[EG_HOME_PATH + 64];
    unsigned char *bytes;
    size_t n;
    home_base_path(h, path);
    if (eg_file_read(path, 64, &bytes, &n) != EG_OK)
        return EG_OK;
    h->base = strtoll((const char *)bytes, NULL, 10);
    free(bytes);
    return h->base >= 0 && h->base <= EG_MAX_VERSION
               ? EG_OK
               : eg_fail(EG_EFORMAT, "%s: this is no version", path);
}

static eg_status home_set_base(eg_home *h, int64_t base)
{
    char path[EG_HOME_PATH + 64], text[32];
    home_base_path(h, path);
    h->base = base;
    int n = snprintf(text, sizeof text, "%lld\n", (long long)base);
    return eg_file_write(path, &(eg_bytes){text, (size_t)n}, 1);
}

/* The word by which the server knows the folder: made once, and kept in it. */
static eg_status home_find_word(eg_home *h)
{
    char path[EG_HOME_PATH + 64];
    unsigned char *bytes, drawn[(EG_HTTPS_HOME - 1) / 2];
    size_t n;
    snprintf(path, sizeof path, "%s/client-%lld.home", h->store, (long long)h->client);
    if (eg_file_read(path, 4096, &bytes, &n) == EG_OK) {
        snprintf(h->word, sizeof h->word, "%.*s", (int)(n < 4096 ? n : 4096), (char *)bytes);
        free(bytes);
        return home_read_base(h);
    }
    h->fresh = true;
    eg_random(drawn, sizeof drawn);
    eg_hex_print(drawn, sizeof drawn, h->word);
    return eg_file_write(path, &(eg_bytes){h->word, strlen(h->word)}, 1);
}

/* The folder of the client's records, which one process has at a time, and nobody else reads.
 */
eg_status eg_home_open(eg_home *h)
{
    char path[EG_HOME_PATH + 64];
    EG_TRY(eg_disk_make_folder(h->store));
    (void)chmod(h->store, 0700);
    snprintf(path, sizeof path, "%s/client-%lld.lock", h->store, (long long)h->client);
    EG_TRY(eg_disk_lock(path, true, &h->lock));
    if (h->lock < 0)
        return eg_fail(EG_EBUSY, "%s: another process is this device", path);
    return home_find_word(h);
}

void eg_home_close(eg_home *h)
{
    if (h->lock >= 0)
        close(h->lock);
    h->lock = -1;
}

eg_status eg_home_localise(eg_home *h, eg_turn *turn, bool *lost)
{
    int64_t version = turn->kept.version;
    *lost = h->fresh && version > 0;
    h->fresh = false;
    if (*lost || version < h->base) /* the latter: the server has gone back */
        EG_TRY(home_set_base(h, version));
    if (h->base == 0)
        return EG_OK;
    turn->kept.version -= h->base;
    turn->committed = turn->committed > h->base ? turn->committed - h->base : 0;
    if (turn->kept.version == 0)
        turn->kept = (eg_receipt){0};
    return EG_OK;
}

void eg_home_globalise(const eg_home *h, const eg_receipt *told, eg_receipt *kept)
{
    if (kept->version > 0)
        kept->version += h->base;
    else
        *kept = *told;
}

struct eg_pulse {
    eg_line server;
    double every; /* seconds */
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    int64_t number; /* of the turn; -1: there is none */
    bool ends;
};

/* One word. Work that nobody wants any more is done all the same, so the answer is not read. */
static void pulse_beat(eg_pulse *p, int64_t number)
{
    eg_http_reply reply;
    const eg_line_call call = {
        .method = "POST", .what = "alive", .number = number, .max = 4096};
    if (eg_line_ask(&p->server, &call, &reply) == EG_OK)
        free(reply.bytes);
}

static void *pulse_live(void *self)
{
    eg_pulse *p = self;
    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        if (p->number < 0) { /* nothing to say: it sleeps until there is */
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        eg_cond_wait(&p->changed, &p->lock, p->every);
        int64_t number = p->ends ? -1 : p->number;
        if (number < 0)
            continue;
        pthread_mutex_unlock(&p->lock);
        pulse_beat(p, number);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

eg_status eg_pulse_new(eg_line *take, double every, eg_pulse **out)
{
    eg_pulse *p;
    *out = NULL;
    eg_status s = eg_alloc(1, sizeof *p, &p);
    if (s != EG_OK) {
        eg_line_close(take);
        return s;
    }
    p->server = *take, p->every = every, p->number = -1;
    pthread_mutex_init(&p->lock, NULL);
    eg_cond_init(&p->changed);
    p->runs = pthread_create(&p->thread, NULL, pulse_live, p) == 0;
    if (!p->runs) {
        eg_pulse_free(p);
        return eg_fail(EG_ENOMEM, "no thread for the device");
    }
    *out = p;
    return EG_OK;
}

void eg_pulse_set(eg_pulse *p, int64_t number)
{
    pthread_mutex_lock(&p->lock);
    bool wakes = p->number < 0 && number >= 0;
    p->number = number;
    if (wakes)
        pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void eg_pulse_free(eg_pulse *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    if (p->runs)
        pthread_join(p->thread, NULL);
    eg_line_close(&p->server);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
