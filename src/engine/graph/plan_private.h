/* plan_private.h - the inside of a plan, for the files that make and run it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PLAN_PRIVATE_H
#define EG_PLAN_PRIVATE_H

#include "engine/graph/plan.h"

/* What compiling knows of a node. */
typedef struct plan_node {
    eg_value *form[EG_N_LAYOUTS];
    eg_value *left;                       /* for the steps of its gradient */
    eg_layout home;                       /* the layout it was computed in */
    const eg_node *first_reader, *reader; /* the first one and the last */
    int n_readers;                        /* outputs and gradients count too */
    const eg_node *grad_of;               /* the parameter whose gradient this is */
    bool pinned;
    bool skipped; /* its readers do its work */
} plan_node;

typedef struct plan_hint {
    eg_value *out, *in;
} plan_hint;

struct eg_plan {
    eg_graph *g;
    const eg_kernels *k;
    struct eg_dnnl *dnnl;
    eg_arena arena;
    plan_node *nodes; /* by node id */
    eg_value **values;
    size_t n_values, cap_values;
    eg_step *steps;
    size_t n_steps, cap_steps;
    plan_hint *hints;
    size_t n_hints, cap_hints;
    void *memory;       /* where values live, */
    eg_room *room;      /* but for those of a room, */
    const void *lived;  /* and where in it they were when steps took their pointers */
    size_t kept, bytes; /* of values that outlive a run, which lie first; of all */
    double flops;       /* of all steps */
    int team;           /* threads of the team that compiled it */
    uint32_t key[2];
    uint64_t time;
    bool failed, timing, bound;
};

eg_value *eg_plan_root(eg_value *v);
/* Gives every value of the arena its place. */
eg_status eg_plan_lay_out(eg_plan *p);
/* Follows a room that has moved. */
void eg_plan_follow(eg_plan *p);
/* Adds a step that copies x between layouts, one of them row-major. */
eg_status eg_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to);

#endif
