/* domain_rotation.c - each task shows all classes, turned by its own angle.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario/scenario.h"

typedef struct domain_rotation {
    int64_t tasks, rounds, angles;
    double degrees;
    bool first_plain, resplit;
} domain_rotation;

// clang-format off
static const eg_opt domain_rotation_opts[] = {
    EG_OPT_INT(domain_rotation, tasks, 10, 1, 100000, "tasks, each with its own angle"),
    EG_OPT_INT(domain_rotation, rounds, 20, 1, 1e6, "rounds of each task"),
    EG_OPT_REAL(domain_rotation, degrees, 180, 0, 360, "angles are drawn from 0 to this"),
    EG_OPT_INT(domain_rotation, angles, -1, -1, 1e9,
               "the seed they are drawn with, so that runs share them; -1: the run's own"),
    EG_OPT_BOOL(domain_rotation, first_plain, 0, "whether the first task is left upright"),
    EG_OPT_BOOL(domain_rotation, resplit, 0, "split anew in each task, else once for all"),
    EG_OPT_END,
};
// clang-format on

static eg_status domain_rotation_tasks(const void *self, eg_scenario *s)
{
    const domain_rotation *d = self;
    uint64_t seed = d->angles < 0 ? s->seed : (uint64_t)d->angles;
    EG_TRY(eg_build_tasks(s, d->tasks));
    for (int64_t t = 0; t < d->tasks; t++) {
        eg_rng r = eg_rng_at(seed, EG_NOBODY, (uint32_t)t, EG_FOR_TASKS);
        double angle = eg_rng_uniform(&r, 0, d->degrees);
        EG_TRY(eg_build_all_classes(s, t));
        s->tasks[t].warp = EG_WARP_ROTATE;
        s->tasks[t].angle = t == 0 && d->first_plain ? 0 : angle;
    }
    s->n_parts = d->resplit ? d->tasks : 1;
    return EG_OK;
}

static eg_status domain_rotation_stages(const void *self, eg_scenario *s)
{
    return eg_build_common_stages(s, ((const domain_rotation *)self)->rounds);
}

const eg_kind eg_kind_domain_rotation = {
    .component = {"domain_rotation", "each task shows all classes, turned by its own angle",
                  sizeof(domain_rotation), domain_rotation_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_COMMON_TASKS,
    .clock = EG_CLOCK_ROUND,
    .order = EG_ORDER_NATURAL,
    .partition = "shards",
    .tasks = domain_rotation_tasks,
    .stages = domain_rotation_stages,
};
