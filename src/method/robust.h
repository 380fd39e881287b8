/* robust.h - means that a few wrong vectors cannot move far.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All vectors of a round must be there before the first value is known, so they wait in a file
 * without a name and are read block by block: memory stays flat whatever their number. Values
 * of one place are sorted, equal ones by the order in which they were added, so the bits are
 * those of client order. One thread at a time.
 *
 * Weights count in every rule: a vector of weight 2 counts like two equal ones of weight 1.
 *   median      the value with half of the weight on either side; between two, their mean
 *   trimmed     the mean of what is left when the share `trim` of the weight is cut off at
 *               either end; a vector across the cut counts with the rest of its weight
 *   norm-clip   the mean, once changes longer than `clip` are scaled down to it; 0: than the
 *               (weighted) median of the lengths
 * median and trimmed: Yin et al., 2018, arXiv:1803.01498; norm-clip: Sun et al., 2019,
 * arXiv:1911.07963.
 */
#ifndef EG_ROBUST_H
#define EG_ROBUST_H

#include "base/base.h"

/* Of "mean|median|trimmed|norm-clip"; the first is eg_weighted_mean's. */
typedef enum eg_mean_rule {
    EG_MEAN_PLAIN,
    EG_MEAN_MEDIAN,
    EG_MEAN_TRIMMED,
    EG_MEAN_NORM_CLIP
} eg_mean_rule;

typedef struct eg_robust_opts {
    int rule;    /* eg_mean_rule */
    double trim; /* below 0.5 */
    double clip;
} eg_robust_opts;

typedef struct eg_robust eg_robust;

/* For vectors of n values, which wait in `folder`. Free with eg_robust_free. */
eg_status eg_robust_new(const eg_robust_opts *opts, size_t n, const char *folder,
                        eg_robust **out);
void eg_robust_free(eg_robust *r);  /* NULL is fine */
void eg_robust_reset(eg_robust *r); /* back to nothing added */

/* Adds n finite values. The spare weights count if all weights are 0. EG_EINVAL: a weight is
 * negative, NaN or infinite. */
eg_status eg_robust_add(eg_robust *r, const float *values, double weight, double spare);

/* The mean by the rule; before [n]: from where norm-clip measures changes. EG_EINVAL: nothing
 * of a weight above 0 was added. */
eg_status eg_robust_get(eg_robust *r, const float *before, float *out);

#endif
