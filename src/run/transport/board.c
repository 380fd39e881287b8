/* board.c - the turns of one exchange: told ahead, numbered, and answered in order; and a desk,
 * at which a pool of threads takes them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server is asked on its own thread, for as many turns ahead as may be under way or wait:
 * when it takes a reply, or begins. Of large ones there are only those under way.
 */
#include "run/transport/transport.h"

#include "base/pool.h"

#include <stdlib.h>

#define BOARD_TURNS ((int64_t)1 << 32) /* numbers of an exchange */

void eg_turn_rest(eg_turn *t, eg_bundle *own, const eg_bundle *down)
{
    if (own)
        eg_bundle_rest_on(own, down);
    t->down = own ? own : down;
}

eg_status eg_board_begin(eg_board *b, const eg_job *job, int64_t exchange)
{
    *b = (eg_board){.job = job, .exchange = exchange};
    return eg_alloc((size_t)job->n, sizeof *b->turns, &b->turns);
}

eg_status eg_board_tell(eg_board *b)
{
    eg_board_turn *t = &b->turns[b->n_told];
    EG_TRY(b->job->tell(b->job->context, b->n_told, &t->is, &t->own));
    eg_turn_rest(&t->is, t->own, b->job->down);
    b->n_told++;
    return EG_OK;
}

int64_t eg_board_number(const eg_board *b, int64_t i)
{
    return b->exchange * BOARD_TURNS + i;
}

int64_t eg_board_exchange_of(int64_t number)
{
    return number / BOARD_TURNS;
}

eg_board_turn *eg_board_find(const eg_board *b, int64_t number)
{
    int64_t i = number - eg_board_number(b, 0);
    return b->turns && i >= 0 && i < b->n_told && !b->turns[i].there ? &b->turns[i] : NULL;
}

eg_reply eg_board_take(eg_board *b, int64_t i)
{
    eg_reply reply = b->turns[i].reply;
    b->turns[i].reply = (eg_reply){0};
    b->n_taken = i + 1;
    return reply;
}

void eg_board_end(eg_board *b)
{
    for (int64_t i = 0; b->turns && i < b->job->n; i++) {
        eg_bundle_free(b->turns[i].own);
        eg_reply_fini(&b->turns[i].reply);
        free(b->turns[i].why);
    }
    free(b->turns);
    b->turns = NULL, b->job = NULL;
    b->n_told = b->n_taken = 0;
}

struct eg_desk {
    eg_board board;
    int n_threads;
    eg_desk_carry carry;
    void *self;
    eg_pool *pool;
};

/* Tells turns until those before `end` are told. */
static eg_status desk_tell(eg_desk *d, int64_t end)
{
    while (d->board.n_told < end && d->board.n_told < d->board.job->n)
        EG_TRY(eg_board_tell(&d->board));
    return EG_OK;
}

static eg_status desk_work(void *context, int thread, int64_t i)
{
    eg_desk *d = context;
    eg_board_turn *t = &d->board.turns[i];
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
    *d = (eg_desk){.n_threads = n_threads, .carry = carry, .self = self};
    eg_status s = eg_board_begin(&d->board, job, 0);
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
    bool large = d->board.job->large;
    /* Taking i lets one more begin, which is told by then; one of the large ones waits. */
    EG_TRY(desk_tell(d, large ? i + d->n_threads : i + 1 + 2 * d->n_threads));
    if (large)
        eg_pool_allow(d->pool, d->board.n_told);
    eg_status s = eg_pool_take(d->pool, i);
    *out = eg_board_take(&d->board, i);
    return s;
}

void eg_desk_close(eg_desk *d)
{
    if (!d)
        return;
    eg_pool_end(d->pool);
    eg_board_end(&d->board);
    free(d);
}
