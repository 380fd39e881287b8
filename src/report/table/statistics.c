/* statistics.c - Student's t, the sign test, and differences of pairs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table/statistics.h"
#include "report/runs/group.h"

#include <math.h>

/* The continued fraction of the incomplete beta function, term by term (the method of Lentz);
 * it converges fast where x < (a + 1) / (a + b + 2). */
static double statistics_fraction(double a, double b, double x)
{
    enum { STATISTICS_TERMS = 300 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int i = 1; i <= STATISTICS_TERMS; i++) {
        double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double step[] = {even, odd};
        double last = f;
        for (int k = 0; k < 2; k++) {
            d = 1 + step[k] * d, c = 1 + step[k] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d), c = fabs(c) < tiny ? tiny : c;
            f *= c * d;
        }
        if (fabs(f - last) <= 1e-16 * fabs(f))
            break;
    }
    return f;
}

/* The regularised incomplete beta function I_x(a, b). */
static double statistics_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * statistics_fraction(a, b, x) / a
                                     : 1 - front * statistics_fraction(b, a, 1 - x) / b;
}

double eg_student_p(double t, double degrees)
{
    return isinf(t) ? 0 : statistics_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double eg_sign_p(size_t heads, size_t tails)
{
    size_t n = heads + tails, fewer = heads < tails ? heads : tails;
    double ways = 1, sum = 0; /* ways to choose k of n */
    for (size_t k = 0; k <= fewer; k++) {
        sum += ways;
        ways *= (double)(n - k) / (double)(k + 1);
    }
    return fmin(1, 2 * sum * pow(0.5, (double)n));
}

static double statistics_p(const double *x, size_t n, eg_spread s)
{
    size_t more = 0, less = 0;
    if (n < 2)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        more += x[i] > 0;
        less += x[i] < 0;
    }
    if (more + less == 0)
        return 1;
    return n < EG_PAIRS_FOR_T
               ? eg_sign_p(more, less)
               : eg_student_p(s.mean / (s.sd / sqrt((double)n)), (double)(n - 1));
}

eg_paired eg_paired_of(const double *differences, size_t n)
{
    eg_spread s = eg_spread_of(differences, n);
    return (eg_paired){
        .mean = s.mean, .sd = s.sd, .p = statistics_p(differences, n, s), .n = n};
}
