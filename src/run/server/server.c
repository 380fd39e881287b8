/* server.c - what a part may ask of the server: records, notes, tensors of uploads; and what
 * any worker can do for the server: tests, and pieces of the parts' work.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/flops.h"
#include "run/server/federation.h"

#include <string.h>

eg_status eg_federation_model_of(eg_federation *f, int64_t client, eg_bundle **own)
{
    const float *param;
    eg_bundle *model;
    if (!f->agreed.has_models)
        return EG_OK;
    EG_TRY(eg_bundle_new(&model));
    eg_status s = eg_chain_model_of(&f->chain, &f->server, client, model);
    bool has = s == EG_OK && eg_bundle_n(model) > 0;
    if (has)
        s = eg_server_flat(&f->server, model, "param", &param);
    if (has && s == EG_OK)
        *own = model;
    else
        eg_bundle_free(model);
    return s;
}

const char *eg_server_part(const eg_server *s)
{
    return eg_parts_name(&s->run->e->parts, s->part);
}

eg_status eg_server_add_model(const eg_server *s, const float *param, const float *state,
                              eg_bundle *to)
{
    EG_TRY(eg_bundle_add_flat(to, "param", param, s->n_params));
    return s->n_state ? eg_bundle_add_flat(to, "state", state, s->n_state) : EG_OK;
}

eg_status eg_server_flat(const eg_server *s, const eg_bundle *from, const char *name,
                         const float **out)
{
    return eg_bundle_need(from, name, s->n_params, out);
}

eg_status eg_server_recall(eg_server *s, const char *name, const eg_bundle **out)
{
    return eg_records_get(s->run->records, name, out);
}

eg_status eg_server_keep(eg_server *s, const char *name, eg_bundle *record)
{
    return eg_records_put(s->run->records, name, record);
}

eg_status eg_server_release(eg_server *s, const char *name)
{
    return eg_records_release(s->run->records, name);
}

eg_status eg_server_vector(eg_server *s, const char *name, float **out)
{
    eg_federation *f = s->run;
    const eg_bundle *kept;
    const float *values;
    EG_TRY(eg_grow(&f->vectors, f->n_vectors, &f->cap_vectors, sizeof *f->vectors));
    eg_kept_vector *v = &f->vectors[f->n_vectors];
    *v = (eg_kept_vector){.name = name};
    EG_TRY(eg_alloc(s->n_params, sizeof *v->values, &v->values));
    f->n_vectors++;
    *out = v->values;
    EG_TRY(eg_server_recall(s, name, &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_server_flat(s, kept, name, &values));
    memcpy(v->values, values, s->n_params * sizeof *values);
    return EG_OK;
}

eg_status eg_server_note(eg_server *s, const char *name, double value)
{
    return eg_run_write_note(s->run->folder, s->round + 1, EG_SERVER, name, value);
}

eg_rng eg_server_stream(const eg_server *s, int64_t of, uint32_t draw)
{
    return eg_piece_stream(
        &(eg_piece){.part = eg_server_part(s), .seed = s->seed, .round = s->round}, of, draw);
}

void eg_server_moment(eg_server *s, int64_t done, int64_t of)
{
    eg_federation_moment(
        s->run,
        (eg_moment){.at = EG_AT_SERVER, .what = eg_server_part(s), .done = done, .of = of});
}

/* A transport that reaches other machines shares work out there too, as turns; else the workers
 * of this process have it. */
static eg_status server_work_here(void *self, int thread, const eg_turn *turn,
                                  const eg_bundle *own, eg_reply *out)
{
    eg_federation *f = self;
    (void)own;
    return eg_worker_turn(&f->workers[thread], turn, out);
}

static eg_status server_share_begin(eg_federation *f, const eg_job *job, eg_desk **desk)
{
    *desk = NULL;
    if (!f->transport->shares)
        eg_workers_share(f->workers, f->n_workers, job->n, f->threads);
    return f->transport->shares ? f->transport->begin(f->carrier, job)
                                : eg_desk_open(job, f->n_workers, server_work_here, f, desk);
}

static eg_status server_share_take(eg_federation *f, eg_desk *desk, int64_t i, eg_reply *out)
{
    bool lost;
    return desk ? eg_desk_take(desk, i, out) : f->transport->take(f->carrier, i, out, &lost);
}

eg_status eg_federation_share(eg_federation *f, const eg_job *job, eg_share_take take,
                              eg_moment is)
{
    eg_desk *desk;
    eg_status s = server_share_begin(f, job, &desk);
    for (int64_t i = 0; i < job->n && s == EG_OK; i++) {
        eg_reply reply = {0};
        is.done = i, is.of = job->n;
        eg_federation_moment(f, is);
        s = server_share_take(f, desk, i, &reply);
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
typedef struct server_work {
    eg_server *s;
    const eg_work *is;
} server_work;

static eg_status server_share_tell(void *context, int64_t i, eg_turn *out, eg_bundle **own)
{
    const server_work *w = context;
    *out = (eg_turn){.kind = EG_TURN_PIECE,
                     .id = EG_SERVER,
                     .round = w->s->round,
                     .seed = w->s->seed,
                     .piece = {.part = w->s->part, .i = i}};
    if (!w->is->give)
        return EG_OK;
    EG_TRY(eg_bundle_new(own));
    return w->is->give(w->is->context, i, *own);
}

/* What others computed counts as the caller's. */
static eg_status server_share_done(void *context, int64_t i, const eg_reply *reply)
{
    const server_work *w = context;
    eg_flops_set(eg_flops() + reply->flops);
    return w->is->take ? w->is->take(w->is->context, i, reply->up) : EG_OK;
}

eg_status eg_server_share(eg_server *s, const eg_work *work)
{
    server_work w = {s, work};
    eg_bundle *none = NULL;
    if (work->n == 0)
        return EG_OK;
    if (!work->all)
        EG_TRY(eg_bundle_new(&none));
    const eg_job job = {.n = work->n,
                        .down = work->all ? work->all : none,
                        .tell = server_share_tell,
                        .context = &w,
                        .large = work->give != NULL};
    const char *part = eg_server_part(s);
    eg_status status = eg_federation_share(s->run, &job, server_share_done,
                                           (eg_moment){.at = EG_AT_SERVER, .what = part});
    eg_bundle_free(none);
    return status;
}
