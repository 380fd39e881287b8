/* engram/learner.h - a network of one's own: weights, gradient, statistics and an optimiser.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A learner belongs to one thread at a time. Its arrays are flat, in the layout of its table,
 * the gaps between tensors zero.
 */
#ifndef EG_LEARNER_H
#define EG_LEARNER_H

#include <engram/exchange.h>
#include <engram/optim.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_learner {
    const eg_params *table;
    size_t n_params, n_state;
    float *param, *grad, *state;
    eg_optimizer *optimizer; /* NULL until eg_learner_optimize */
} eg_learner;

/* All zero, for a table that must outlive it. */
eg_status eg_learner_new(const eg_params *table, eg_learner **out);
void eg_learner_free(eg_learner *l); /* NULL is fine */

/* Gives it an optimiser ("adam", "lr=0.001 beta1=0.5"), or resets the one it has. */
eg_status eg_learner_optimize(eg_learner *l, const char *name, const char *options);

/* Into a bundle and back, every name with a prefix: "critic.param". *found: it was there whole.
 */
eg_status eg_learner_keep(const eg_learner *l, const char *prefix, eg_bundle *to);
eg_status eg_learner_recall(eg_learner *l, const char *prefix, const eg_bundle *from,
                            bool *found);
/* The same for its optimiser's state. */
eg_status eg_learner_keep_optimizer(const eg_learner *l, const char *prefix, eg_bundle *to);
eg_status eg_learner_recall_optimizer(eg_learner *l, const char *prefix, const eg_bundle *from);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
