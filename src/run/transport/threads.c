/* threads.c - clients on the threads of this process.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/transport.h"

typedef struct threads {
    eg_site site;
    eg_desk *desk;
} threads;

static eg_status threads_open(void *self, const eg_site *site)
{
    threads *t = self;
    t->site = *site;
    return EG_OK;
}

static eg_status threads_carry(void *self, int thread, const eg_turn *turn,
                               const eg_bundle *own, eg_reply *out)
{
    threads *t = self;
    (void)own;
    return eg_worker_turn(&t->site.workers[thread], turn, out);
}

static eg_status threads_begin(void *self, const eg_job *job)
{
    threads *t = self;
    eg_workers_share(t->site.workers, t->site.n_workers, job->n, t->site.threads);
    return eg_desk_open(job, t->site.n_workers, threads_carry, t, &t->desk);
}

static eg_status threads_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    threads *t = self;
    *lost = false;
    return eg_desk_take(t->desk, i, out);
}

static void threads_end(void *self)
{
    threads *t = self;
    eg_desk_close(t->desk);
    t->desk = NULL;
}

const eg_transport eg_transport_threads = {
    .component = {"threads", "clients train on threads of this process", sizeof(threads), NULL},
    .open = threads_open,
    .begin = threads_begin,
    .take = threads_take,
    .end = threads_end,
};
