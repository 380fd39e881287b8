/* share.c - what any worker can do for the server: tests, and pieces of the parts' work.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A transport that reaches other machines shares it out there too, as turns; else the workers
 * of this process have it.
 */
#include "engine/graph/flops.h"
#include "run/server/federation.h"

static eg_status share_here(void *self, int thread, const eg_turn *turn, const eg_bundle *own,
                            eg_reply *out)
{
    eg_federation *f = self;
    (void)own;
    return eg_worker_turn(&f->workers[thread], turn, out);
}

static eg_status share_begin(eg_federation *f, const eg_job *job, eg_desk **desk)
{
    *desk = NULL;
    return f->transport->shares ? f->transport->begin(f->carrier, job)
                                : eg_desk_open(job, f->n_workers, share_here, f, desk);
}

static eg_status share_take(eg_federation *f, eg_desk *desk, int64_t i, eg_reply *out)
{
    bool lost;
    return desk ? eg_desk_take(desk, i, out) : f->transport->take(f->carrier, i, out, &lost);
}

eg_status eg_federation_share(eg_federation *f, const eg_job *job, eg_share_take take,
                              eg_moment is)
{
    eg_desk *desk;
    eg_status s = share_begin(f, job, &desk);
    for (int64_t i = 0; i < job->n && s == EG_OK; i++) {
        eg_reply reply = {0};
        is.done = i, is.of = job->n;
        eg_federation_moment(f, is);
        s = share_take(f, desk, i, &reply);
        if (s == EG_OK)
            s = take(job->context, i, &reply);
        eg_reply_fini(&reply);
    }
    if (f->transport->shares)
        f->transport->end(f->carrier);
    eg_desk_close(desk);
    return s;
}

/* A part's work as an exchange. */
typedef struct share_work {
    eg_server *s;
    const eg_work *is;
} share_work;

static eg_status share_tell(void *context, int64_t i, eg_turn *out, eg_bundle **own)
{
    const share_work *w = context;
    *out = (eg_turn){.works = true,
                     .exchange = w->s->part,
                     .id = EG_SERVER,
                     .round = w->s->round,
                     .seed = w->s->seed,
                     .stage = i};
    if (!w->is->give)
        return EG_OK;
    EG_TRY(eg_bundle_new(own));
    return w->is->give(w->is->context, i, *own);
}

/* What others computed counts as the caller's. */
static eg_status share_done(void *context, int64_t i, const eg_reply *reply)
{
    const share_work *w = context;
    eg_flops_set(eg_flops() + reply->flops);
    return w->is->take ? w->is->take(w->is->context, i, reply->up) : EG_OK;
}

eg_status eg_server_share(eg_server *s, const eg_work *work)
{
    share_work w = {s, work};
    eg_bundle *none = NULL;
    if (work->n == 0)
        return EG_OK;
    if (!work->all)
        EG_TRY(eg_bundle_new(&none));
    const eg_job job = {.n = work->n,
                        .down = work->all ? work->all : none,
                        .tell = share_tell,
                        .context = &w,
                        .large = work->give != NULL};
    const char *part = eg_parts_name(&s->run->e->parts, s->part);
    eg_status status = eg_federation_share(s->run, &job, share_done,
                                           (eg_moment){.at = EG_AT_SERVER, .what = part});
    eg_bundle_free(none);
    return status;
}
