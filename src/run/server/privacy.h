/* privacy.h - what of differential privacy a run has spent, and the noise it adds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is spent is counted in a file of the run's checkpoint, on disk before anything is
 * released: after a kill a round may count twice, never not at all. One thread.
 */
#ifndef EG_RUN_PRIVACY_H
#define EG_RUN_PRIVACY_H

#include "run/experiment/experiment.h"

typedef struct eg_privacy eg_privacy;

/* Reads the count, if a run goes on. store: the checkpoint's folder. q, n_clients: of the
 * scenario. */
typedef struct eg_privacy_how {
    const eg_dp_opts *opts;
    const char *store;
    uint64_t seed;
    double q;
    int64_t n_clients, n_wanted;
    bool resume;
} eg_privacy_how;
eg_status eg_privacy_open(const eg_privacy_how *how, eg_privacy **out);
void eg_privacy_close(eg_privacy *p); /* NULL is fine */

/* The length that changes are cut to in an exchange now; what a noisy sum is divided by. */
double eg_privacy_clip(const eg_privacy *p, size_t exchange);
double eg_privacy_cohort(const eg_privacy *p);

/* Counts a release of an exchange, on disk, then adds its noise to the values x [n]; short_ones
 * [1] is the sum of halves by which the clip adapts, NULL: it does not, which has noise of its
 * own, and moves the clip. */
eg_status eg_privacy_release(eg_privacy *p, int64_t round, size_t exchange, double *x, size_t n,
                             double *short_ones);

/* Spent so far; after one round more of n exchanges. */
double eg_privacy_epsilon(const eg_privacy *p);
double eg_privacy_epsilon_next(const eg_privacy *p, size_t n_exchanges);

/* Whether a client may contribute in a round; that it did, in training. All may, where they are
 * drawn; in a tree none too often, and to other exchanges those who were in training. */
bool eg_privacy_allows(const eg_privacy *p, int64_t client, int64_t round, size_t exchange);
void eg_privacy_note(eg_privacy *p, int64_t client, int64_t round);

#endif
