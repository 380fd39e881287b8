/* alone.c - all samples are one client's: for a device that has data of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The device sees the scenario of the whole federation, with its tasks and their order, but of
 * the samples only its own, and the other clients have none.
 */
#include "world/scenario/scenario.h"

typedef struct alone {
    int64_t client;
} alone;

static const eg_opt alone_opts[] = {
    EG_OPT_INT(alone, client, 0, 0, 1e8, "whose they are"),
    EG_OPT_END,
};

static eg_status alone_task(const void *self, eg_deal *s, int64_t t, const eg_stock *pool)
{
    const alone *a = self;
    if (a->client >= s->n_clients)
        return eg_fail(EG_EINVAL, "client: there is no client %lld among %lld",
                       (long long)a->client, (long long)s->n_clients);
    return s->works[a->client * s->n_tasks + t]
               ? eg_deal_give(s, a->client, t, pool->ids, pool->n)
               : EG_OK;
}

const eg_partition eg_partition_alone = {
    .component = {"alone", "all samples are one client's, who has data of its own",
                  sizeof(alone), alone_opts},
    .task = alone_task,
};
