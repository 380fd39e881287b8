/* by_class.h - tasks of new classes in common rounds: what two kinds share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_BY_CLASS_H
#define EG_BY_CLASS_H

#include "world/scenario/scenario.h"

typedef struct eg_by_class_options {
    int64_t tasks, rounds;
    int class_order;
} eg_by_class_options;

extern const eg_opt eg_by_class_opts[];

eg_status eg_by_class_tasks(const void *self, eg_scenario *s);
eg_status eg_by_class_stages(const void *self, eg_scenario *s);

#endif
