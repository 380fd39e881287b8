/* task_incremental.c - as class_incremental, with the task known at test time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/kind/by_class.h"

const eg_kind eg_kind_task_incremental = {
    .component = {"task_incremental", "as class-incremental, with the task known at test time",
                  sizeof(eg_by_class_options), eg_by_class_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_COMMON_TASKS |
              EG_OFFERS_TASK_CLASSES | EG_OFFERS_TEST_TASKS,
    .clock = EG_CLOCK_ROUND,
    .order = EG_ORDER_NATURAL,
    .partition = "dirichlet",
    .tasks = eg_by_class_tasks,
    .stages = eg_by_class_stages,
};
