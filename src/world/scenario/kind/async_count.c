/* async_count.c - each client goes through its own stream a fixed number of samples at a time,
 * whatever the task (Fed-A-GEM, section 5.1.6).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

typedef struct async_count {
    int64_t tasks, take, rounds;
    int class_order;
} async_count;

// clang-format off
static const eg_opt async_count_opts[] = {
    EG_OPT_INT(async_count, tasks, 10, 1, 100000, "tasks; the classes are divided among them"),
    EG_OPT_INT(async_count, take, 500, 1, 1e9, "samples a client has at a time"),
    EG_OPT_INT(async_count, rounds, 20, 1, 1e6, "rounds a client takes part in with each take"),
    EG_OPT_CHOICE(async_count, class_order, 0, "how classes are put into tasks", "natural|shuffled"),
    EG_OPT_END,
};
// clang-format on

static eg_status async_count_tasks(const void *self, eg_scenario *s)
{
    const async_count *a = self;
    return eg_build_by_class(s, a->tasks, a->class_order == 1);
}

static eg_status async_count_stages(const void *self, eg_scenario *s)
{
    const async_count *a = self;
    return eg_build_takes(s, a->take, a->rounds);
}

const eg_kind eg_kind_async_count = {
    .component =
        {"async_count",
         "each client goes through its stream some samples at a time, whatever the task",
         sizeof(async_count), async_count_opts},
    .offers = EG_OFFERS_TASK_CLASSES,
    .clock = EG_CLOCK_USED,
    .order = EG_ORDER_NATURAL,
    .partition = "dirichlet",
    .tasks = async_count_tasks,
    .stages = async_count_stages,
};
