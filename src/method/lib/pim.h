/* pim.h - a personalised informative model (Li et al., Towards Efficient Replay in Federated
 * Incremental Learning), and the scores that samples gather while it is trained.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PIM_H
#define EG_PIM_H

#include <engram/method.h>

/* Which epochs' gradient norms count most. */
typedef enum eg_emphasis {
    EG_EMPHASIS_EARLY,       /* 1/p in epoch p: Eq. 5 */
    EG_EMPHASIS_AVERAGE,     /* 1 */
    EG_EMPHASIS_LATE,        /* 1/p, and the lowest are wanted: Table 10 */
    EG_EMPHASIS_LATE_WEIGHT, /* p */
} eg_emphasis;

typedef struct eg_pim {
    int64_t epochs;
    double lr;   /* eta */
    double pull; /* q(lambda) */
    eg_emphasis emphasis;
    float *path; /* [n_params]: each step adds gradient times the way back, what each parameter
                    did for the loss on the step; NULL: nobody asks */
} eg_pim;

/* q(lambda) = (1 - lambda) / (2 lambda). */
double eg_pim_pull(double lambda);

/* EG_EINVAL: its steps overshoot w, so that it must diverge. */
eg_status eg_pim_check(const eg_pim *how);

/* A set of samples, and where the order of each epoch is drawn from. */
typedef struct eg_pim_samples {
    const eg_sample *at; /* [n] */
    int64_t n;
    eg_rng *order;
} eg_pim_samples;

/* The worker's network of that key, standing at w. */
eg_status eg_pim_begin(eg_client *c, const eg_weights *w, const char *key, eg_learner **out);

/* Trains v, which starts where it stands, on n samples (Eq. 3 with the mean gradient of each
 * batch):
 *     v <- v - eta (gradient + q(lambda) (v - w)).
 * Just before its batch's step every sample's squared gradient norm is taken (Eq. 4), in eval
 * form, and added to scores [n] with the epoch's weight, unless scores is NULL. */
eg_status eg_pim_train(eg_client *c, const eg_pim *how, eg_learner *v, const float *w,
                       const eg_pim_samples *on, double *scores);

/* The same with a model that starts at w, which stays as it is. NULL members: the client's. */
eg_status eg_pim_score(eg_client *c, const eg_pim *how, const eg_weights *w,
                       const eg_pim_samples *on, double *scores);

#endif
