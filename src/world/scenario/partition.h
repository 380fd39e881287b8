/* partition.h - the contract of partitioners: which client gets which sample of a task.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PARTITION_H
#define EG_PARTITION_H

#include <engram/rng.h>
#include <engram/scenario.h>

#include "base/base.h"

/* What a partitioner is given, and where its answer goes. */
typedef struct eg_deal {
    eg_scenario *scenario;
    const char *name; /* of the partitioner, for errors */
    uint64_t seed;
    int64_t n_clients, n_tasks;
    /* Real-time: how often a client comes to a task, at most, and what each visit takes; else
     * 0. */
    int64_t visits, type_classes, type_shared, type_samples;
    const eg_task *tasks;
    const eg_labels *sources;
    size_t n_sources;
    const uint8_t *works; /* [n_clients, n_tasks]: it will work on the task */
    /* The answer, sample by sample. */
    struct eg_gift *gifts;
    size_t n_gifts, cap_gifts;
} eg_deal;

/* The samples of some classes, class by class, in data order within a class. Free both arrays.
 */
typedef struct eg_stock {
    int64_t n, n_classes;
    int64_t *ids;   /* [n]; who splits may put them in another order */
    int64_t *first; /* [n_classes + 1]: where each class begins */
} eg_stock;

/* It splits all at once, or task by task. */
typedef struct eg_partition {
    eg_component component;
    bool own_classes; /* clients draw the classes of their tasks: eg_deal_own */
    bool ordered;     /* lists are kept as given; else each is shuffled in the end */
    eg_status (*split)(const void *self, eg_deal *s);
    eg_status (*task)(const void *self, eg_deal *s, int64_t t, const eg_stock *pool);
} eg_partition;

extern const eg_partition *const eg_partitions[]; /* ends with NULL */

/* Has p split. */
eg_status eg_deal_split(const eg_partition *p, const void *self, eg_deal *s);

/* The pool of a whole source. Free with _fini. */
eg_status eg_stock_source(const eg_deal *s, size_t source, eg_stock *out);
void eg_stock_fini(eg_stock *p);

/* The clients that will work on task t; free(*out). Returns EG_EINVAL if there are none. */
eg_status eg_deal_workers(const eg_deal *s, int64_t t, int64_t **out, int64_t *n);

/* Hands samples to a client. */
eg_status eg_deal_give(eg_deal *s, int64_t client, int64_t t, const int64_t *ids, int64_t n);

/* Cuts a task's samples into equal runs, one for each client that will work on it. */
eg_status eg_deal_runs(eg_deal *s, int64_t t, const eg_stock *pool);

/* Like eg_deal_give for samples of a whole source: each goes to every task that has its class.
 */
eg_status eg_deal_give_source(eg_deal *s, int64_t client, size_t source, const int64_t *ids,
                              int64_t n);

/* Makes the table of own classes, n per client and task; *out is [n_clients, n_tasks, n]. */
eg_status eg_deal_own(eg_deal *s, int64_t n, int32_t **out);

/* EG_EINVAL unless every client works on every task; says which option is in the way. */
eg_status eg_deal_needs_all(const eg_deal *s);

/* Ends the split: packs the gifts into the scenario's ids and parts. */
eg_status eg_deal_pack(eg_deal *s, bool ordered);

#endif
