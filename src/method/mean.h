/* mean.h - the weighted mean of vectors, added one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums are in double, element by element in the order of the calls, so that adding in client
 * order gives the same bits whoever finished first. The mean of one vector is that vector.
 */
#ifndef EG_MEAN_H
#define EG_MEAN_H

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

#endif
