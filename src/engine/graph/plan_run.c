/* plan_run.c - a compiled plan at work: binding arrays, finding buffers, running steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/plan_private.h"

#include "engine/graph/dnnl.h"
#include "engine/graph/flops.h"

#include <string.h>

/* Beside the error text the one thing a thread has of its own: a counter that every plan could
 * reach otherwise would have to go through each program, learner and generator there is. */
static _Thread_local uint64_t run_flops;

uint64_t eg_flops(void)
{
    return run_flops;
}

void eg_flops_set(uint64_t flops)
{
    run_flops = flops;
}

static float *run_home(const eg_value *v, float *value, float *grad, float *state)
{
    switch (v->home) {
    case EG_IN_PARAMS:
        return value;
    case EG_IN_GRADS:
        return grad;
    case EG_IN_STATE:
        return state;
    default:
        return NULL;
    }
}

eg_status eg_plan_bind(eg_plan *p, const eg_params *table, float *value, float *grad,
                       float *state)
{
    for (size_t i = 0; i < p->n_values; i++) {
        eg_value *v = p->values[i];
        const eg_param_attr *a = v->home == EG_IN_ARENA ? NULL : v->node->attr;
        if (!a || a->table != table)
            continue;
        const eg_param_info *info = eg_params_at(table, a->index);
        if (info->frozen) {
            v->data = info->frozen;
            continue;
        }
        float *base = run_home(v, value, grad, state);
        if (!base)
            return eg_fail(EG_EINVAL, "bind: '%s' needs an array that is not given",
                           info->name);
        v->data = base + info->offset;
    }
    p->bound = false; /* the steps learn of it at the next run */
    return EG_OK;
}

/* Every table must have its arrays; then every step takes its pointers. */
static eg_status run_settle(eg_plan *p)
{
    for (size_t i = 0; i < p->n_values; i++) {
        const eg_value *v = p->values[i];
        if (v->home == EG_IN_ARENA || v->data)
            continue;
        const eg_param_attr *a = v->node->attr;
        return eg_fail(EG_EINVAL, "run: no array is bound for '%s'",
                       eg_params_at(a->table, a->index)->name);
    }
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].bind)
            p->steps[i].bind(&p->steps[i]);
    p->bound = true;
    return EG_OK;
}

float *eg_plan_input(eg_plan *p, const char *name)
{
    const eg_node *x = eg_find_input(p->g, name);
    return x && p->nodes[x->id].form[EG_ROWMAJOR] ? p->nodes[x->id].form[EG_ROWMAJOR]->data
                                                  : NULL;
}

const float *eg_plan_output(const eg_plan *p, const char *name)
{
    for (size_t i = 0; i < p->g->n_outputs; i++)
        if (strcmp(p->g->outputs[i].name, name) == 0)
            return p->nodes[p->g->outputs[i].node->id].form[EG_ROWMAJOR]->data;
    return NULL;
}

bool eg_plan_shape(const eg_plan *p, const char *name, eg_shape *out)
{
    const eg_node *x = eg_find_input(p->g, name);
    for (size_t i = 0; !x && i < p->g->n_outputs; i++)
        x = strcmp(p->g->outputs[i].name, name) == 0 ? p->g->outputs[i].node : NULL;
    if (x)
        *out = x->shape;
    return x != NULL;
}

void eg_plan_seed(eg_plan *p, const eg_rng *stream, uint64_t step)
{
    memcpy(p->key, stream->key, sizeof p->key);
    p->time = step;
}

static void run_note(eg_step *s, double start)
{
    double took = eg_seconds() - start;
    s->seconds = s->seconds > 0 && s->seconds < took ? s->seconds : took;
}

static eg_status run_timed(eg_plan *p)
{
    for (size_t i = 0; i < p->n_steps; i++) {
        double start = eg_seconds();
        EG_TRY(p->steps[i].run(&p->steps[i]));
        run_note(&p->steps[i], start);
    }
    return EG_OK;
}

/* A plan at work with a team: all members walk through the steps. */
typedef struct run_crew {
    eg_plan *p;
    double least; /* what is smaller is left to the first member */
} run_crew;

/* Steps of one thread follow each other without a meeting; before and behind a shared step
 * there is one. A member that fails goes on to every meeting, and into what may have some
 * within. */
static eg_status run_part(void *context, const eg_team_part *part)
{
    const run_crew *c = context;
    eg_plan *p = c->p;
    bool first = part->i == 0, apart = false; /* the others wait for the first */
    eg_status status = EG_OK;
    if (!first && !p->k->own)
        eg_dnnl_enter();
    for (size_t i = 0; i < p->n_steps; i++) {
        eg_step *s = &p->steps[i];
        bool shared = s->share && s->work >= c->least;
        double start = first && p->timing ? eg_seconds() : 0;
        if (shared && apart)
            eg_team_meet(part);
        apart = !shared;
        eg_status now = EG_OK;
        if (shared)
            now = s->share(s, part);
        else if (first && status == EG_OK)
            now = s->run(s);
        status = status == EG_OK ? now : status;
        if (shared)
            eg_team_meet(part);
        if (first && p->timing)
            run_note(s, start);
    }
    return status;
}

static eg_status run_together(eg_plan *p, eg_team *team)
{
    run_crew c = {.p = p, .least = eg_team_least(team)};
    return eg_team_run(team, run_part, &c);
}

eg_status eg_plan_run(eg_plan *p)
{
    eg_plan_follow(p);
    if (!p->bound)
        EG_TRY(run_settle(p));
    if (!p->k->own)
        eg_dnnl_enter();
    run_flops += (uint64_t)p->flops;
    if (eg_team_size(eg_team_here()) > 1)
        return run_together(p, eg_team_here());
    if (p->timing)
        return run_timed(p);
    for (size_t i = 0; i < p->n_steps; i++)
        EG_TRY(p->steps[i].run(&p->steps[i]));
    return EG_OK;
}

size_t eg_plan_n_steps(const eg_plan *p)
{
    return p->n_steps;
}

eg_step_info eg_plan_step_info(const eg_plan *p, size_t i)
{
    const eg_step *s = &p->steps[i];
    eg_step_info info = {.op = s->node->op->name,
                         .kernel = s->kernel,
                         .flops = s->flops,
                         .seconds = s->seconds,
                         .reorder = s->reorder,
                         .activation = s->activation};
    eg_shape_print(s->node->shape, info.shape);
    return info;
}

void eg_plan_set_timing(eg_plan *p, bool on)
{
    p->timing = on;
    for (size_t i = 0; i < p->n_steps; i++)
        p->steps[i].seconds = 0;
}

double eg_plan_flops(const eg_plan *p)
{
    return p->flops;
}

size_t eg_plan_bytes(const eg_plan *p)
{
    return p->bytes;
}
