/* types.c - every client groups the classes into task types and cuts the whole data set
 * into small tasks by itself, so clients share samples (pFedGRP).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

typedef struct types_work {
    eg_deal *s;
    const eg_stock *pool;
    int64_t width;   /* classes of a type, shared ones included */
    int64_t ranks;   /* types a class may be in */
    int64_t *ids;    /* scratch as large as the pool */
    uint8_t *picked; /* [n_classes]: the client has drawn its samples of the class */
    eg_rng rng;
} types_work;

/* A class of a type, and the how-many-eth type it is of those the class is in. */
typedef struct types_class {
    int32_t class, rank;
} types_class;

static int types_compare(const void *a, const void *b)
{
    int32_t x = ((const types_class *)a)->class, y = ((const types_class *)b)->class;
    return (x > y) - (x < y);
}

/* The first n of m items become a random choice in random order. */
static void types_pick(eg_rng *r, int64_t *items, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i + (int64_t)eg_rng_below(r, (uint64_t)(m - i)), swap = items[i];
        items[i] = items[j];
        items[j] = swap;
    }
}

/* The client's samples of one class, for all types it is in. */
static eg_status types_draw(types_work *w, int32_t class)
{
    const eg_deal *s = w->s;
    int64_t first = w->pool->first[class], size = w->pool->first[class + 1] - first;
    int64_t need = w->ranks * s->visits * s->type_samples;
    if (w->picked[class])
        return EG_OK;
    w->picked[class] = 1;
    if (size < need)
        return eg_fail(
            EG_EINVAL,
            "samples: class %d has %lld samples, but %lld tasks of %lld samples each "
            "need %lld",
            class, (long long)size, (long long)(w->ranks * s->visits),
            (long long)s->type_samples, (long long)need);
    memcpy(w->ids + first, w->pool->ids + first, (size_t)size * sizeof *w->ids);
    types_pick(&w->rng, w->ids + first, size, need);
    return EG_OK;
}

/* One type of one client: visit after visit, some samples of each class. */
static eg_status types_give(types_work *w, int64_t client, int64_t t, const types_class *mine)
{
    eg_deal *s = w->s;
    for (int64_t k = 0; k < w->width; k++)
        EG_TRY(types_draw(w, mine[k].class));
    for (int64_t i = 0; i < s->visits * w->width; i++) {
        const types_class *m = &mine[i % w->width];
        int64_t visit = m->rank * s->visits + i / w->width;
        const int64_t *ids = w->ids + w->pool->first[m->class] + visit * s->type_samples;
        EG_TRY(eg_deal_give(s, client, t, ids, s->type_samples));
    }
    return EG_OK;
}

/* Type t has the classes t * type_classes and following of the client's order, round its end.
 */
static eg_status types_client(types_work *w, int64_t client, int64_t *order, types_class *mine)
{
    eg_deal *s = w->s;
    int64_t n = w->pool->n_classes;
    w->rng = eg_rng_at(s->seed, (uint32_t)client, EG_NEVER, EG_FOR_PARTITION);
    memset(w->picked, 0, (size_t)n);
    for (int64_t k = 0; k < n; k++)
        order[k] = k;
    eg_rng_shuffle(&w->rng, (size_t)n, order);
    for (int64_t t = 0; t < s->n_tasks; t++) {
        int64_t at = (client * s->n_tasks + t) * w->width;
        for (int64_t k = 0; k < w->width; k++)
            mine[k] = (types_class){(int32_t)order[(t * s->type_classes + k) % n],
                                    (int32_t)(k / s->type_classes)};
        qsort(mine, (size_t)w->width, sizeof *mine, types_compare);
        for (int64_t k = 0; k < w->width; k++) {
            s->scenario->own[at + k] = mine[k].class;
            s->scenario->rank[at + k] = mine[k].rank;
        }
        EG_TRY(types_give(w, client, t, mine));
    }
    return EG_OK;
}

static eg_status types_all(types_work *w)
{
    eg_deal *s = w->s;
    int64_t *order = NULL, n = w->pool->n_classes;
    types_class *mine = NULL;
    eg_status status = eg_alloc((size_t)w->pool->n, sizeof *w->ids, &w->ids);
    if (status == EG_OK)
        status = eg_alloc((size_t)n, 1, &w->picked);
    if (status == EG_OK)
        status = eg_alloc((size_t)n, sizeof *order, &order);
    if (status == EG_OK)
        status = eg_alloc((size_t)w->width, sizeof *mine, &mine);
    for (int64_t c = 0; c < s->n_clients && status == EG_OK; c++)
        status = types_client(w, c, order, mine);
    free(w->ids);
    free(w->picked);
    free(order);
    free(mine);
    return status;
}

static eg_status types_pool(eg_deal *s, const eg_stock *pool)
{
    int64_t width = s->type_classes + s->type_shared;
    types_work w = {.s = s, .pool = pool, .width = width};
    w.ranks = (width + s->type_classes - 1) / s->type_classes;
    if (width > pool->n_classes || (s->type_shared > 0 && pool->n_classes % s->type_classes))
        return eg_fail(EG_EINVAL, "shared: types of %lld classes and %lld more do not fit %lld",
                       (long long)s->type_classes, (long long)s->type_shared,
                       (long long)pool->n_classes);
    int32_t *own = NULL;
    eg_scenario *sc = s->scenario;
    EG_TRY(eg_deal_own(s, width, &own));
    EG_TRY(eg_build_alloc(sc, s->n_clients * s->n_tasks * width, sizeof *sc->rank, &sc->rank));
    return types_all(&w);
}

static eg_status types_split(const void *self, eg_deal *s)
{
    (void)self;
    EG_TRY(eg_deal_needs_all(s));
    if (s->visits == 0)
        return eg_fail(EG_EINVAL, "partition 'types' belongs to scenario 'realtime'");
    eg_stock pool;
    eg_status status = eg_stock_source(s, 0, &pool);
    if (status == EG_OK)
        status = types_pool(s, &pool);
    eg_stock_fini(&pool);
    return status;
}

const eg_partition eg_partition_types = {
    .component = {"types",
                  "every client groups the classes into task types and cuts all data by itself",
                  0, NULL},
    .own_classes = true,
    .ordered = true,
    .split = types_split,
};
