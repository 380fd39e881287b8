/* scenario.h - the inside of a scenario, and the contract of its kinds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Built in four steps: the kind declares tasks; every client gets an order of tasks; the
 * partitioner splits each task's samples over the clients that will work on it; the kind lays
 * out stages.
 */
#ifndef EG_SRC_SCENARIO_H
#define EG_SRC_SCENARIO_H

#include <engram/rng.h>
#include <engram/scenario.h>

#include "base/base.h"
#include "world/scenario/partition.h"

/* The client of draws that belong to no client, and the round of draws that belong to no round.
 */
#define EG_NOBODY UINT32_MAX
#define EG_NEVER  UINT32_MAX

/* What makes a client leave a stage. */
typedef enum eg_clock {
    EG_CLOCK_ROUND,   /* the round: stage i has rounds [begin, end) */
    EG_CLOCK_SAMPLED, /* taking part in a round >= end: then one stage on */
    EG_CLOCK_USED,    /* having taken part in it end - begin times */
} eg_clock;

typedef enum eg_order {
    EG_ORDER_AUTO,
    EG_ORDER_NATURAL,
    EG_ORDER_SHUFFLED,
    EG_ORDER_OWN
} eg_order;

/* The options of every kind. */
typedef struct eg_common {
    int64_t clients, join, per_round, away_rounds, curriculum, pad, seed;
    double participation, away;
    int order;     /* eg_order */
    int selection; /* of "exact|poisson" */
    bool announce;
} eg_common;

/* There are as many of these, and of eg_span and eg_holding, as clients times tasks: they are
 * small. */
typedef struct eg_stage {
    int64_t begin, end, first_span;
    int64_t n; /* samples */
    int32_t n_spans;
    int32_t visit; /* real-time: how often the client was in this task before */
} eg_stage;

/* A client's samples of one task, in eg_scenario.ids; behind them those held out. */
typedef struct eg_holding {
    int64_t first;
    int32_t n, n_held;
} eg_holding;

/* Test samples of one source by class. */
typedef struct eg_by_class {
    int64_t *first; /* [classes + 1] */
    int64_t *ids;   /* [n_test] */
} eg_by_class;

typedef struct eg_kind {
    eg_component component;
    unsigned offers;
    eg_clock clock;
    eg_order order;        /* what `order: auto` means */
    const char *partition; /* the partitioner if none is named */
    bool many_sources;     /* several data sources are its domains */
    /* Declares the tasks with eg_build_*, and may set n_parts, visits and test_*. */
    eg_status (*tasks)(const void *self, eg_scenario *s);
    /* Lays out the stages of every client and sets n_rounds. */
    eg_status (*stages)(const void *self, eg_scenario *s);
} eg_kind;

extern const eg_kind *const eg_kinds[]; /* ends with NULL */

struct eg_spec {
    const eg_kind *kind;
    void *kind_self;
    const eg_partition *partition;
    void *partition_self;
    eg_common common;
    double validation; /* the share held out */
    char **data;
    size_t n_data, cap_data;
};

struct eg_scenario {
    const eg_kind *kind;
    const eg_partition *partition;
    eg_common common;
    uint64_t seed;     /* of what is dealt to whom: tasks, orders, split, stages */
    uint64_t run_seed; /* of who takes part when */
    unsigned offers;
    int64_t n_clients, n_tasks, n_rounds, n_classes;
    int64_t rounds; /* per common task; 0 without such */
    size_t n_sources;
    eg_labels *sources;
    eg_by_class *tests;
    eg_task *tasks;
    int64_t n_own;   /* classes a client draws per task, 0 if it draws none */
    int32_t *own;    /* [n_clients, n_tasks, n_own] */
    int32_t *rank;   /* like own: this is the rank-th task the class is in; or NULL */
    int64_t n_parts; /* tasks that are split apart: n_tasks, or 1 if all share one split */
    int64_t visits;  /* real-time: the most times a client comes to one task */
    int64_t type_classes, type_shared, type_samples; /* real-time: what each visit takes */
    int64_t test_parts; /* real-time: parts a class's test samples are cut in, else 0 */
    int64_t test_take;  /* real-time: test samples per class and visit; 0: one part */
    int32_t *order;     /* [n_clients, n_tasks]: the task of each slot */
    int64_t *joins;     /* [n_clients]: the first slot it is there for */
    int64_t *ids;
    eg_holding *parts; /* [n_clients, n_parts] */
    eg_stage *stages;
    size_t n_stages, cap_stages;
    size_t *first_stage; /* [n_clients + 1] */
    eg_span *spans;
    size_t n_spans, cap_spans;
    eg_arena arena;
};

/* n zeroed elements that live as long as the scenario; *out is NULL when n is 0. */
eg_status eg_build_alloc(eg_scenario *s, int64_t n, size_t size, void *out);

/* Declares n tasks, empty, of source 0. */
eg_status eg_build_tasks(eg_scenario *s, int64_t n);
/* Gives a task all classes of its source. */
eg_status eg_build_all_classes(eg_scenario *s, int64_t t);
/* Declares n tasks with classes/n each, by number or shuffled; with a partitioner that lets
 * clients draw their classes, n tasks without. */
eg_status eg_build_by_class(eg_scenario *s, int64_t n, bool shuffled);

/* Declares a task for each data source, with all its classes. */
eg_status eg_build_source_tasks(eg_scenario *s);

/* Takes a share of the clients' samples out of training, after the split. */
eg_status eg_build_hold_out(eg_scenario *s, double share);

/* Opens the client's next stage; spans are then added to it. Clients come in order. */
eg_status eg_build_stage(eg_scenario *s, int64_t client, int64_t begin, int64_t end);
/* Adds n samples of the client's part of task t, from its sample `from` on. */
eg_status eg_build_span(eg_scenario *s, int64_t client, int64_t t, int64_t from, int64_t n);
const eg_holding *eg_build_part(const eg_scenario *s, int64_t client, int64_t t);
/* One stage a slot of `rounds` rounds, the same rounds for all clients. */
eg_status eg_build_common_stages(eg_scenario *s, int64_t rounds);

/* One stage for each `take` samples of a client's stream, its tasks in their order, which lasts
 * for as many participations as `rounds`. */
eg_status eg_build_takes(eg_scenario *s, int64_t take, int64_t rounds);

bool eg_scenario_away(const eg_scenario *s, int64_t client, int64_t round);
const eg_stage *eg_scenario_stage(const eg_scenario *s, int64_t client, int64_t stage);

#endif
