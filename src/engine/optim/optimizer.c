/* optimizer.c - the list of optimisers, and one at work with its options and state.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/optim.h>

#include "base/team.h"

#include <stdlib.h>
#include <string.h>

#define X(name) extern const eg_optim eg_optim_##name;
#include "list.inc"
#undef X

const eg_optim *const eg_optims[] = {
#define X(name) &eg_optim_##name,
#include "list.inc"
#undef X
    NULL,
};
static eg_added optimizer_added;
const eg_family eg_optim_family = {"optimisers", "optimiser", eg_optims, &optimizer_added};

const eg_optim *eg_optim_find(const char *word)
{
    return (const eg_optim *)eg_family_find(&eg_optim_family, word);
}

eg_status eg_optim_check(const eg_optim *kind, const void *options)
{
    return kind->check ? eg_blame(kind->check(options), "%s", kind->component.name) : EG_OK;
}

enum { OPTIMIZER_SLOTS = 2 };

/* Parts of a step begin at multiples of so many weights; a weight takes about so many seconds.
 */
enum { OPTIMIZER_GRAIN = 1024 };
#define OPTIMIZER_WORK 8e-10

struct eg_optimizer {
    const eg_optim *kind;
    void *options;
    float *slots[OPTIMIZER_SLOTS];
    size_t n;
    int64_t t;
};

eg_status eg_optimizer_make(const eg_optim *kind, const void *options, size_t n,
                            eg_optimizer **out)
{
    *out = NULL;
    EG_ASSERT(kind->n_slots <= OPTIMIZER_SLOTS);
    if (options)
        EG_TRY(eg_optim_check(kind, options));
    eg_optimizer *o = calloc(1, sizeof *o);
    if (!o)
        return eg_fail(EG_ENOMEM, "no memory for an optimiser");
    o->kind = kind;
    o->n = n;
    eg_status s = options ? eg_component_copy(&kind->component, options, &o->options)
                          : eg_component_new(&kind->component, &o->options);
    for (int i = 0; i < kind->n_slots && s == EG_OK; i++)
        s = eg_alloc(n, sizeof(float), &o->slots[i]);
    if (s != EG_OK) {
        eg_optimizer_free(o);
        return s;
    }
    *out = o;
    return EG_OK;
}

eg_status eg_optimizer_new(const char *name, size_t n, eg_optimizer **out)
{
    *out = NULL;
    const eg_optim *kind = eg_optim_find(name);
    return kind ? eg_optimizer_make(kind, NULL, n, out) : EG_ENOENT;
}

void eg_optimizer_free(eg_optimizer *o)
{
    if (!o)
        return;
    for (int i = 0; i < OPTIMIZER_SLOTS; i++)
        free(o->slots[i]);
    free(o->options);
    free(o);
}

eg_status eg_optimizer_set(eg_optimizer *o, const char *option, const char *value)
{
    const eg_component *c = &o->kind->component;
    return eg_blame(eg_opts_set(c->opts, o->options, option, value), "%s", c->name);
}

eg_status eg_optimizer_set_text(eg_optimizer *o, const char *options)
{
    const eg_component *c = &o->kind->component;
    return eg_blame(eg_opts_set_text(c->opts, o->options, options), "%s", c->name);
}

void eg_optimizer_set_rate(eg_optimizer *o, double lr)
{
    eg_status s = eg_opts_set_real(o->kind->component.opts, o->options, "lr", lr);
    EG_ASSERT(s == EG_OK);
}

/* A step of many weights, of which each thread of a team has a range. */
typedef struct optimizer_step {
    eg_optimizer *o;
    float *w;
    const float *g;
} optimizer_step;

static eg_status optimizer_share(void *context, const eg_team_part *part)
{
    const optimizer_step *s = context;
    eg_optimizer *o = s->o;
    eg_range r = eg_team_range(part, (int64_t)o->n, OPTIMIZER_GRAIN);
    float *slots[OPTIMIZER_SLOTS];
    for (int i = 0; i < OPTIMIZER_SLOTS; i++)
        slots[i] = o->slots[i] ? o->slots[i] + r.from : NULL;
    if (r.to > r.from)
        o->kind->step(o->options, s->w + r.from, slots, s->g + r.from, (size_t)(r.to - r.from),
                      o->t);
    return EG_OK;
}

void eg_optimizer_step(eg_optimizer *o, float *w, const float *g)
{
    eg_team *team = eg_team_here();
    bool shared = eg_team_size(team) > 1 && o->kind->apart &&
                  (double)o->n * OPTIMIZER_WORK >= eg_team_least(team);
    o->t++;
    if (shared)
        eg_team_run(team, optimizer_share, &(optimizer_step){o, w, g}); /* it cannot fail */
    else
        o->kind->step(o->options, w, o->slots, g, o->n, o->t);
}

void eg_optimizer_reset(eg_optimizer *o)
{
    for (int i = 0; i < o->kind->n_slots; i++)
        memset(o->slots[i], 0, o->n * sizeof(float));
    o->t = 0;
}

const float *eg_optimizer_slot(const eg_optimizer *o, int i)
{
    return i >= 0 && i < o->kind->n_slots ? o->slots[i] : NULL;
}

int64_t eg_optimizer_steps(const eg_optimizer *o)
{
    return o->t;
}

void eg_optimizer_restore(eg_optimizer *o, const float *const *slots, int64_t steps)
{
    for (int i = 0; i < o->kind->n_slots; i++)
        memcpy(o->slots[i], slots[i], o->n * sizeof(float));
    o->t = steps;
}
