/* pool.c - threads that claim pieces of work, and a taker that waits for each in turn.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What one piece of work came to. */
typedef struct pool_result {
    bool finished;
    eg_status status;
    char *error; /* the worker thread's error text */
} pool_result;

typedef struct pool_member {
    eg_pool *pool;
    int number;
    pthread_t thread;
} pool_member;

struct eg_pool {
    eg_pool_job job;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t next, taken; /* pieces begun and taken */
    bool stop;
    pool_result *results; /* [n] */
    int n_members;
    pool_member members[EG_MAX_THREADS];
};

/* Whether the next piece must wait: too many results have not been taken, or it is not allowed
 * yet. */
static bool pool_waits(const eg_pool *p)
{
    return p->next >= p->taken + 2 * p->job.n_threads ||
           (p->job.allowed > 0 && p->next >= p->job.allowed);
}

/* The next piece, or -1. */
static int64_t pool_claim(eg_pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->job.n && pool_waits(p))
        pthread_cond_wait(&p->moved, &p->lock);
    int64_t i = p->stop || p->next >= p->job.n ? -1 : p->next++;
    pthread_mutex_unlock(&p->lock);
    return i;
}

static void pool_finish(eg_pool *p, int64_t i, eg_status s)
{
    char *error = s == EG_OK ? NULL : strdup(eg_error());
    pthread_mutex_lock(&p->lock);
    p->results[i] = (pool_result){true, s, error};
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

static void *pool_thread(void *arg)
{
    const pool_member *m = arg;
    eg_pool *p = m->pool;
    for (int64_t i = pool_claim(p); i >= 0; i = pool_claim(p))
        pool_finish(p, i, p->job.work(p->job.context, m->number, i));
    return NULL;
}

static eg_status pool_start_threads(eg_pool *p)
{
    for (; p->n_members < p->job.n_threads && p->n_members < p->job.n; p->n_members++) {
        pool_member *m = &p->members[p->n_members];
        *m = (pool_member){.pool = p, .number = p->n_members};
        if (pthread_create(&m->thread, NULL, pool_thread, m) != 0)
            break;
    }
    return p->n_members ? EG_OK : eg_fail(EG_ENOMEM, "cannot start a worker thread");
}

eg_status eg_pool_start(const eg_pool_job *job, eg_pool **out)
{
    *out = NULL;
    EG_ASSERT(job->n_threads >= 1 && job->n_threads <= EG_MAX_THREADS);
    eg_pool *p = calloc(1, sizeof *p);
    if (!p)
        return eg_fail(EG_ENOMEM, "no memory for worker threads");
    p->job = *job;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->moved, NULL);
    bool alone = job->n_threads == 1 || job->n < 2;
    eg_status s = alone ? EG_OK : eg_alloc((size_t)job->n, sizeof *p->results, &p->results);
    if (s == EG_OK && !alone)
        s = pool_start_threads(p);
    if (s == EG_OK)
        *out = p;
    else
        eg_pool_end(p);
    return s;
}

void eg_pool_allow(eg_pool *p, int64_t n)
{
    pthread_mutex_lock(&p->lock);
    p->job.allowed = n;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

/* The result of piece i, once it is there. */
static pool_result pool_wait(eg_pool *p, int64_t i)
{
    pthread_mutex_lock(&p->lock);
    while (!p->results[i].finished)
        pthread_cond_wait(&p->moved, &p->lock);
    pool_result r = p->results[i];
    p->results[i].error = NULL;
    p->taken = i + 1;
    p->stop |= r.status != EG_OK;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    return r;
}

eg_status eg_pool_take(eg_pool *p, int64_t i)
{
    EG_ASSERT(i >= 0 && i < p->job.n);
    if (!p->results)
        return p->job.work(p->job.context, 0, i);
    pool_result r = pool_wait(p, i);
    if (r.status != EG_OK)
        eg_fail(r.status, "%s", r.error ? r.error : "out of memory");
    free(r.error);
    return r.status;
}

void eg_pool_end(eg_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_members; i++)
        pthread_join(p->members[i].thread, NULL);
    for (int64_t i = 0; p->results && i < p->job.n; i++)
        free(p->results[i].error);
    free(p->results);
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void eg_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(c, &how);
    pthread_condattr_destroy(&how);
}

void eg_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double at = (double)end.tv_nsec / 1e9 + (seconds > 0 ? seconds : 0);
    end.tv_sec += (time_t)at;
    end.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    pthread_cond_timedwait(c, held, &end);
}
