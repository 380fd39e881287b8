/* parts.c - each class cut into disjoint parts; each client draws classes for its tasks
 * and takes a part of each (FedCIL: Qi et al., 2023, arXiv:2302.13001).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

typedef struct parts {
    int64_t classes, parts;
} parts;

// clang-format off
static const eg_opt parts_opts[] = {
    EG_OPT_INT(parts, classes, 2, 1, 1000, "classes a client draws for each task"),
    EG_OPT_INT(parts, parts, 0, 0, 1e6, "parts each class is cut into; 0: as many as clients"),
    EG_OPT_END,
};
// clang-format on

static int parts_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* A client's classes: all of them shuffled, the first few for task 0, and so on. */
static void parts_draw(const parts *p, const eg_deal *s, int64_t client, int64_t *order,
                       int32_t *own)
{
    int64_t n = s->sources[0].classes;
    for (int64_t k = 0; k < n; k++)
        order[k] = k;
    eg_rng r = eg_rng_at(s->seed, (uint32_t)client, EG_NEVER, EG_FOR_PARTITION);
    eg_rng_shuffle(&r, (size_t)n, order);
    for (int64_t t = 0; t < s->n_tasks; t++) {
        int32_t *mine = own + (client * s->n_tasks + t) * p->classes;
        for (int64_t k = 0; k < p->classes; k++)
            mine[k] = (int32_t)order[t * p->classes + k];
        qsort(mine, (size_t)p->classes, sizeof *mine, parts_compare);
    }
}

static eg_status parts_give(const parts *p, eg_deal *s, const eg_stock *pool,
                            const int32_t *own)
{
    int64_t n_parts = p->parts ? p->parts : s->n_clients, *taken;
    EG_TRY(eg_alloc((size_t)pool->n_classes, sizeof *taken, &taken));
    eg_status status = EG_OK;
    int64_t n_draws = s->n_clients * s->n_tasks * p->classes;
    for (int64_t i = 0; i < n_draws && status == EG_OK; i++) {
        int64_t k = own[i], size = pool->first[k + 1] - pool->first[k], part = taken[k]++;
        int64_t from = part * size / n_parts, to = (part + 1) * size / n_parts;
        if (part >= n_parts || to == from)
            status =
                eg_fail(EG_EINVAL,
                        "partition.parts: class %lld with %lld samples cut into %lld parts "
                        "has none left for one more client",
                        (long long)k, (long long)size, (long long)n_parts);
        else
            status = eg_deal_give(s, i / (s->n_tasks * p->classes), i / p->classes % s->n_tasks,
                                  pool->ids + pool->first[k] + from, to - from);
    }
    free(taken);
    return status;
}

static eg_status parts_pool(const parts *p, eg_deal *s, const eg_stock *pool)
{
    int64_t *order;
    int32_t *own;
    for (int64_t k = 0; k < pool->n_classes; k++) {
        eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)k, EG_FOR_PARTITION);
        size_t n = (size_t)(pool->first[k + 1] - pool->first[k]);
        if (n > 0)
            eg_rng_shuffle(&r, n, pool->ids + pool->first[k]);
    }
    EG_TRY(eg_deal_own(s, p->classes, &own));
    EG_TRY(eg_alloc((size_t)pool->n_classes, sizeof *order, &order));
    for (int64_t c = 0; c < s->n_clients; c++)
        parts_draw(p, s, c, order, own);
    free(order);
    return parts_give(p, s, pool, own);
}

static eg_status parts_split(const void *self, eg_deal *s)
{
    const parts *p = self;
    EG_TRY(eg_deal_needs_all(s));
    if (s->n_tasks * p->classes > s->sources[0].classes)
        return eg_fail(EG_EINVAL,
                       "partition.classes: %lld tasks of %lld classes each need more than the "
                       "%lld classes there are",
                       (long long)s->n_tasks, (long long)p->classes,
                       (long long)s->sources[0].classes);
    eg_stock pool;
    eg_status status = eg_stock_source(s, 0, &pool);
    if (status == EG_OK)
        status = parts_pool(p, s, &pool);
    eg_stock_fini(&pool);
    return status;
}

const eg_partition eg_partition_parts = {
    .component =
        {"parts",
         "each class cut into disjoint parts; clients draw classes and take a part of each",
         sizeof(parts), parts_opts},
    .own_classes = true,
    .split = parts_split,
};
