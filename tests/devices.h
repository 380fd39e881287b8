/* devices.h - a server and its devices in one test: the devices join on threads of their own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_DEVICES_H
#define EG_TEST_DEVICES_H

#include "runs.h"

#include <engram/remote.h>

#include <pthread.h>

enum { DEVICES_MAX = 16 };

/* The server's address, once it listens, and where keys and records are. */
typedef struct devices {
    char url[128], keys[FILES_PATH * 2], state[FILES_PATH * 2], out[FILES_PATH * 2];
    pthread_mutex_t lock;
    pthread_cond_t listens;
} devices;

typedef struct devices_one {
    devices *all;
    int64_t client;
    pthread_t thread;
    eg_status status;
} devices_one;

/* Everything in new folders in there. */
static inline void devices_init(devices *d, const char *within)
{
    static int number;
    *d = (devices){0};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->listens, NULL);
    snprintf(d->keys, sizeof d->keys, "%s/keys%d", within, number);
    snprintf(d->state, sizeof d->state, "%s/state%d", within, number);
    snprintf(d->out, sizeof d->out, "%s/served%d", within, number++);
}

/* eg_listen.ready */
static inline void devices_ready(void *context, const char *url)
{
    devices *d = context;
    pthread_mutex_lock(&d->lock);
    snprintf(d->url, sizeof d->url, "%s", url);
    pthread_cond_broadcast(&d->listens);
    pthread_mutex_unlock(&d->lock);
}

static inline void devices_wait(devices *d)
{
    pthread_mutex_lock(&d->lock);
    while (!*d->url)
        pthread_cond_wait(&d->listens, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

/* A device's life, on a thread. */
static inline void *devices_live(void *context)
{
    devices_one *one = context;
    char state[FILES_PATH * 3];
    int64_t n;
    devices_wait(one->all);
    snprintf(state, sizeof state, "%s/%lld", one->all->state, (long long)one->client);
    one->status = eg_join(&(eg_join_how){.url = one->all->url,
                                         .client = one->client,
                                         .key = one->all->keys,
                                         .state = state,
                                         .patience = 20},
                          &n);
    return NULL;
}

static inline void devices_start(devices *d, devices_one *one, int64_t client)
{
    *one = (devices_one){.all = d, .client = client};
    assert_int_equal(pthread_create(&one->thread, NULL, devices_live, one), 0);
}

/* Serves a run with seed 3 to n devices, who all come; path: where it is. */
static inline void devices_run(const eg_experiment *e, const char *within, int64_t n,
                               char path[512])
{
    devices d;
    devices_one all[DEVICES_MAX];
    bool stopped;
    devices_init(&d, within);
    const eg_listen listen = {
        .address = "127.0.0.1:0", .keys = d.keys, .ready = devices_ready, .context = &d};
    for (int64_t i = 0; i < n; i++)
        devices_start(&d, &all[i], i);
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = 3, .workers = 1, .out = d.out, .listen = &listen}, path,
        &stopped));
    for (int64_t i = 0; i < n; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].status, EG_OK);
    }
}

#endif
