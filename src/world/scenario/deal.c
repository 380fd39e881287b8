/* deal.c - what partitioners share: samples sorted by class, and handing them out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

typedef struct eg_gift {
    int32_t client, task;
    int64_t id;
} eg_gift;

void eg_stock_fini(eg_stock *p)
{
    free(p->ids);
    free(p->first);
    *p = (eg_stock){0};
}

/* slot[class] is the place of the class in the pool, -1 if it is not in it. */
static eg_status stock_fill(const eg_labels *l, const int32_t *slot, int64_t n_slots,
                            eg_stock *out)
{
    int64_t *first;
    EG_TRY(eg_alloc((size_t)n_slots + 2, sizeof *first, &first));
    for (int64_t i = 0; i < l->n_train; i++)
        if (slot[l->train[i]] >= 0)
            first[slot[l->train[i]] + 2]++;
    for (int64_t k = 0; k < n_slots; k++)
        first[k + 2] += first[k + 1];
    *out = (eg_stock){.n = first[n_slots + 1], .n_classes = n_slots, .first = first};
    EG_TRY(eg_alloc((size_t)out->n, sizeof *out->ids, &out->ids));
    for (int64_t i = 0; i < l->n_train; i++)
        if (slot[l->train[i]] >= 0)
            out->ids[first[slot[l->train[i]] + 1]++] = i;
    return EG_OK; /* first[k + 1] has moved to the end of class k, which begins class k + 1 */
}

/* The pool of a task's classes in their order. */
static eg_status stock_task(const eg_deal *s, int64_t t, eg_stock *out)
{
    const eg_task *task = &s->tasks[t];
    const eg_labels *l = &s->sources[task->source];
    *out = (eg_stock){0};
    int32_t *slot;
    EG_TRY(eg_alloc((size_t)l->classes, sizeof *slot, &slot));
    for (int64_t k = 0; k < l->classes; k++)
        slot[k] = -1;
    for (int64_t k = 0; k < task->n_classes; k++)
        slot[task->classes[k]] = (int32_t)k;
    eg_status status = stock_fill(l, slot, task->n_classes, out);
    free(slot);
    return status;
}

eg_status eg_stock_source(const eg_deal *s, size_t source, eg_stock *out)
{
    const eg_labels *l = &s->sources[source];
    *out = (eg_stock){0};
    int32_t *slot;
    EG_TRY(eg_alloc((size_t)l->classes, sizeof *slot, &slot));
    for (int64_t k = 0; k < l->classes; k++)
        slot[k] = (int32_t)k;
    eg_status status = stock_fill(l, slot, l->classes, out);
    free(slot);
    return status;
}

eg_status eg_deal_workers(const eg_deal *s, int64_t t, int64_t **out, int64_t *n)
{
    *n = 0;
    EG_TRY(eg_alloc((size_t)s->n_clients, sizeof **out, out));
    for (int64_t c = 0; c < s->n_clients; c++)
        if (s->works[c * s->n_tasks + t])
            (*out)[(*n)++] = c;
    if (*n > 0)
        return EG_OK;
    free(*out);
    *out = NULL;
    return eg_fail(EG_EINVAL, "join: no client ever works on task %lld", (long long)t);
}

eg_status eg_deal_give(eg_deal *s, int64_t client, int64_t t, const int64_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        EG_TRY(eg_grow(&s->gifts, s->n_gifts, &s->cap_gifts, sizeof *s->gifts));
        s->gifts[s->n_gifts++] = (eg_gift){(int32_t)client, (int32_t)t, ids[i]};
    }
    return EG_OK;
}

eg_status eg_deal_runs(eg_deal *s, int64_t t, const eg_stock *pool)
{
    int64_t *workers, n;
    EG_TRY(eg_deal_workers(s, t, &workers, &n));
    eg_status status = EG_OK;
    for (int64_t j = 0; j < n && status == EG_OK; j++) {
        int64_t from = j * pool->n / n, to = (j + 1) * pool->n / n;
        status = eg_deal_give(s, workers[j], t, pool->ids + from, to - from);
    }
    free(workers);
    return status;
}

eg_status eg_deal_split(const eg_partition *p, const void *self, eg_deal *s)
{
    if (p->split)
        return p->split(self, s);
    for (int64_t t = 0; t < s->n_tasks; t++) {
        eg_stock pool;
        eg_status status = stock_task(s, t, &pool);
        if (status == EG_OK)
            status = p->task(self, s, t, &pool);
        eg_stock_fini(&pool);
        EG_TRY(status);
    }
    return EG_OK;
}

static bool deal_task_has(const eg_task *task, size_t source, int32_t class)
{
    if (task->source != (int32_t)source)
        return false;
    int64_t low = 0, high = task->n_classes;
    while (low < high) { /* classes ascend */
        int64_t middle = low + (high - low) / 2;
        if (task->classes[middle] < class)
            low = middle + 1;
        else
            high = middle;
    }
    return low < task->n_classes && task->classes[low] == class;
}

eg_status eg_deal_give_source(eg_deal *s, int64_t client, size_t source, const int64_t *ids,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t class = s->sources[source].train[ids[i]];
        for (int64_t t = 0; t < s->n_tasks; t++)
            if (deal_task_has(&s->tasks[t], source, class))
                EG_TRY(eg_deal_give(s, client, t, ids + i, 1));
    }
    return EG_OK;
}

eg_status eg_deal_own(eg_deal *s, int64_t n, int32_t **out)
{
    eg_scenario *sc = s->scenario;
    sc->n_own = n;
    EG_TRY(eg_build_alloc(sc, s->n_clients * s->n_tasks * n, sizeof **out, out));
    sc->own = *out;
    return EG_OK;
}

eg_status eg_deal_needs_all(const eg_deal *s)
{
    for (int64_t i = 0; i < s->n_clients * s->n_tasks; i++)
        if (!s->works[i])
            return eg_fail(EG_EINVAL,
                           "join: partition '%s' gives each client its share of all "
                           "tasks, so clients cannot join later",
                           s->name);
    return EG_OK;
}

/* A counting sort of the gifts by client and task, in the order they were given. */
static eg_status deal_place(eg_deal *s, eg_holding *parts, int64_t *ids)
{
    size_t n_lists = (size_t)(s->n_clients * s->n_tasks);
    int64_t *at;
    EG_TRY(eg_alloc(n_lists, sizeof *at, &at));
    for (size_t i = 0; i < s->n_gifts; i++)
        parts[s->gifts[i].client * s->n_tasks + s->gifts[i].task].n++;
    int64_t first = 0;
    for (size_t i = 0; i < n_lists; i++) {
        parts[i].first = at[i] = first;
        first += parts[i].n;
    }
    for (size_t i = 0; i < s->n_gifts; i++)
        ids[at[s->gifts[i].client * s->n_tasks + s->gifts[i].task]++] = s->gifts[i].id;
    free(at);
    return EG_OK;
}

eg_status eg_deal_pack(eg_deal *s, bool ordered)
{
    eg_scenario *sc = s->scenario;
    EG_TRY(eg_build_alloc(sc, s->n_clients * s->n_tasks, sizeof *sc->parts, &sc->parts));
    EG_TRY(eg_build_alloc(sc, (int64_t)s->n_gifts, sizeof *sc->ids, &sc->ids));
    EG_TRY(deal_place(s, sc->parts, sc->ids));
    for (int64_t c = 0; c < s->n_clients && !ordered; c++)
        for (int64_t t = 0; t < s->n_tasks; t++) {
            const eg_holding *p = &sc->parts[c * s->n_tasks + t];
            eg_rng r = eg_rng_at(s->seed, (uint32_t)c, (uint32_t)t, EG_FOR_PARTITION);
            if (p->n > 0)
                eg_rng_shuffle(&r, (size_t)p->n, sc->ids + p->first);
        }
    return EG_OK;
}
