/* domain_sources.c - each task is a data source of its own with the same classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

typedef struct domain_sources {
    int64_t rounds;
} domain_sources;

// clang-format off
static const eg_opt domain_sources_opts[] = {
    EG_OPT_INT(domain_sources, rounds, 150, 1, 1e6, "rounds of each task"),
    EG_OPT_END,
};
// clang-format on

static eg_status domain_sources_tasks(const void *self, eg_scenario *s)
{
    (void)self;
    return eg_build_source_tasks(s);
}

static eg_status domain_sources_stages(const void *self, eg_scenario *s)
{
    return eg_build_common_stages(s, ((const domain_sources *)self)->rounds);
}

const eg_kind eg_kind_domain_sources = {
    .component = {"domain_sources",
                  "each task is a data source of its own, with the same classes",
                  sizeof(domain_sources), domain_sources_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_COMMON_TASKS,
    .clock = EG_CLOCK_ROUND,
    .order = EG_ORDER_NATURAL,
    .partition = "dirichlet",
    .many_sources = true,
    .tasks = domain_sources_tasks,
    .stages = domain_sources_stages,
};
