/* group.c - a natural federation: each client is one owner named by the data, say a writer.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

typedef struct group {
    int64_t min;
} group;

// clang-format off
static const eg_opt group_opts[] = {
    EG_OPT_INT(group, min, 1, 1, 1e9, "owners with fewer samples are left out"),
    EG_OPT_END,
};
// clang-format on

/* client[g] becomes the client of owner g or -1: of the owners large enough as many as there
 * are clients, drawn, then numbered in ascending order. */
static eg_status group_choose(const group *p, const eg_deal *s, size_t source,
                              const int64_t *size, int64_t n_groups, int64_t *client)
{
    int64_t *list, n = 0;
    EG_TRY(eg_alloc((size_t)n_groups, sizeof *list, &list));
    for (int64_t g = 0; g < n_groups; g++) {
        client[g] = -1;
        if (size[g] >= p->min)
            list[n++] = g;
    }
    if (n < s->n_clients) {
        free(list);
        return eg_fail(EG_EINVAL,
                       "clients: the data has %lld owners with at least %lld samples, not %lld",
                       (long long)n, (long long)p->min, (long long)s->n_clients);
    }
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)source, EG_FOR_PARTITION);
    if (n > s->n_clients)
        eg_rng_shuffle(&r, (size_t)n, list);
    for (int64_t i = 0; i < s->n_clients; i++)
        client[list[i]] = 0;
    for (int64_t g = 0, next = 0; g < n_groups; g++)
        if (client[g] == 0)
            client[g] = next++;
    free(list);
    return EG_OK;
}

static eg_status group_give(eg_deal *s, size_t source, const int64_t *client)
{
    const eg_labels *l = &s->sources[source];
    for (int64_t i = 0; i < l->n_train; i++)
        if (client[l->group[i]] >= 0)
            EG_TRY(eg_deal_give_source(s, client[l->group[i]], source, &i, 1));
    return EG_OK;
}

static eg_status group_source(const group *p, eg_deal *s, size_t source)
{
    const eg_labels *l = &s->sources[source];
    int64_t n_groups = 0;
    if (!l->group)
        return eg_fail(EG_EINVAL,
                       "partition 'group': the data does not say who owns its samples");
    for (int64_t i = 0; i < l->n_train; i++)
        n_groups = l->group[i] >= n_groups ? l->group[i] + 1 : n_groups;
    int64_t *size, *client = NULL;
    EG_TRY(eg_alloc((size_t)n_groups, sizeof *size, &size));
    for (int64_t i = 0; i < l->n_train; i++)
        size[l->group[i]]++;
    eg_status status = eg_alloc((size_t)n_groups, sizeof *client, &client);
    if (status == EG_OK)
        status = group_choose(p, s, source, size, n_groups, client);
    if (status == EG_OK)
        status = group_give(s, source, client);
    free(size);
    free(client);
    return status;
}

static eg_status group_split(const void *self, eg_deal *s)
{
    EG_TRY(eg_deal_needs_all(s));
    for (size_t i = 0; i < s->n_sources; i++)
        EG_TRY(group_source(self, s, i));
    return EG_OK;
}

const eg_partition eg_partition_group = {
    .component = {"group", "each client is one owner named by the data, say a writer",
                  sizeof(group), group_opts},
    .split = group_split,
};
