/* engram/trainer.h - one network, trained and tested alone on samples that its caller fills in.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A trainer owns the network's values, their gradient, its statistics, the optimiser and the
 * compiled programs; the net itself is the caller's. One thread at a time.
 */
#ifndef EG_TRAINER_H
#define EG_TRAINER_H

#include <engram/model.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_trainer eg_trainer;

typedef struct eg_trainer_spec {
    const eg_net *net;     /* must outlive the trainer */
    const char *optimizer; /* a name; its options are as usual until eg_trainer_set */
    double temperature;    /* what logits are divided by in the loss */
    uint64_t seed;         /* of first values and dropout masks */
} eg_trainer_spec;

/* Samples by number, 0 to n - 1. fill writes those from first to first + count - 1: x [count,
 * c, h, w] as the net takes them, labels [count]. */
typedef struct eg_trainer_samples {
    int64_t n;
    eg_status (*fill)(void *context, int64_t first, int64_t count, float *x, float *labels);
    void *context;
} eg_trainer_samples;

/* EG_ENOENT: there is no such optimiser. */
eg_status eg_trainer_new(const eg_trainer_spec *spec, eg_trainer **out);
void eg_trainer_free(eg_trainer *t); /* NULL is fine */

/* Sets an option of the optimiser. */
eg_status eg_trainer_set(eg_trainer *t, const char *option, const char *value);

/* The values [eg_params_length] and the statistics [eg_state_length] as they are now. */
float *eg_trainer_values(eg_trainer *t);
float *eg_trainer_state(eg_trainer *t);

/* One step of the optimiser on samples first to first + count - 1. loss, unless it is NULL,
 * gets their mean loss before the step. */
eg_status eg_trainer_step(eg_trainer *t, const eg_trainer_samples *from, int64_t first,
                          int64_t count, double *loss);

/* In eval form, over all samples: the share of right answers; features [n, eg_net_n_features].
 */
eg_status eg_trainer_test(eg_trainer *t, const eg_trainer_samples *on, double *accuracy);
eg_status eg_trainer_features(eg_trainer *t, const eg_trainer_samples *of, float *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
