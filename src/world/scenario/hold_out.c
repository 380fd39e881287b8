/* hold_out.c - which of the clients' samples are kept from training, to validate with.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample has one fate for all clients that hold it, decided with the first of them: what one
 * client validates with, none trains on. docs/scenario-rules.md has the rule.
 */
#include "world/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FATE_OPEN, FATE_ASKED, FATE_TRAINS, FATE_HELD };

typedef struct hold_out {
    const eg_scenario *s;
    double share;
    uint8_t **fate;     /* [n_sources] of [n_train] */
    int64_t *ids;       /* the client's open samples of one source */
    double start;       /* of the client: what the first count is rounded up by, in [0, 1) */
    int64_t seen, held; /* of the client, so far */
} hold_out;

/* By class, then by number. */
typedef struct hold_out_sample {
    int32_t class;
    int64_t id;
} hold_out_sample;

static int hold_out_order(const void *a, const void *b)
{
    const hold_out_sample *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool hold_out_is_of(const eg_scenario *s, int64_t t, size_t source)
{
    return s->tasks[t].source == (int32_t)source;
}

/* The client's samples of a source that no earlier client has, in order; each once. */
static eg_status hold_out_collect(hold_out *h, int64_t c, size_t source, hold_out_sample **out,
                                  int64_t *n)
{
    const eg_scenario *s = h->s;
    int64_t most = 0;
    for (int64_t t = 0; t < s->n_parts; t++)
        most += hold_out_is_of(s, t, source) ? s->parts[c * s->n_parts + t].n : 0;
    *n = 0;
    EG_TRY(eg_alloc((size_t)most + 1, sizeof **out, out));
    for (int64_t t = 0; t < s->n_parts; t++) {
        const eg_holding *p = &s->parts[c * s->n_parts + t];
        for (int64_t i = 0; i < p->n && hold_out_is_of(s, t, source); i++) {
            int64_t id = s->ids[p->first + i];
            uint8_t *fate = &h->fate[source][id];
            if (*fate == FATE_OPEN)
                (*out)[(*n)++] = (hold_out_sample){s->sources[source].train[id], id};
            *fate = *fate == FATE_OPEN ? FATE_ASKED : *fate;
        }
    }
    qsort(*out, (size_t)*n, sizeof **out, hold_out_order);
    return EG_OK;
}

/* Decides about n samples of one class. */
static void hold_out_class(hold_out *h, int64_t c, size_t source, const hold_out_sample *list,
                           int64_t n)
{
    uint32_t round = (uint32_t)((int64_t)source * h->s->n_classes + list->class);
    eg_rng r = eg_rng_at(h->s->seed, (uint32_t)c, round, EG_FOR_HOLD_OUT);
    for (int64_t i = 0; i < n; i++)
        h->ids[i] = list[i].id;
    eg_rng_shuffle(&r, (size_t)n, h->ids);
    h->seen += n;
    int64_t wanted = (int64_t)floor(h->share * (double)h->seen + h->start) - h->held;
    for (int64_t i = 0; i < n; i++)
        h->fate[source][h->ids[i]] = i < wanted ? FATE_HELD : FATE_TRAINS;
    h->held += wanted < n ? wanted : n;
}

static eg_status hold_out_source(hold_out *h, int64_t c, size_t source)
{
    hold_out_sample *list;
    int64_t n;
    EG_TRY(hold_out_collect(h, c, source, &list, &n));
    eg_status status = eg_alloc((size_t)n, sizeof *h->ids, &h->ids);
    for (int64_t from = 0, to; from < n && status == EG_OK; from = to) {
        for (to = from; to < n && list[to].class == list[from].class;)
            to++;
        hold_out_class(h, c, source, list + from, to - from);
    }
    free(h->ids);
    free(list);
    return status;
}

/* Moves what is held out behind the samples that train; both keep their order. */
static eg_status hold_out_move(const hold_out *h, const eg_scenario *s, eg_holding *p,
                               size_t source)
{
    int64_t *held, *ids = s->ids + p->first, n = 0;
    EG_TRY(eg_alloc((size_t)p->n, sizeof *held, &held));
    for (int64_t i = 0; i < p->n; i++)
        if (h->fate[source][ids[i]] == FATE_HELD)
            held[p->n_held++] = ids[i];
        else
            ids[n++] = ids[i];
    p->n = (int32_t)n;
    if (p->n_held > 0)
        memcpy(ids + n, held, (size_t)p->n_held * sizeof *held);
    free(held);
    return EG_OK;
}

static eg_status hold_out_all(hold_out *h, const eg_scenario *s)
{
    EG_TRY(eg_alloc(s->n_sources, sizeof *h->fate, &h->fate));
    for (size_t i = 0; i < s->n_sources; i++)
        EG_TRY(eg_alloc((size_t)s->sources[i].n_train, 1, &h->fate[i]));
    for (int64_t c = 0; c < s->n_clients; c++) {
        /* With one start for all, clients with few samples would all pass over one class. */
        eg_rng r = eg_rng_at(s->seed, (uint32_t)c, EG_NEVER, EG_FOR_HOLD_OUT);
        h->start = eg_rng_unit(&r);
        h->seen = h->held = 0;
        for (size_t i = 0; i < s->n_sources; i++)
            EG_TRY(hold_out_source(h, c, i));
        for (int64_t t = 0; t < s->n_parts; t++)
            EG_TRY(
                hold_out_move(h, s, &s->parts[c * s->n_parts + t], (size_t)s->tasks[t].source));
    }
    return EG_OK;
}

eg_status eg_build_hold_out(eg_scenario *s, double share)
{
    hold_out h = {.s = s, .share = share};
    if (share <= 0)
        return EG_OK;
    if (s->partition->ordered)
        return eg_fail(EG_ENOTSUP,
                       "validation: partition '%s' deals samples by their places, so none can "
                       "be held out",
                       s->partition->component.name);
    eg_status status = hold_out_all(&h, s);
    for (size_t i = 0; h.fate && i < s->n_sources; i++)
        free(h.fate[i]);
    free(h.fate);
    return status;
}

int64_t eg_scenario_validation(const eg_scenario *s, int64_t client, int64_t t,
                               const int64_t **ids)
{
    EG_ASSERT(client >= 0 && client < s->n_clients && t >= 0 && t < s->n_tasks);
    const eg_holding *p = eg_build_part(s, client, t);
    *ids = p->n_held > 0 ? s->ids + p->first + p->n : NULL;
    return p->n_held;
}
