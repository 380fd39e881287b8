/* shards.c - samples sorted by label and cut into shards, of which each client draws a few
 * (McMahan et al., 2017, arXiv:1602.05629).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

typedef struct shards {
    int64_t shards;
} shards;

// clang-format off
static const eg_opt shards_opts[] = {
    EG_OPT_INT(shards, shards, 2, 1, 1000, "shards a client draws in each task"),
    EG_OPT_END,
};
// clang-format on

static eg_status shards_give(const shards *p, eg_deal *s, int64_t t, const eg_stock *pool,
                             const int64_t *workers, int64_t n)
{
    int64_t total = n * p->shards, *order;
    EG_TRY(eg_alloc((size_t)total, sizeof *order, &order));
    for (int64_t i = 0; i < total; i++)
        order[i] = i;
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)t, EG_FOR_PARTITION);
    eg_rng_shuffle(&r, (size_t)total, order);
    eg_status status = EG_OK;
    for (int64_t i = 0; i < total && status == EG_OK; i++) {
        int64_t from = order[i] * pool->n / total, to = (order[i] + 1) * pool->n / total;
        status = eg_deal_give(s, workers[i / p->shards], t, pool->ids + from, to - from);
    }
    free(order);
    return status;
}

static eg_status shards_task(const void *self, eg_deal *s, int64_t t, const eg_stock *pool)
{
    const shards *p = self;
    int64_t *workers, n;
    EG_TRY(eg_deal_workers(s, t, &workers, &n));
    eg_status status;
    if (n * p->shards > pool->n)
        status =
            eg_fail(EG_EINVAL,
                    "partition.shards: %lld clients with %lld shards each are more than the "
                    "%lld samples of task %lld",
                    (long long)n, (long long)p->shards, (long long)pool->n, (long long)t);
    else
        status = shards_give(p, s, t, pool, workers, n);
    free(workers);
    return status;
}

const eg_partition eg_partition_shards = {
    .component =
        {"shards",
         "samples sorted by label and cut into shards, of which each client draws a few",
         sizeof(shards), shards_opts},
    .task = shards_task,
};
