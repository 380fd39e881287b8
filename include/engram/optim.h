/* engram/optim.h - optimisers: one pass over the flat parameter array.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The update rules are PyTorch's. An optimizer owns its state (momentum and the like) and
 * belongs to one thread.
 */
#ifndef EG_OPTIM_H
#define EG_OPTIM_H

#include <engram/component.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What an optimiser is; src/engine/optim has one file each. */
typedef struct eg_optim {
    eg_component component; /* one of its options is the real number lr */
    eg_status (*check)(
        const void *self); /* EG_EINVAL: options that exclude each other; or NULL */
    int n_slots;           /* arrays of state, as long as the parameters, zero at first */
    /* Step t (1, 2, ...) of w [n] along gradient g [n]. */
    void (*step)(const void *self, float *w, float *const *slots, const float *g, size_t n,
                 int64_t t);
    bool apart; /* each weight moves by itself: threads may share a step */
} eg_optim;

extern const eg_optim *const eg_optims[]; /* NULL at the end */
extern const eg_family eg_optim_family;
const eg_optim *eg_optim_find(const char *word); /* as eg_family_find */
/* EG_EINVAL if options of the kind exclude each other. */
eg_status eg_optim_check(const eg_optim *kind, const void *options);

typedef struct eg_optimizer eg_optimizer;

/* An optimiser for n parameters, with its default options. EG_ENOENT: no such name. */
eg_status eg_optimizer_new(const char *name, size_t n, eg_optimizer **out);
/* The same with options, a struct of the kind's that is copied; NULL: the defaults. EG_EINVAL:
 * they exclude each other. */
eg_status eg_optimizer_make(const eg_optim *kind, const void *options, size_t n,
                            eg_optimizer **out);
void eg_optimizer_free(eg_optimizer *o); /* NULL is fine */
eg_status eg_optimizer_set(eg_optimizer *o, const char *option, const char *value);
/* The same for a text of several: "lr=0.001 beta1=0.5". */
eg_status eg_optimizer_set_text(eg_optimizer *o, const char *options);

/* One update of w along g. */
void eg_optimizer_step(eg_optimizer *o, float *w, const float *g);
/* Forgets the state: as new. */
void eg_optimizer_reset(eg_optimizer *o);

/* The step size of later steps, in place of what its option lr says; within the option's range.
 */
void eg_optimizer_set_rate(eg_optimizer *o, double lr);

/* The state, to be kept elsewhere and put back: slot i ([n], borrowed; NULL past the last) and
 * the steps done. */
const float *eg_optimizer_slot(const eg_optimizer *o, int i);
int64_t eg_optimizer_steps(const eg_optimizer *o);
/* Copies slots, as many as there are, each [n]. */
void eg_optimizer_restore(eg_optimizer *o, const float *const *slots, int64_t steps);

/* Scales a gradient g [n] that is longer than max down to that length (PyTorch's
 * clip_grad_norm_), and returns the norm it had. What is not finite is left as it is. */
double eg_clip_norm(float *g, size_t n, double max);

/* How the step size changes from round to round. */
typedef enum eg_schedule_kind {
    EG_SCHEDULE_CONSTANT,
    EG_SCHEDULE_STEP,  /* times `factor` after each `every` rounds */
    EG_SCHEDULE_COSINE /* from 1 towards `least` over all rounds, half a cosine */
} eg_schedule_kind;
#define EG_SCHEDULE_KINDS "constant|step|cosine"

typedef struct eg_schedule {
    int kind; /* eg_schedule_kind */
    int64_t every;
    double factor, least;
    int64_t warmup; /* rounds of a straight rise to 1 before the schedule begins */
} eg_schedule;

/* The factor of the step size in a round, 0 to n_rounds - 1. */
double eg_schedule_factor(const eg_schedule *s, int64_t round, int64_t n_rounds);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
