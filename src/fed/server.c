/* server.c - what a part may ask of the server: records, notes, tensors of uploads, workers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include "tensor/flops.h"

#include <string.h>

eg_status eg_server_flat(const eg_server *s, const eg_bundle *from, const char *name,
                         const float **out)
{
    return eg_bundle_need(from, name, s->n_params, out);
}

/* What a worker asks for and the server keeps meanwhile are in one list. */
eg_status eg_server_recall(eg_server *s, const char *name, const eg_bundle **out)
{
    pthread_mutex_lock(&s->run->records_lock);
    eg_status status = eg_records_get(s->run->records, name, out);
    pthread_mutex_unlock(&s->run->records_lock);
    return status;
}

eg_status eg_server_keep(eg_server *s, const char *name, eg_bundle *record)
{
    pthread_mutex_lock(&s->run->records_lock);
    eg_status status = eg_records_put(s->run->records, name, record);
    pthread_mutex_unlock(&s->run->records_lock);
    return status;
}

eg_status eg_server_release(eg_server *s, const char *name)
{
    pthread_mutex_lock(&s->run->records_lock);
    eg_status status = eg_records_release(s->run->records, name);
    pthread_mutex_unlock(&s->run->records_lock);
    return status;
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

/* A server's streams are those of a client before its first batch, and of another step. */
eg_rng eg_server_stream(const eg_server *s, int64_t of, uint32_t draw)
{
    enum { SERVER_STEP = 0xfffffff }; /* no client takes so many */
    return eg_part_stream(&(eg_part_draw){.part = eg_parts_name(&s->run->e->parts, s->part),
                                          .seed = s->seed,
                                          .client = of,
                                          .when = s->round,
                                          .step = SERVER_STEP,
                                          .draw = draw});
}

void eg_server_moment(eg_server *s, int64_t done, int64_t of)
{
    const eg_federation *f = s->run;
    eg_moment m = {.at = EG_AT_SERVER, .what = "", .done = done, .of = of};
    if (f->testing)
        m.at = EG_AT_TESTS;
    else
        m.what = eg_parts_name(&f->e->parts, s->part);
    eg_federation_moment(f, m);
}

typedef struct server_work {
    eg_federation *f;
    eg_status (*work)(void *context, eg_worker *w, int64_t i);
    void *context;
} server_work;

static eg_status server_do(void *context, int thread, int64_t i)
{
    const server_work *w = context;
    eg_worker *worker = &w->f->workers[thread];
    uint64_t before = eg_flops(); /* the thread may be the server's own */
    eg_status s = w->work(w->context, worker, i);
    worker->flops += eg_flops() - before;
    eg_flops_set(before);
    return s;
}

eg_status eg_server_each(eg_server *s, int64_t n,
                         eg_status (*work)(void *context, eg_worker *w, int64_t i),
                         eg_status (*done)(void *context, int64_t i), void *context)
{
    server_work w = {s->run, work, context};
    eg_pool *pool;
    eg_status status = EG_OK;
    EG_TRY(eg_pool_start(&(eg_pool_job){s->run->n_workers, n, server_do, &w}, &pool));
    for (int64_t i = 0; i < n && status == EG_OK; i++) {
        eg_server_moment(s, i, n);
        status = eg_pool_take(pool, i);
        if (status == EG_OK && done)
            status = done(context, i);
    }
    eg_pool_end(pool);
    for (int i = 0; i < s->run->n_workers; i++) { /* what they did counts as the caller's */
        eg_flops_set(eg_flops() + s->run->workers[i].flops);
        s->run->workers[i].flops = 0;
    }
    return status;
}
