/* fixed.h - numbers as whole ones of 32 bits, so that sums modulo 2^32 are exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of n summands each has 31 - ceil(log2 n) bits and a sign, so that no sum of n overflows. A
 * number within +-range is rounded to the nearest multiple of a step, half to even.
 */
#ifndef EG_FIXED_H
#define EG_FIXED_H

#include "base/base.h"

typedef struct eg_fixed {
    double step;
    int32_t most; /* the largest whole number of one summand */
} eg_fixed;

eg_fixed eg_fixed_of(double range, size_t n_summands);

/* Fills y [n]; *clipped counts those beyond the range, which become its end. EG_EINVAL: element
 * i is not finite. */
eg_status eg_fixed_put(eg_fixed f, const double *x, size_t n, uint32_t *y, uint64_t *clipped);

/* One sum, as the number it stands for. */
double eg_fixed_get(eg_fixed f, uint32_t sum);

#endif
