/* pool.h - work on several threads, results taken in order.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pieces are begun in order, by whichever thread is free, and taken in order by the thread that
 * started the pool; at most twice as many wait to be taken as there are threads. With one
 * thread the taker does the work itself.
 */
#ifndef EG_POOL_H
#define EG_POOL_H

#include "base/base.h"

#include <pthread.h>

enum { EG_MAX_THREADS = 64 };

typedef struct eg_pool_job {
    int n_threads; /* 1 to EG_MAX_THREADS */
    int64_t n;
    eg_status (*work)(void *context, int thread, int64_t i); /* piece i, on thread 0, 1, ... */
    void *context;
    int64_t allowed; /* only so many may be begun, until eg_pool_allow allows more; 0: all */
} eg_pool_job;

typedef struct eg_pool eg_pool;

eg_status eg_pool_start(const eg_pool_job *job, eg_pool **out);

/* Lets pieces be begun that stand before n, where a job has allowed few at first. */
void eg_pool_allow(eg_pool *p, int64_t n);

/* Waits for piece i, which must be allowed, and takes it: its error becomes the caller's. Ask
 * for 0, 1, 2, ... */
eg_status eg_pool_take(eg_pool *p, int64_t i);

/* Begins no further piece, waits for those that were begun, and frees the pool. */
void eg_pool_end(eg_pool *p); /* NULL is fine */

/* A condition whose waits go by a clock that nobody sets; waits so many seconds at most. */
void eg_cond_init(pthread_cond_t *c);
void eg_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, double seconds);

#endif
