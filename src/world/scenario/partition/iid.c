/* iid.c - each task's samples shuffled and cut into equal parts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

static eg_status iid_task(const void *self, eg_deal *s, int64_t t, const eg_stock *pool)
{
    (void)self;
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)t, EG_FOR_PARTITION);
    eg_rng_shuffle(&r, (size_t)pool->n, pool->ids);
    return eg_deal_runs(s, t, pool);
}

const eg_partition eg_partition_iid = {
    .component = {"iid", "each task's samples shuffled and cut into equal parts", 0, NULL},
    .task = iid_task,
};
