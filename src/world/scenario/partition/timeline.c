/* timeline.c - each task's samples in data order, cut into equal runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

static int timeline_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static eg_status timeline_task(const void *self, eg_deal *s, int64_t t, const eg_stock *pool)
{
    (void)self;
    qsort(pool->ids, (size_t)pool->n, sizeof *pool->ids, timeline_compare);
    return eg_deal_runs(s, t, pool);
}

const eg_partition eg_partition_timeline = {
    .component = {"timeline", "each task's samples in their order, cut into equal runs", 0,
                  NULL},
    .ordered = true,
    .task = timeline_task,
};
