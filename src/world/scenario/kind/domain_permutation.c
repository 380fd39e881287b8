/* domain_permutation.c - each task shows all classes, their pixels in its own order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

typedef struct domain_permutation {
    int64_t tasks, rounds;
    bool first_plain, resplit;
} domain_permutation;

// clang-format off
static const eg_opt domain_permutation_opts[] = {
    EG_OPT_INT(domain_permutation, tasks, 10, 1, 100000, "tasks, each with its own order of pixels"),
    EG_OPT_INT(domain_permutation, rounds, 20, 1, 1e6, "rounds of each task"),
    EG_OPT_BOOL(domain_permutation, first_plain, 0, "whether the first task keeps its pixels"),
    EG_OPT_BOOL(domain_permutation, resplit, 0, "split anew in each task, else once for all"),
    EG_OPT_END,
};
// clang-format on

static eg_status domain_permutation_tasks(const void *self, eg_scenario *s)
{
    const domain_permutation *d = self;
    EG_TRY(eg_build_tasks(s, d->tasks));
    for (int64_t t = 0; t < d->tasks; t++) {
        EG_TRY(eg_build_all_classes(s, t));
        if (t == 0 && d->first_plain)
            continue;
        eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)t, EG_FOR_TASKS);
        s->tasks[t].warp = EG_WARP_PERMUTE;
        s->tasks[t].key[0] = r.key[0];
        s->tasks[t].key[1] = r.key[1];
    }
    s->n_parts = d->resplit ? d->tasks : 1;
    return EG_OK;
}

static eg_status domain_permutation_stages(const void *self, eg_scenario *s)
{
    return eg_build_common_stages(s, ((const domain_permutation *)self)->rounds);
}

const eg_kind eg_kind_domain_permutation = {
    .component = {"domain_permutation",
                  "each task shows all classes, their pixels in its own order",
                  sizeof(domain_permutation), domain_permutation_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_COMMON_TASKS,
    .clock = EG_CLOCK_ROUND,
    .order = EG_ORDER_NATURAL,
    .partition = "shards",
    .tasks = domain_permutation_tasks,
    .stages = domain_permutation_stages,
};
