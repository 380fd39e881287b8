/* domain_rotation.c - each task shows all classes, turned by its own angle.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct domain_rotation {
    int64_t tasks, rounds, angles;
    double degrees;
    char turns[EG_OPT_TEXT_SIZE];
    bool first_plain, resplit;
} domain_rotation;

// clang-format off
static const eg_opt domain_rotation_opts[] = {
    EG_OPT_INT(domain_rotation, tasks, 10, 1, 100000, "tasks, each with its own angle"),
    EG_OPT_INT(domain_rotation, rounds, 20, 1, 1e6, "rounds of each task"),
    EG_OPT_REAL(domain_rotation, degrees, 180, 0, 360, "angles are drawn from 0 to this"),
    EG_OPT_INT(domain_rotation, angles, -1, -1, 1e9,
               "the seed they are drawn with, so that runs share them; -1: the run's own"),
    EG_OPT_TEXT(domain_rotation, turns, "",
                "angles that are given, not drawn: '35.4 151.9; 171 110.3', a list for each seed, the first again after the last"),
    EG_OPT_BOOL(domain_rotation, first_plain, 0, "whether the first task is left upright"),
    EG_OPT_BOOL(domain_rotation, resplit, 0, "split anew in each task, else once for all"),
    EG_OPT_END,
};
// clang-format on

static const char rotation_gap[] = " \t\n,"; /* what may stand between angles */

/* Where the list of a seed begins in the turns. */
static const char *rotation_list(const char *turns, uint64_t seed)
{
    uint64_t n_lists = 1;
    for (const char *c = strchr(turns, ';'); c; c = strchr(c + 1, ';'))
        n_lists++;
    for (seed %= n_lists; seed > 0; seed--)
        turns = strchr(turns, ';') + 1;
    return turns;
}

/* Takes the angles of all tasks from the list of this seed. */
static eg_status rotation_read(const domain_rotation *d, eg_scenario *s)
{
    const char *at = rotation_list(d->turns, s->seed);
    int64_t n = 0;
    for (at += strspn(at, rotation_gap); *at && *at != ';'; n++) {
        char *end;
        double angle = strtod(at, &end);
        if (end == at || !(fabs(angle) <= 360))
            return eg_fail(EG_EINVAL, "turns: '%.*s' is no angle from -360 to 360",
                           (int)strcspn(at, " \t\n,;"), at);
        if (n < d->tasks)
            s->tasks[n].angle = angle;
        at = end + strspn(end, rotation_gap);
    }
    return n == d->tasks
               ? EG_OK
               : eg_fail(EG_EINVAL, "turns: %lld angles for seed %llu, but %lld tasks",
                         (long long)n, (unsigned long long)s->seed, (long long)d->tasks);
}

static void rotation_draw(const domain_rotation *d, eg_scenario *s)
{
    uint64_t seed = d->angles < 0 ? s->seed : (uint64_t)d->angles;
    for (int64_t t = 0; t < d->tasks; t++) {
        eg_rng r = eg_rng_at(seed, EG_NOBODY, (uint32_t)t, EG_FOR_TASKS);
        s->tasks[t].angle = eg_rng_uniform(&r, 0, d->degrees);
    }
}

static eg_status domain_rotation_tasks(const void *self, eg_scenario *s)
{
    const domain_rotation *d = self;
    EG_TRY(eg_build_tasks(s, d->tasks));
    for (int64_t t = 0; t < d->tasks; t++) {
        EG_TRY(eg_build_all_classes(s, t));
        s->tasks[t].warp = EG_WARP_ROTATE;
    }
    if (*d->turns)
        EG_TRY(rotation_read(d, s));
    else
        rotation_draw(d, s);
    if (d->first_plain)
        s->tasks[0].angle = 0;
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
