/* mean.h - weighted means of vectors, and means of bundles, added one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums are in double, element by element in the order of the calls, so that adding in client
 * order gives the same bits whoever finished first. The mean of one vector is that vector.
 * In the mean of bundles every entry is the mean over the bundles that have it, all with the
 * same weight.
 */
#ifndef EG_MEAN_H
#define EG_MEAN_H

#include <engram/exchange.h>

#include "base/base.h"

typedef struct eg_weighted_mean {
    size_t n;
    double *sum;   /* [n] */
    double weight; /* of all that was added */
} eg_weighted_mean;

eg_status eg_mean_init(eg_weighted_mean *m, size_t n);
void eg_mean_fini(eg_weighted_mean *m);
void eg_mean_reset(eg_weighted_mean *m); /* back to nothing added */

/* Adds weight times n values. EG_EINVAL: the weight is negative, NaN or infinite. */
eg_status eg_mean_add(eg_weighted_mean *m, const float *values, double weight);

/* The mean, n values. EG_EINVAL: nothing of a weight above 0 was added. */
eg_status eg_mean_get(const eg_weighted_mean *m, float *out);

typedef struct eg_bundle_mean_entry eg_bundle_mean_entry;

/* Zeros are one of nothing. */
typedef struct eg_bundle_mean {
    size_t n, cap;
    eg_bundle_mean_entry *entries; /* [n], in the order in which they were first met */
} eg_bundle_mean;

void eg_bundle_mean_fini(eg_bundle_mean *m);

/* Adds a bundle. EG_ESHAPE: an entry has another shape than in those before it, or is not of
 * floats; then nothing of the bundle is added. */
eg_status eg_bundle_mean_add(eg_bundle_mean *m, const eg_bundle *b);

/* Adds every entry's mean to a bundle. The mean of finite values is finite. */
eg_status eg_bundle_mean_get(const eg_bundle_mean *m, eg_bundle *to);

#endif
