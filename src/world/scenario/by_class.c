/* by_class.c - tasks of new classes in common rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/kind/by_class.h"

// clang-format off
const eg_opt eg_by_class_opts[] = {
    EG_OPT_INT(eg_by_class_options, tasks, 10, 1, 100000, "tasks; the classes are divided among them"),
    EG_OPT_INT(eg_by_class_options, rounds, 20, 1, 1e6, "rounds of each task"),
    EG_OPT_CHOICE(eg_by_class_options, class_order, 0, "how classes are put into tasks", "natural|shuffled"),
    EG_OPT_END,
};
// clang-format on

eg_status eg_by_class_tasks(const void *self, eg_scenario *s)
{
    const eg_by_class_options *o = self;
    return eg_build_by_class(s, o->tasks, o->class_order == 1);
}

eg_status eg_by_class_stages(const void *self, eg_scenario *s)
{
    const eg_by_class_options *o = self;
    return eg_build_common_stages(s, o->rounds);
}
