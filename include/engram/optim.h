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

/* What an optimiser is; src/optim has one file each. */
typedef struct eg_optim {
    eg_component component; /* one of its options is the real number lr */
    eg_status (*check)(
        const void *self); /* EG_EINVAL: options that exclude each other; or NULL */
    int n_slots;           /* arrays of state, as long as the parameters, zero at first */
    /* Step t (1, 2, ...) of w [n] along gradient g [n]. */
    void (*step)(const void *self, float *w, float *const *slots, const float *g, size_t n,
                 int64_t t);
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

/* One update of w along g. */
void eg_optimizer_step(eg_optimizer *o, float *w, const float *g);
/* Forgets the state: as new. */
void eg_optimizer_reset(eg_optimizer *o);

/* The state, to be kept elsewhere and put back: slot i ([n], borrowed; NULL past the last) and
 * the steps done. */
const float *eg_optimizer_slot(const eg_optimizer *o, int i);
int64_t eg_optimizer_steps(const eg_optimizer *o);
/* Copies slots, as many as there are, each [n]. */
void eg_optimizer_restore(eg_optimizer *o, const float *const *slots, int64_t steps);

#pragma GCC visibility pop

#endif
