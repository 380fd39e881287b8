/* iid.c - each task's samples shuffled and cut into equal parts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

static eg_status iid_task(eg_deal *s, int64_t t, const eg_stock *pool)
{
    int64_t *workers, n;
    EG_TRY(eg_deal_workers(s, t, &workers, &n));
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)t, EG_FOR_PARTITION);
    eg_rng_shuffle(&r, (size_t)pool->n, pool->ids);
    eg_status status = EG_OK;
    for (int64_t j = 0; j < n && status == EG_OK; j++) {
        int64_t from = j * pool->n / n, to = (j + 1) * pool->n / n;
        status = eg_deal_give(s, workers[j], t, pool->ids + from, to - from);
    }
    free(workers);
    return status;
}

static eg_status iid_split(const void *self, eg_deal *s)
{
    (void)self;
    for (int64_t t = 0; t < s->n_tasks; t++) {
        eg_stock pool;
        eg_status status = eg_stock_task(s, t, &pool);
        if (status == EG_OK)
            status = iid_task(s, t, &pool);
        eg_stock_fini(&pool);
        EG_TRY(status);
    }
    return EG_OK;
}

const eg_partition eg_partition_iid = {
    .component = {"iid", "each task's samples shuffled and cut into equal parts", 0, NULL},
    .split = iid_split,
};
