/* hidden.h - a client's answer as one vector of whole numbers, of which only a sum is told.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vector of an exchange has, with clients' weights, the weight, the loss, and for each of
 * the parts' tensors whether it is there; then how many values of each tensor were clipped to
 * their range; then the values. The model stands in it as its change times the weight over the
 * largest weight there can be. Under differential privacy nothing is there but values, all
 * scaled together to a length, and, where that length adapts, whether they had to be.
 */
#ifndef EG_HIDDEN_H
#define EG_HIDDEN_H

#include <engram/exchange.h>

#include "run/privacy/fixed.h"

/* What both sides agree on. */
typedef struct eg_hidden_spec {
    size_t n_summands;
    size_t n_params, n_state; /* of the model in training; 0: the exchange is another, or they
                                 are not told */
    const eg_bundle *sums;    /* of the parts (eg_parts_sums), borrowed */
    double range, statistics; /* the most a value, a statistic may be */
    double most_weight;       /* 1: all alike */
    bool is_private, adapts;
    double clip; /* of the private: the greatest length */
} eg_hidden_spec;

typedef struct eg_hidden_entry {
    const char *name; /* of sums; "param", "state" */
    eg_shape shape;
    size_t at, n; /* its values */
    eg_fixed fixed;
} eg_hidden_entry;

typedef struct eg_hidden {
    eg_hidden_spec is;
    size_t n_entries, n_model; /* entries of the model come first */
    eg_hidden_entry *entries;
    size_t length;
} eg_hidden;

/* EG_EINVAL: weights up to most_weight do not fit. */
eg_status eg_hidden_init(eg_hidden *h, const eg_hidden_spec *spec);
void eg_hidden_fini(eg_hidden *h); /* zeros are fine */

/* A client's answer `up` into y [length]. global, global_state: the model it was sent. weight:
 * its own. EG_EINVAL: a value is not finite, or its entry is none that was declared. */
typedef struct eg_hidden_of {
    const eg_bundle *up;
    const float *global, *global_state;
    double weight, loss;
} eg_hidden_of;
eg_status eg_hidden_put(const eg_hidden *h, const eg_hidden_of *of, uint32_t *y);

/* Sums as numbers, x [length]: counts as they are, values in their units. */
void eg_hidden_take(const eg_hidden *h, const uint32_t *sum, double *x);

/* What is in sums x. Of the private nothing is known of those in it: `by` divides all values.
 */
double eg_hidden_weight(const eg_hidden *h, const double *x);
double eg_hidden_loss(const eg_hidden *h, const double *x); /* the mean, weighted */
double eg_hidden_clipped(const eg_hidden *h, const double *x);
/* The mean change of the model onto param [n_params], state [n_state], which hold the last
 * ones; false: the weights are 0. by: 0, or what the sum is divided by in place of weights. */
bool eg_hidden_mean(const eg_hidden *h, const double *x, double by, float *param, float *state);
/* The mean of each tensor of the parts. */
eg_status eg_hidden_parts(const eg_hidden *h, const double *x, double by, eg_bundle *to);

/* Whether the values of one vector are no longer than the clip; of the private. */
bool eg_hidden_is_short(const eg_hidden *h, const uint32_t *y);
size_t eg_hidden_first_value(const eg_hidden *h);

#endif
