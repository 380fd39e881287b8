/* statistics.h - whether a difference over seeds is more than chance.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_STATISTICS_H
#define EG_REPORT_STATISTICS_H

#include <stddef.h>

/* The probability that Student's t with so many degrees of freedom (1 or more) is as far from 0
 * as t or farther. */
double eg_student_p(double t, double degrees);

/* The same of a fair coin: so many heads and so many tails, or more of either. */
double eg_sign_p(size_t heads, size_t tails);

enum { EG_PAIRS_FOR_T = 5 }; /* fewer pairs are judged by their signs alone */

/* The differences of n pairs: their mean, sample standard deviation (NaN for n < 2) and the
 * probability of such a mean, or of a larger one, if there were no difference: by the paired t
 * test, or with fewer than EG_PAIRS_FOR_T pairs by the exact sign test, in which pairs that do
 * not differ do not count. NaN for n < 2. */
typedef struct eg_paired {
    double mean, sd, p;
    size_t n;
} eg_paired;
eg_paired eg_paired_of(const double *differences, size_t n);

#endif
