/* desk.c - an exchange on a pool of threads: turns are told ahead, replies wait in order.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server is asked on its own thread, for as many turns ahead as may be under way or wait:
 * when it takes a reply, or begins. Of large ones there are only those under way.
 */
#include "run/transport/transport.h"

#include "base/pool.h"

#include <stdlib.h>

typedef struct desk_turn {
    eg_turn is;
    eg_bundle *own; /* what this client alone is sent; NULL: nothing */
    eg_reply reply;
} desk_turn;

struct eg_desk {
    const eg_job *job;
    int n_threads;
    eg_desk_carry carry;
    void *self;
    eg_pool *pool;
    int64_t n_told;
    desk_turn *turns; /* [n] */
};

/* Tells turns until those before `end` are told. */
static eg_status desk_tell(eg_desk *d, int64_t end)
{
    for (; d->n_told < end && d->n_told < d->job->n; d->n_told++) {
        desk_turn *t = &d->turns[d->n_told];
        EG_TRY(d->job->tell(d->job->context, d->n_told, &t->is, &t->own));
        if (t->own)
            eg_bundle_rest_on(t->own, d->job->down);
        t->is.down = t->own ? t->own : d->job->down;
    }
    return EG_OK;
}

static eg_status desk_work(void *context, int thread, int64_t i)
{
    eg_desk *d = context;
    desk_turn *t = &d->turns[i];
    eg_status s = d->carry(d->self, thread, &t->is, t->own, &t->reply);
    eg_bundle_free(t->own);
    t->own = NULL;
    return t->is.id >= 0 ? eg_blame(s, "client %lld", (long long)t->is.id) : s;
}

eg_status eg_desk_open(const eg_job *job, int n_threads, eg_desk_carry carry, void *self,
                       eg_desk **out)
{
    eg_desk *d;
    EG_TRY(eg_alloc(1, sizeof *d, &d));
    *d = (eg_desk){.job = job, .n_threads = n_threads, .carry = carry, .self = self};
    eg_status s = eg_alloc((size_t)job->n, sizeof *d->turns, &d->turns);
    if (s == EG_OK) /* a pool begins no more than these */
        s = desk_tell(d, job->large ? n_threads : 2 * n_threads);
    if (s == EG_OK)
        s = eg_pool_start(&(eg_pool_job){.n_threads = n_threads,
                                         .n = job->n,
                                         .work = desk_work,
                                         .context = d,
                                         .allowed = job->large ? n_threads : 0},
                          &d->pool);
    if (s == EG_OK)
        *out = d;
    else
        eg_desk_close(d);
    return s;
}

eg_status eg_desk_take(eg_desk *d, int64_t i, eg_reply *out)
{
    bool large = d->job->large;
    /* Taking i lets one more begin, which is told by then; one of the large ones waits. */
    EG_TRY(desk_tell(d, large ? i + d->n_threads : i + 1 + 2 * d->n_threads));
    if (large)
        eg_pool_allow(d->pool, d->n_told);
    eg_status s = eg_pool_take(d->pool, i);
    *out = d->turns[i].reply;
    d->turns[i].reply = (eg_reply){0};
    return s;
}

void eg_desk_close(eg_desk *d)
{
    if (!d)
        return;
    eg_pool_end(d->pool);
    for (int64_t i = 0; d->turns && i < d->job->n; i++) {
        eg_bundle_free(d->turns[i].own);
        eg_reply_fini(&d->turns[i].reply);
    }
    free(d->turns);
    free(d);
}
