/* crew.c - work on several threads, results taken in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include <stdlib.h>
#include <string.h>

/* What one piece of work came to. */
typedef struct crew_result {
    bool finished;
    eg_status status;
    char *error; /* the worker thread's error text */
} crew_result;

typedef struct crew {
    eg_federation *f;
    const eg_crew_job *job;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t next, taken; /* pieces begun and taken */
    bool stop;
    crew_result *results; /* [n] */
} crew;

typedef struct crew_member {
    crew *crew;
    eg_worker *worker;
} crew_member;

/* The next piece, or -1. Waits while too many results have not been taken. */
static int64_t crew_claim(crew *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->stop && c->next < c->job->n && c->next >= c->taken + 2 * c->f->n_workers)
        pthread_cond_wait(&c->moved, &c->lock);
    int64_t i = c->stop || c->next >= c->job->n ? -1 : c->next++;
    pthread_mutex_unlock(&c->lock);
    return i;
}

static void crew_finish(crew *c, int64_t i, eg_status s)
{
    char *error = s == EG_OK ? NULL : strdup(eg_error());
    pthread_mutex_lock(&c->lock);
    c->results[i] = (crew_result){true, s, error};
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
}

static void *crew_thread(void *arg)
{
    crew_member *m = arg;
    for (int64_t i = crew_claim(m->crew); i >= 0; i = crew_claim(m->crew))
        crew_finish(m->crew, i, m->crew->job->work(m->crew->job->context, m->worker, i));
    return NULL;
}

/* Waits for piece i and takes it; a worker's error becomes this thread's. */
static eg_status crew_take(crew *c, int64_t i)
{
    pthread_mutex_lock(&c->lock);
    while (!c->results[i].finished)
        pthread_cond_wait(&c->moved, &c->lock);
    crew_result r = c->results[i];
    pthread_mutex_unlock(&c->lock);
    eg_status s = r.status;
    if (s != EG_OK)
        eg_fail(s, "%s", r.error ? r.error : "out of memory");
    else if (c->job->done)
        s = c->job->done(c->job->context, i);
    free(r.error);
    c->results[i].error = NULL;
    pthread_mutex_lock(&c->lock);
    c->taken = i + 1;
    c->stop |= s != EG_OK;
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
    return s;
}

static eg_status crew_alone(eg_federation *f, const eg_crew_job *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        EG_TRY(job->work(job->context, &f->workers[0], i));
        if (job->done)
            EG_TRY(job->done(job->context, i));
    }
    return EG_OK;
}

eg_status eg_crew_run(eg_federation *f, const eg_crew_job *job)
{
    if (f->n_workers == 1 || job->n < 2)
        return crew_alone(f, job);
    crew c = {.f = f, .job = job};
    EG_TRY(eg_alloc((size_t)job->n, sizeof *c.results, &c.results));
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.moved, NULL);
    pthread_t threads[EG_MAX_WORKERS];
    crew_member members[EG_MAX_WORKERS];
    int n = 0;
    for (; n < f->n_workers; n++) {
        members[n] = (crew_member){&c, &f->workers[n]};
        if (pthread_create(&threads[n], NULL, crew_thread, &members[n]) != 0)
            break;
    }
    eg_status s = n ? EG_OK : eg_fail(EG_ENOMEM, "cannot start a worker thread");
    for (int64_t i = 0; i < job->n && s == EG_OK; i++)
        s = crew_take(&c, i);
    pthread_mutex_lock(&c.lock);
    c.stop = true;
    pthread_cond_broadcast(&c.moved);
    pthread_mutex_unlock(&c.lock);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int64_t i = 0; i < job->n; i++)
        free(c.results[i].error);
    free(c.results);
    pthread_cond_destroy(&c.moved);
    pthread_mutex_destroy(&c.lock);
    return s;
}
