/* ridge_rounds.c - sums of each client's stages, told once and kept by the server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/ridge.h"
#include "method/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RIDGE_ROWS = 256 }; /* of a client's samples at once */

typedef struct ridge_name {
    char text[64];
} ridge_name;

static ridge_name ridge_named(const char *part, const char *what)
{
    ridge_name name;
    snprintf(name.text, sizeof name.text, "%s.%s", part, what);
    return name;
}

/* --- The client. */

/* Room for some rows on their way: as the network is fed them, their features, these mapped. */
typedef struct ridge_room {
    float *x, *f, *mapped, labels[RIDGE_ROWS];
} ridge_room;

static eg_status ridge_look(eg_client *c, const eg_weights *at, const eg_sample *samples,
                            int64_t n, ridge_room *room)
{
    eg_client_feed(c, samples, n, room->x, room->labels);
    return eg_client_look(c, at, &(eg_rows){.n = n, .x = room->x, .labels = room->labels},
                          &(eg_look){.features = room->f});
}

static eg_status ridge_open(const eg_ridge *r, const eg_client *c, bool maps, ridge_room *room)
{
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    size_t rows = RIDGE_ROWS, pixels = (size_t)(spec->channels * spec->height * spec->width);
    EG_TRY(eg_alloc(rows * pixels, sizeof *room->x, &room->x));
    EG_TRY(eg_alloc(rows * (size_t)eg_net_n_features(c->net), sizeof *room->f, &room->f));
    return maps ? eg_alloc(rows * (size_t)r->d, sizeof *room->mapped, &room->mapped) : EG_OK;
}

eg_status eg_ridge_stage(eg_ridge *r, eg_client *c, const eg_weights *at, eg_ridge_map map,
                         const void *context)
{
    ridge_room room = {0};
    eg_sample *samples;
    int64_t all;
    EG_TRY(eg_stage_samples(c, c->view.stage, 0, NULL, &samples, &all));
    eg_status s = ridge_open(r, c, map != NULL, &room);
    for (int64_t i = 0; i < all && s == EG_OK; i += RIDGE_ROWS) {
        int64_t n = all - i < RIDGE_ROWS ? all - i : RIDGE_ROWS;
        s = ridge_look(c, at, samples + i, n, &room);
        if (s == EG_OK && map)
            map(context, room.f, n, room.mapped);
        if (s == EG_OK)
            s = eg_ridge_rows(r, map ? room.mapped : room.f, room.labels, n);
    }
    free(room.x);
    free(room.f);
    free(room.mapped);
    free(samples);
    return s;
}

eg_status eg_ridge_lacks(const eg_client *c, const char *part, const eg_bundle *from,
                         bool *lacks)
{
    const float *heard; /* [n_clients] */
    size_t n = (size_t)eg_scenario_n_clients(c->scenario);
    EG_TRY(eg_bundle_need(from, ridge_named(part, "heard").text, n, &heard));
    *lacks = heard[c->id] <= (float)c->view.stage;
    return EG_OK;
}

eg_status eg_ridge_tell(const eg_ridge *r, const eg_client *c, const char *part, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, ridge_named(part, "stage").text, (double)c->view.stage));
    return eg_ridge_put(r, part, false, to);
}

/* --- The server. */

static eg_status ridge_recall(eg_ridge_server *r, size_t n, const eg_bundle *kept)
{
    const float *heard;
    double fresh;
    EG_TRY(eg_ridge_add(&r->sum, r->part, true, kept));
    EG_TRY(eg_bundle_need(kept, ridge_named(r->part, "heard").text, n, &heard));
    memcpy(r->heard, heard, n * sizeof *heard);
    r->fresh =
        eg_bundle_scalar_of(kept, ridge_named(r->part, "fresh").text, &fresh) && fresh != 0;
    return EG_OK;
}

eg_status eg_ridge_server_begin(eg_ridge_server *r, const char *part, int64_t d, eg_server *s)
{
    size_t n = (size_t)eg_scenario_n_clients(s->scenario);
    const eg_bundle *kept;
    r->part = part;
    EG_TRY(eg_ridge_init(&r->sum, d, eg_net_spec_of(s->net)->classes));
    EG_TRY(eg_alloc(n, sizeof *r->heard, &r->heard));
    EG_TRY(eg_server_recall(s, part, &kept));
    return kept ? ridge_recall(r, n, kept) : EG_OK;
}

void eg_ridge_server_fini(eg_ridge_server *r)
{
    eg_ridge_fini(&r->sum);
    free(r->heard);
    r->heard = NULL;
}

eg_status eg_ridge_server_send(const eg_ridge_server *r, const eg_server *s, eg_bundle *to)
{
    return eg_bundle_add_flat(to, ridge_named(r->part, "heard").text, r->heard,
                              (size_t)eg_scenario_n_clients(s->scenario));
}

/* The stage that an answer has sums of; *has is false if it has none. */
static eg_status ridge_stage_of(const eg_ridge_server *r, const eg_server *s, int64_t client,
                                const eg_bundle *from, int64_t *stage, bool *has)
{
    double any;
    const ridge_name name = ridge_named(r->part, "stage");
    *has = eg_bundle_scalar_of(from, name.text, &any);
    return *has ? eg_bundle_need_count(from, name.text,
                                       eg_scenario_n_stages(s->scenario, client) - 1, stage)
                : EG_OK;
}

eg_status eg_ridge_server_accept(const eg_ridge_server *r, const eg_server *s, int64_t client,
                                 const eg_bundle *from)
{
    int64_t stage;
    bool has;
    EG_TRY(ridge_stage_of(r, s, client, from, &stage, &has));
    if (has && (float)stage < r->heard[client])
        return eg_fail(EG_EINVAL, "stage %lld was told before", (long long)stage);
    return has ? eg_ridge_judge(&r->sum, r->part, from) : EG_OK;
}

eg_status eg_ridge_server_collect(eg_ridge_server *r, const eg_server *s, int64_t client,
                                  const eg_bundle *from)
{
    int64_t stage;
    bool has;
    EG_TRY(ridge_stage_of(r, s, client, from, &stage, &has));
    if (!has)
        return EG_OK;
    r->heard[client] = (float)(stage + 1);
    r->fresh = true;
    return eg_ridge_add(&r->sum, r->part, false, from);
}

static eg_status ridge_fill(const eg_ridge_server *r, const eg_server *s, eg_bundle *to)
{
    EG_TRY(eg_ridge_put(&r->sum, r->part, true, to));
    EG_TRY(eg_bundle_scalar(to, ridge_named(r->part, "fresh").text, r->fresh));
    return eg_ridge_server_send(r, s, to);
}

eg_status eg_ridge_server_save(const eg_ridge_server *r, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, ridge_fill(r, s, record)));
    return eg_server_keep(s, r->part, record);
}
