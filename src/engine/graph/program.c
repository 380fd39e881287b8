/* program.c - plans by batch size, the least recently used one given up first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/program.h>

#include "base/base.h"

#include <stdlib.h>

enum { PROGRAM_TABLES = 8 };

typedef struct program_entry {
    int64_t batch; /* 0: free */
    uint64_t variant, used;
    eg_graph *graph;
    eg_plan *plan;
} program_entry;

typedef struct program_binding {
    const eg_params *table;
    float *value, *grad, *state;
} program_binding;

struct eg_program {
    eg_recorder record;
    void *context;
    program_binding bindings[PROGRAM_TABLES];
    size_t n_bindings;
    eg_room *room;  /* NULL: each plan has its own memory */
    bool unsettled; /* a plan could not be bound: all must be told again */
    uint64_t clock;
    size_t n;
    program_entry entries[];
};

eg_status eg_program_new(eg_recorder record, void *context, size_t max_plans, eg_program **out)
{
    *out = NULL;
    if (max_plans < 1)
        return eg_fail(EG_EINVAL, "a program must keep at least one plan");
    eg_program *p = calloc(1, sizeof *p + max_plans * sizeof *p->entries);
    if (!p)
        return eg_fail(EG_ENOMEM, "no memory for a program");
    p->record = record;
    p->context = context;
    p->n = max_plans;
    *out = p;
    return EG_OK;
}

void eg_program_share(eg_program *p, eg_room *room)
{
    p->room = room;
}

static void program_drop(program_entry *e)
{
    eg_plan_free(e->plan);
    eg_graph_free(e->graph);
    *e = (program_entry){0};
}

void eg_program_free(eg_program *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        program_drop(&p->entries[i]);
    free(p);
}

static eg_status program_bind_plan(const eg_program *p, eg_plan *plan)
{
    for (size_t i = 0; i < p->n_bindings; i++) {
        const program_binding *b = &p->bindings[i];
        EG_TRY(eg_plan_bind(plan, b->table, b->value, b->grad, b->state));
    }
    return EG_OK;
}

eg_status eg_program_bind(eg_program *p, const eg_params *table, float *value, float *grad,
                          float *state)
{
    size_t at = 0;
    while (at < p->n_bindings && p->bindings[at].table != table)
        at++;
    if (at == PROGRAM_TABLES)
        return eg_fail(EG_ENOTSUP, "a program binds at most %d tables", PROGRAM_TABLES);
    program_binding *b = &p->bindings[at];
    if (at < p->n_bindings && !p->unsettled && b->value == value && b->grad == grad &&
        b->state == state)
        return EG_OK; /* the plans know */
    *b = (program_binding){table, value, grad, state};
    p->n_bindings += at == p->n_bindings;
    p->unsettled = true;
    for (size_t i = 0; i < p->n; i++)
        if (p->entries[i].plan)
            EG_TRY(program_bind_plan(p, p->entries[i].plan));
    p->unsettled = false;
    return EG_OK;
}

eg_status eg_program_read(eg_program *p, const eg_params *table, const eg_weights *at)
{
    /* The plan's steps take what they read and what they write as one kind of pointer. */
    return eg_program_bind(p, table, (float *)(uintptr_t)at->param, NULL,
                           (float *)(uintptr_t)at->state);
}

/* Fills a free entry with the plan for this batch. */
static eg_status program_compile(eg_program *p, program_entry *e, int64_t batch,
                                 uint64_t variant)
{
    EG_TRY(eg_graph_new(&e->graph));
    p->record(p->context, e->graph, batch);
    EG_TRY(eg_compile_in(e->graph, p->room, &e->plan));
    e->batch = batch, e->variant = variant;
    return program_bind_plan(p, e->plan);
}

eg_status eg_program_plan(eg_program *p, int64_t batch, eg_plan **out)
{
    return eg_program_plan_of(p, batch, 0, out);
}

eg_status eg_program_plan_of(eg_program *p, int64_t batch, uint64_t variant, eg_plan **out)
{
    if (batch < 1)
        return eg_fail(EG_EINVAL, "a batch of %lld samples cannot be run", (long long)batch);
    program_entry *oldest = &p->entries[0];
    for (size_t i = 0; i < p->n; i++) {
        program_entry *e = &p->entries[i];
        if (e->batch == batch && e->variant == variant) {
            e->used = ++p->clock;
            *out = e->plan;
            return EG_OK;
        }
        if (e->used < oldest->used)
            oldest = e;
    }
    program_drop(oldest);
    eg_status s = program_compile(p, oldest, batch, variant);
    if (s != EG_OK) {
        program_drop(oldest);
        return s;
    }
    oldest->used = ++p->clock;
    *out = oldest->plan;
    return EG_OK;
}
