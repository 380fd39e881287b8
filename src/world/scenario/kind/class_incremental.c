/* class_incremental.c - each task brings new classes; all clients change task together.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/kind/by_class.h"

const eg_kind eg_kind_class_incremental = {
    .component = {"class_incremental",
                  "each task brings new classes; all clients change task together",
                  sizeof(eg_by_class_options), eg_by_class_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_COMMON_TASKS |
              EG_OFFERS_TASK_CLASSES,
    .clock = EG_CLOCK_ROUND,
    .order = EG_ORDER_NATURAL,
    .partition = "dirichlet",
    .tasks = eg_by_class_tasks,
    .stages = eg_by_class_stages,
};
