/* build.c - from a description and labels to a scenario, in the four steps of scenario.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

eg_status eg_build_alloc(eg_scenario *s, int64_t n, size_t size, void *out)
{
    void **slot = out;
    *slot = NULL;
    if (n == 0)
        return EG_OK;
    if ((uint64_t)n > SIZE_MAX / 4 / size)
        return eg_fail(EG_ENOMEM, "%lld elements are more than memory can hold", (long long)n);
    *slot = eg_arena_alloc(&s->arena, (size_t)n * size);
    return *slot ? EG_OK : EG_ENOMEM;
}

eg_status eg_build_tasks(eg_scenario *s, int64_t n)
{
    s->n_tasks = s->n_parts = n;
    return eg_build_alloc(s, n, sizeof *s->tasks, &s->tasks);
}

static eg_status build_set_classes(eg_scenario *s, int64_t t, int64_t n, const int64_t *list)
{
    int32_t *classes;
    EG_TRY(eg_build_alloc(s, n, sizeof *classes, &classes));
    for (int64_t k = 0; k < n; k++) { /* insertion keeps them ascending */
        int64_t at = k;
        for (; at > 0 && classes[at - 1] > list[k]; at--)
            classes[at] = classes[at - 1];
        classes[at] = (int32_t)list[k];
    }
    s->tasks[t].n_classes = n;
    s->tasks[t].classes = classes;
    return EG_OK;
}

static eg_status build_numbers(int64_t n, int64_t **out)
{
    EG_TRY(eg_alloc((size_t)n, sizeof **out, out));
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = i;
    return EG_OK;
}

eg_status eg_build_all_classes(eg_scenario *s, int64_t t)
{
    int64_t n = s->sources[s->tasks[t].source].classes, *list;
    EG_TRY(build_numbers(n, &list));
    eg_status status = build_set_classes(s, t, n, list);
    free(list);
    return status;
}

eg_status eg_build_by_class(eg_scenario *s, int64_t n, bool shuffled)
{
    EG_TRY(eg_build_tasks(s, n));
    if (s->partition->own_classes)
        return EG_OK;
    int64_t n_classes = s->sources[0].classes, per_task = n_classes / n, *list;
    if (per_task * n != n_classes)
        return eg_fail(EG_EINVAL, "tasks: %lld classes do not divide into %lld tasks",
                       (long long)n_classes, (long long)n);
    EG_TRY(build_numbers(n_classes, &list));
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, EG_NEVER, EG_FOR_ORDER);
    if (shuffled)
        eg_rng_shuffle(&r, (size_t)n_classes, list);
    eg_status status = EG_OK;
    for (int64_t t = 0; t < n && status == EG_OK; t++)
        status = build_set_classes(s, t, per_task, list + t * per_task);
    free(list);
    return status;
}

/* Every client's order of tasks, and the slot at which it joins. */
static eg_status build_orders(eg_scenario *s)
{
    int64_t n = s->n_tasks, first = s->common.clients, more = s->common.join;
    int order = s->common.order == EG_ORDER_AUTO ? (int)s->kind->order : s->common.order;
    uint32_t curriculum = (uint32_t)s->common.curriculum;
    int64_t *list;
    EG_TRY(eg_build_alloc(s, s->n_clients * n, sizeof *s->order, &s->order));
    EG_TRY(eg_build_alloc(s, s->n_clients, sizeof *s->joins, &s->joins));
    EG_TRY(build_numbers(n, &list));
    for (int64_t c = 0; c < s->n_clients; c++) {
        eg_rng r = eg_rng_at(s->seed, order == EG_ORDER_OWN ? (uint32_t)c : EG_NOBODY,
                             curriculum, EG_FOR_ORDER);
        for (int64_t t = 0; t < n; t++)
            list[t] = t;
        if (order != EG_ORDER_NATURAL)
            eg_rng_shuffle(&r, (size_t)n, list);
        for (int64_t t = 0; t < n; t++)
            s->order[c * n + t] = (int32_t)list[t];
        s->joins[c] = c < first ? 0 : 1 + (c - first) / more;
    }
    free(list);
    return EG_OK;
}

/* A client works on a task if it meets it after joining; where all tasks share one split, on
 * it. */
static void build_works(const eg_scenario *s, uint8_t *works)
{
    for (int64_t c = 0; c < s->n_clients; c++)
        for (int64_t slot = s->joins[c]; slot < s->n_tasks; slot++) {
            int64_t t = s->order[c * s->n_tasks + slot];
            works[c * s->n_parts + (s->n_parts == 1 ? 0 : t)] = 1;
        }
}

static eg_status build_split(eg_scenario *s, const void *self)
{
    uint8_t *works;
    EG_TRY(eg_alloc((size_t)(s->n_clients * s->n_parts), 1, &works));
    build_works(s, works);
    eg_deal split = {
        .scenario = s,
        .name = s->partition->component.name,
        .seed = s->seed,
        .n_clients = s->n_clients,
        .n_tasks = s->n_parts,
        .visits = s->visits,
        .type_classes = s->type_classes,
        .type_shared = s->type_shared,
        .type_samples = s->type_samples,
        .tasks = s->tasks,
        .sources = s->sources,
        .n_sources = s->n_sources,
        .works = works,
    };
    eg_status status = eg_deal_split(s->partition, self, &split);
    if (status == EG_OK)
        status = eg_deal_pack(&split, s->partition->ordered);
    free(split.gifts);
    free(works);
    return status;
}

/* With own classes, a task's are those of all clients together. */
static eg_status build_unions(eg_scenario *s)
{
    int64_t n_classes = s->sources[0].classes, *list;
    EG_TRY(eg_alloc((size_t)n_classes, sizeof *list, &list));
    eg_status status = EG_OK;
    for (int64_t t = 0; t < s->n_tasks && status == EG_OK; t++) {
        int64_t n = 0;
        for (int64_t k = 0; k < n_classes; k++) {
            bool found = false;
            for (int64_t c = 0; c < s->n_clients && !found; c++)
                for (int64_t i = 0; i < s->n_own; i++)
                    found |= s->own[(c * s->n_tasks + t) * s->n_own + i] == k;
            if (found)
                list[n++] = k;
        }
        status = build_set_classes(s, t, n, list);
    }
    free(list);
    return status;
}

const eg_holding *eg_build_part(const eg_scenario *s, int64_t client, int64_t t)
{
    return &s->parts[client * s->n_parts + (s->n_parts == 1 ? 0 : t)];
}

eg_status eg_build_stage(eg_scenario *s, int64_t client, int64_t begin, int64_t end)
{
    EG_TRY(eg_grow(&s->stages, s->n_stages, &s->cap_stages, sizeof *s->stages));
    s->stages[s->n_stages++] =
        (eg_stage){.begin = begin, .end = end, .first_span = (int64_t)s->n_spans};
    s->first_stage[client + 1] = s->n_stages;
    return EG_OK;
}

eg_status eg_build_span(eg_scenario *s, int64_t client, int64_t t, int64_t from, int64_t n)
{
    const eg_holding *part = eg_build_part(s, client, t);
    EG_ASSERT(from >= 0 && n >= 0 && from + n <= part->n);
    EG_TRY(eg_grow(&s->spans, s->n_spans, &s->cap_spans, sizeof *s->spans));
    s->spans[s->n_spans++] =
        (eg_span){(int32_t)t, (int32_t)n, n > 0 ? s->ids + part->first + from : NULL};
    eg_stage *stage = &s->stages[s->n_stages - 1];
    stage->n_spans++;
    stage->n += n;
    return EG_OK;
}

eg_status eg_build_common_stages(eg_scenario *s, int64_t rounds)
{
    s->rounds = rounds;
    s->n_rounds = rounds * s->n_tasks;
    for (int64_t c = 0; c < s->n_clients; c++)
        for (int64_t slot = s->joins[c]; slot < s->n_tasks; slot++) {
            int64_t t = s->order[c * s->n_tasks + slot];
            EG_TRY(eg_build_stage(s, c, slot * rounds, (slot + 1) * rounds));
            EG_TRY(eg_build_span(s, c, t, 0, eg_build_part(s, c, t)->n));
        }
    return EG_OK;
}

eg_status eg_build_source_tasks(eg_scenario *s)
{
    EG_TRY(eg_build_tasks(s, (int64_t)s->n_sources));
    for (int64_t t = 0; t < s->n_tasks; t++) {
        if (s->sources[t].classes != s->n_classes)
            return eg_fail(EG_EINVAL, "data: source %lld has %lld classes, another has %lld",
                           (long long)t, (long long)s->sources[t].classes,
                           (long long)s->n_classes);
        s->tasks[t].source = (int32_t)t;
        EG_TRY(eg_build_all_classes(s, t));
    }
    return EG_OK;
}

/* One task of a client's stream: fills up the open stage, which has `room` left, and opens more
 * whenever `take` samples are full; n counts them. */
static eg_status build_take(eg_scenario *s, int64_t c, int64_t t, const int64_t size[2],
                            int64_t *room, int64_t *n)
{
    int64_t all = eg_build_part(s, c, t)->n, take = size[0], rounds = size[1];
    for (int64_t from = 0; from < all;) {
        if (*room == 0) {
            EG_TRY(eg_build_stage(s, c, *n * rounds, (*n + 1) * rounds));
            *room = take;
            ++*n;
        }
        int64_t some = all - from < *room ? all - from : *room;
        EG_TRY(eg_build_span(s, c, t, from, some));
        from += some;
        *room -= some;
    }
    return EG_OK;
}

eg_status eg_build_takes(eg_scenario *s, int64_t take, int64_t rounds)
{
    int64_t most = 0;
    for (int64_t c = 0; c < s->n_clients; c++) {
        int64_t room = 0, n = 0;
        for (int64_t slot = 0; slot < s->n_tasks; slot++)
            EG_TRY(build_take(s, c, s->order[c * s->n_tasks + slot],
                              (const int64_t[2]){take, rounds}, &room, &n));
        most = n > most ? n : most;
    }
    int64_t wanted = eg_scenario_wanted(s, s->n_clients);
    s->n_rounds = (most * rounds * s->n_clients + wanted - 1) / wanted;
    return EG_OK;
}

static eg_status build_check_labels(const eg_labels *l, size_t i)
{
    if (l->n_train < 1 || l->classes < 1 || l->classes > INT32_MAX || l->n_test < 0)
        return eg_fail(EG_EINVAL, "data source %zu has no training samples or no classes", i);
    if (l->n_train > INT32_MAX)
        return eg_fail(EG_EINVAL, "data source %zu has %lld training samples, more than %d", i,
                       (long long)l->n_train, INT32_MAX);
    for (int64_t k = 0; k < l->n_train; k++)
        if (l->train[k] < 0 || l->train[k] >= l->classes)
            return eg_fail(EG_EINVAL,
                           "data source %zu: label %d of training sample %lld is "
                           "outside its %lld classes",
                           i, l->train[k], (long long)k, (long long)l->classes);
    for (int64_t k = 0; k < l->n_test; k++)
        if (l->test[k] < 0 || l->test[k] >= l->classes)
            return eg_fail(EG_EINVAL,
                           "data source %zu: label %d of test sample %lld is outside its %lld "
                           "classes",
                           i, l->test[k], (long long)k, (long long)l->classes);
    for (int64_t k = 0; l->group && k < l->n_train; k++)
        if (l->group[k] < 0)
            return eg_fail(EG_EINVAL, "data source %zu: training sample %lld has owner %d", i,
                           (long long)k, l->group[k]);
    return EG_OK;
}

static eg_status build_test_index(eg_scenario *s, size_t i)
{
    const eg_labels *l = &s->sources[i];
    eg_by_class *b = &s->tests[i];
    EG_TRY(eg_build_alloc(s, l->classes + 2, sizeof *b->first, &b->first));
    EG_TRY(eg_build_alloc(s, l->n_test, sizeof *b->ids, &b->ids));
    for (int64_t k = 0; k < l->n_test; k++)
        b->first[l->test[k] + 2]++;
    for (int64_t k = 1; k <= l->classes; k++)
        b->first[k + 1] += b->first[k];
    for (int64_t k = 0; k < l->n_test; k++)
        b->ids[b->first[l->test[k] + 1]++] = k;
    return EG_OK;
}

static eg_status build_sources(eg_scenario *s, const eg_labels *sources, size_t n)
{
    if (n == 0)
        return eg_fail(EG_EINVAL, "data: a scenario needs a data source");
    if (n > 1 && !s->kind->many_sources)
        return eg_fail(EG_EINVAL, "data: scenario '%s' has one source, not %zu",
                       s->kind->component.name, n);
    s->n_sources = n;
    EG_TRY(eg_build_alloc(s, (int64_t)n, sizeof *s->sources, &s->sources));
    EG_TRY(eg_build_alloc(s, (int64_t)n, sizeof *s->tests, &s->tests));
    for (size_t i = 0; i < n; i++) {
        EG_TRY(build_check_labels(&sources[i], i));
        s->sources[i] = sources[i];
        s->n_classes = sources[i].classes > s->n_classes ? sources[i].classes : s->n_classes;
        EG_TRY(build_test_index(s, i));
    }
    return EG_OK;
}

static eg_status build_clients(eg_scenario *s)
{
    s->n_clients = s->common.clients + s->common.join * (s->n_tasks - 1);
    if (s->common.join > 0 && !(s->kind->offers & EG_OFFERS_COMMON_TASKS))
        return eg_fail(EG_EINVAL,
                       "join: scenario '%s' has no common task boundaries to join at",
                       s->kind->component.name);
    if (s->n_clients > INT32_MAX || s->n_clients * s->n_tasks > (int64_t)1 << 28)
        return eg_fail(EG_EINVAL, "clients: %lld with %lld tasks each are too many",
                       (long long)s->n_clients, (long long)s->n_tasks);
    if (s->common.selection && s->common.per_round > 0)
        return eg_fail(EG_EINVAL, "selection: poisson draws each client with the chance that "
                                  "participation says: set per_round to 0");
    if (s->common.selection && !(s->common.participation > 0))
        return eg_fail(EG_EINVAL, "selection: poisson with participation 0 draws nobody");
    if (s->common.per_round > s->n_clients)
        return eg_fail(EG_EINVAL, "per_round: %lld of %lld clients",
                       (long long)s->common.per_round, (long long)s->n_clients);
    return EG_OK;
}

static eg_status build_all(eg_scenario *s, const eg_spec *spec)
{
    EG_TRY(s->kind->tasks(spec->kind_self, s));
    EG_TRY(build_clients(s));
    EG_TRY(build_orders(s));
    EG_TRY(build_split(s, spec->partition_self));
    if (s->n_own > 0)
        EG_TRY(build_unions(s));
    EG_TRY(eg_build_hold_out(s, spec->validation));
    EG_TRY(eg_build_alloc(s, s->n_clients + 1, sizeof *s->first_stage, &s->first_stage));
    EG_TRY(s->kind->stages(spec->kind_self, s));
    for (int64_t c = 0; c < s->n_clients;
         c++) /* a client without stages starts where it ends */
        if (s->first_stage[c + 1] < s->first_stage[c])
            s->first_stage[c + 1] = s->first_stage[c];
    return EG_OK;
}

eg_status eg_scenario_new(const eg_spec *spec, uint64_t seed, const eg_labels *sources,
                          size_t n_sources, eg_scenario **out)
{
    *out = NULL;
    if (!spec->kind)
        return eg_fail(EG_EINVAL, "scenario: no kind is given");
    eg_scenario *s = calloc(1, sizeof *s);
    if (!s)
        return eg_fail(EG_ENOMEM, "out of memory");
    s->kind = spec->kind;
    s->partition = spec->partition;
    s->common = spec->common;
    s->run_seed = seed;
    s->seed = s->common.seed < 0 ? seed : (uint64_t)s->common.seed;
    s->offers = s->kind->offers;
    if (!s->common.announce)
        s->offers &= ~(unsigned)(EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS);
    eg_status status = build_sources(s, sources, n_sources);
    if (status == EG_OK)
        status = build_all(s, spec);
    if (status == EG_OK)
        *out = s;
    else
        eg_scenario_free(s);
    return eg_blame(status, "scenario '%s'", spec->kind->component.name);
}

void eg_scenario_free(eg_scenario *s)
{
    if (!s)
        return;
    free(s->stages);
    free(s->spans);
    eg_arena_fini(&s->arena);
    free(s);
}
