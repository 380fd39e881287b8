/* server.c - what a part may ask of the server: records, notes, tensors of uploads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include <string.h>

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
    const char *part = eg_parts_name(&s->run->e->parts, s->part);
    return eg_piece_stream(&(eg_piece){.part = part, .seed = s->seed, .round = s->round}, of,
                           draw);
}

void eg_server_moment(eg_server *s, int64_t done, int64_t of)
{
    const char *part = eg_parts_name(&s->run->e->parts, s->part);
    eg_federation_moment(s->run,
                         (eg_moment){.at = EG_AT_SERVER, .what = part, .done = done, .of = of});
}
