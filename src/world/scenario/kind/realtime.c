/* realtime.c - one small task per round, its data seen once: every client walks through its own
 * task types, and is tested on all it has met (pFedGRP, experiments 1, 2 and 3).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

typedef struct realtime {
    int64_t classes, shared, samples, rounds, test;
    int path;
} realtime;

enum { REALTIME_GRADUAL, REALTIME_CYCLE, REALTIME_ONCE };

// clang-format off
static const eg_opt realtime_opts[] = {
    EG_OPT_INT(realtime, classes, 2, 1, 1000, "classes of a task type"),
    EG_OPT_INT(realtime, shared, 0, 0, 1000, "further classes, which it shares with the next types"),
    EG_OPT_INT(realtime, samples, 200, 1, 1e9, "training samples of each class in one task"),
    EG_OPT_INT(realtime, rounds, 0, 0, 1e8, "rounds; 0: as many as the data feeds"),
    EG_OPT_INT(realtime, test, 0, 0, 1e9, "test samples of each class in one task; 0: its part"),
    EG_OPT_CHOICE(realtime, path, 0, "loops of two types, a cycle of all, or each type once", "gradual|cycle|once"),
    EG_OPT_END,
};
// clang-format on

/* The type of a round. Gradual: types p and p+1 by turns, p growing by one every rounds/n. */
static int64_t realtime_type(const realtime *o, int64_t n_types, int64_t rounds, int64_t r)
{
    if (o->path != REALTIME_GRADUAL)
        return r % n_types;
    int64_t length = rounds / n_types > 0 ? rounds / n_types : 1, p = r / length;
    p = p < n_types ? p : n_types - 1;
    return (p + (r - p * length) % 2) % n_types;
}

static eg_status realtime_tasks(const void *self, eg_scenario *s)
{
    const realtime *o = self;
    const eg_labels *l = &s->sources[0];
    int64_t n_types = l->classes / o->classes, least = l->n_train, count = 0;
    if (n_types < 1)
        return eg_fail(EG_EINVAL, "classes: %lld in a type are more than the %lld there are",
                       (long long)o->classes, (long long)l->classes);
    for (int64_t k = 0; k < l->classes; k++, count = 0) {
        for (int64_t i = 0; i < l->n_train; i++)
            count += l->train[i] == k;
        least = count < least ? count : least;
    }
    s->n_rounds = o->rounds;
    if (o->rounds == 0 && o->path == REALTIME_ONCE)
        s->n_rounds = n_types;
    else if (o->rounds == 0)
        s->n_rounds = least / (o->samples * (o->classes + o->shared)) * l->classes;
    if (s->n_rounds < 1)
        return eg_fail(EG_EINVAL, "samples: the smallest class has %lld, too few for one task",
                       (long long)least);
    if (o->shared > 0 && !s->partition->own_classes)
        return eg_fail(EG_EINVAL, "shared: partition '%s' gives each class to one task",
                       s->partition->component.name);
    EG_TRY(eg_build_by_class(s, n_types, false));
    s->type_classes = o->classes;
    s->type_shared = o->shared;
    s->type_samples = o->samples;
    s->test_take = o->test;
    s->test_parts = least / o->samples > 0 ? least / o->samples : 1;
    for (int64_t t = 0; t < n_types; t++) {
        count = 0;
        for (int64_t r = 0; r < s->n_rounds; r++)
            count += realtime_type(o, n_types, s->n_rounds, r) == t;
        s->visits = count > s->visits ? count : s->visits;
    }
    return EG_OK;
}

static eg_status realtime_stages(const void *self, eg_scenario *s)
{
    const realtime *o = self;
    int64_t take = (o->classes + o->shared) * o->samples, *visits;
    EG_TRY(eg_build_alloc(s, s->n_tasks, sizeof *visits, &visits));
    for (int64_t c = 0; c < s->n_clients; c++) {
        for (int64_t t = 0; t < s->n_tasks; t++)
            visits[t] = 0;
        for (int64_t r = 0; r < s->n_rounds; r++) {
            int64_t t = s->order[c * s->n_tasks + realtime_type(o, s->n_tasks, s->n_rounds, r)];
            int64_t size = eg_build_part(s, c, t)->n, from = visits[t] * take;
            from = from < size ? from : size;
            EG_TRY(eg_build_stage(s, c, r, r + 1));
            EG_TRY(eg_build_span(s, c, t, from, size - from < take ? size - from : take));
            s->stages[s->n_stages - 1].visit = (int32_t)visits[t]++;
        }
    }
    return EG_OK;
}

const eg_kind eg_kind_realtime = {
    .component = {"realtime",
                  "one small task per round, its data seen once; tested on all that was met",
                  sizeof(realtime), realtime_opts},
    .offers = EG_OFFERS_TASK_CLASSES,
    .clock = EG_CLOCK_USED,
    .order = EG_ORDER_NATURAL,
    .partition = "types",
    .tasks = realtime_tasks,
    .stages = realtime_stages,
};
