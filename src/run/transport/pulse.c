/* pulse.c - "still at work", every now and then.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/pulse.h"

#include "io/http_server.h"
#include "run/transport/https.h"

#include <stdio.h>
#include <stdlib.h>

struct eg_pulse {
    eg_http_client *server;
    int64_t client;
    double every; /* seconds */
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t ends_now;
    /* Under the lock. */
    int64_t number; /* of the turn; -1: there is none */
    bool ends;
};

/* One word. Work that nobody wants any more is done all the same, so the answer is not read. */
static void pulse_beat(eg_pulse *p, int64_t number)
{
    char path[128];
    eg_http_reply reply;
    snprintf(path, sizeof path, EG_HTTPS_ROOT "/alive?client=%lld&number=%lld",
             (long long)p->client, (long long)number);
    const eg_http_call call = {.method = "POST", .path = path, .max = 4096};
    if (eg_http_client_call(p->server, &call, &reply) == EG_OK)
        free(reply.bytes);
}

static void *pulse_live(void *self)
{
    eg_pulse *p = self;
    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        eg_cond_wait(&p->ends_now, &p->lock, p->every);
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

eg_status eg_pulse_new(eg_http_client *take, int64_t client, double every, eg_pulse **out)
{
    eg_pulse *p;
    *out = NULL;
    eg_status s = eg_alloc(1, sizeof *p, &p);
    if (s != EG_OK) {
        eg_http_client_free(take);
        return s;
    }
    p->server = take, p->client = client, p->every = every, p->number = -1;
    pthread_mutex_init(&p->lock, NULL);
    eg_cond_init(&p->ends_now);
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
    p->number = number;
    pthread_mutex_unlock(&p->lock);
}

void eg_pulse_free(eg_pulse *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_signal(&p->ends_now);
    pthread_mutex_unlock(&p->lock);
    if (p->runs)
        pthread_join(p->thread, NULL);
    eg_http_client_free(p->server);
    pthread_cond_destroy(&p->ends_now);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
