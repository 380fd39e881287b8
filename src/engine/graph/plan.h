/* plan.h - what an op's emit needs: values in layouts, steps, and the fusions it may make.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A value is a node's result in one layout; a step is one kernel call. Emitting only describes;
 * when every step is known, lifetimes are known, and values get their places in one arena.
 */
#ifndef EG_SRC_PLAN_H
#define EG_SRC_PLAN_H

#include "base/team.h"
#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"

typedef enum eg_layout {
    EG_ROWMAJOR, /* row-major */
    EG_BLOCKED, /* [n, c / v, h, w, v]: v channels together, the last block filled with zeros */
    EG_BATCHED, /* [c, h, w, lanes]: the batch innermost, filled up to whole vectors */
    EG_N_LAYOUTS,
} eg_layout;

typedef struct eg_value {
    float *data; /* set when the plan is laid out, or bound */
    const eg_node *node;
    eg_layout layout;
    size_t bytes, offset;
    int first, last;         /* the steps that write it first and read it last */
    struct eg_value *within; /* shares the memory of this value */
    enum { EG_IN_ARENA, EG_IN_PARAMS, EG_IN_GRADS, EG_IN_STATE } home;
    bool pinned; /* inputs and outputs: nothing else may use their memory */
} eg_value;

typedef struct eg_step eg_step;
struct eg_step {
    eg_status (*run)(const eg_step *s);
    /* One part of the same, side by side with the others, with the same bits whatever their
     * number; NULL: the step is one thread's. */
    eg_status (*share)(const eg_step *s, const eg_team_part *part);
    const eg_kernels *k;
    const eg_node *node;
    eg_value **in, **out;
    int n_in, n_out;
    void *args;               /* the kernel's own */
    void (*bind)(eg_step *s); /* data pointers have changed; may be NULL */
    void (*fini)(eg_step *s); /* releases args' foreign parts; may be NULL */
    const eg_plan *plan;
    const char *kernel;
    double flops, seconds;
    double work; /* about how many seconds it takes one thread */
    bool reorder, activation;
    bool with_relu; /* it does the work of the relu that reads its result */
};

/* A node's result in a layout: converts it if it exists only in another. */
eg_value *eg_plan_read(eg_plan *p, const eg_node *x, eg_layout layout);
/* The layout in which x was computed. */
eg_layout eg_plan_layout(const eg_plan *p, const eg_node *x);
/* Declares that the op writes y in this layout. */
eg_value *eg_plan_write(eg_plan *p, const eg_node *y, eg_layout layout);
/* Memory for one step, or between the steps of one op. */
eg_value *eg_plan_scratch(eg_plan *p, size_t bytes);
/* y is x's memory read with another shape or meaning. */
eg_status eg_plan_alias(eg_plan *p, const eg_node *y, const eg_node *x);
/* Adds a step; in and out are copied. The pointer may be filled further. NULL: out of memory.
 */
eg_step *eg_plan_step(eg_plan *p, const eg_node *node, eg_status (*run)(const eg_step *),
                      int n_in, eg_value *const *in, int n_out, eg_value *const *out);
/* Gives a step, which may be NULL, its form for a team; `run` becomes that of a single part. */
eg_status eg_plan_share(eg_step *s,
                        eg_status (*share)(const eg_step *s, const eg_team_part *part));
/* The first parts, as many as the step has room for: the others, from part.n on, have none. */
eg_team_part eg_plan_limit(const eg_step *s, const eg_team_part *part);
/* How many threads the plan should be ready for: those of the team it is compiled by. More or
 * fewer may run it. */
int eg_plan_team(const eg_plan *p);
/* The output may take the memory of input i if nothing needs that any more. */
void eg_plan_in_place(eg_plan *p, eg_value *out, eg_value *in);
/* Zeroed memory that lives as long as the plan. */
void *eg_plan_alloc(eg_plan *p, size_t bytes);

/* The only node that reads x, when it is computed by op; NULL otherwise. For fusing. */
const eg_node *eg_plan_sole_reader(const eg_plan *p, const eg_node *x, const eg_op *op);
/* The first two readers of x in out; returns how many there are, outputs counted too. */
int eg_plan_readers(const eg_plan *p, const eg_node *x, const eg_node *out[2]);
/* x is never computed by itself: its readers do its work. */
void eg_plan_skip(eg_plan *p, const eg_node *x);
bool eg_plan_skipped(const eg_plan *p, const eg_node *x);
/* x has been computed already. */
bool eg_plan_has(const eg_plan *p, const eg_node *x);
/* What x's step leaves for the steps of its gradient, beside or in place of its value. */
void eg_plan_leave(eg_plan *p, const eg_node *x, eg_value *value);
eg_value *eg_plan_left(const eg_plan *p, const eg_node *x); /* NULL: nothing */
/* y's value is that of x: a step of x computes y as well. */
void eg_plan_fused(eg_plan *p, const eg_node *y, eg_value *value);

const eg_kernels *eg_plan_kernels(const eg_plan *p);
/* The layout a result with these inputs should have: blocked if one of them is and all can be.
 */
eg_layout eg_plan_common_layout(const eg_plan *p, const eg_node *y);
/* True for [n, c, h, w] with whole blocks of channels: worth keeping blocked. */
bool eg_plan_blockable(const eg_plan *p, eg_shape s);
/* The samples of a batch filled up to whole vectors. */
int64_t eg_batch_lanes(const eg_kernels *k, int64_t n);
/* Floats of a tensor in a layout, fill-up included. */
size_t eg_layout_size(const eg_kernels *k, eg_shape s, eg_layout layout);

/* The random stream of a run, for ops that draw. */
const uint32_t *eg_plan_key(const eg_plan *p);
uint64_t eg_plan_time(const eg_plan *p);

#endif
