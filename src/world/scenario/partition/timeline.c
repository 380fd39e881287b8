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

static eg_status timeline_task(eg_deal *s, int64_t t, const eg_stock *pool)
{
    int64_t *workers, n;
    EG_TRY(eg_deal_workers(s, t, &workers, &n));
    qsort(pool->ids, (size_t)pool->n, sizeof *pool->ids, timeline_compare);
    eg_status status = EG_OK;
    for (int64_t j = 0; j < n && status == EG_OK; j++) {
        int64_t from = j * pool->n / n, to = (j + 1) * pool->n / n;
        status = eg_deal_give(s, workers[j], t, pool->ids + from, to - from);
    }
    free(workers);
    return status;
}

static eg_status timeline_split(const void *self, eg_deal *s)
{
    (void)self;
    for (int64_t t = 0; t < s->n_tasks; t++) {
        eg_stock pool;
        eg_status status = eg_stock_task(s, t, &pool);
        if (status == EG_OK)
            status = timeline_task(s, t, &pool);
        eg_stock_fini(&pool);
        EG_TRY(status);
    }
    return EG_OK;
}

const eg_partition eg_partition_timeline = {
    .component = {"timeline", "each task's samples in their order, cut into equal runs", 0,
                  NULL},
    .ordered = true,
    .split = timeline_split,
};
