/* accountant.c - what differential privacy costs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One release by the sampled Gaussian mechanism has, at a whole order a, the divergence
 * 1/(a-1) ln sum over k of C(a,k) (1-q)^(a-k) q^k exp((k^2-k)/(2 sigma^2)) (Mironov, Talwar,
 * Zhang, 2019, Section 3.3). Releases add up. From rdp(a) follows
 * epsilon = rdp + ln(1-1/a) - (ln delta + ln a)/(a-1) (Canonne, Kamath, Steinke, 2020,
 * Proposition 12), the least over all orders.
 */
#include <engram/privacy.h>

#include "base/base.h"

#include <math.h>

/* ln(e^x + e^y), where either may be minus infinity. */
static double accountant_ln_add(double x, double y)
{
    double high = fmax(x, y), low = fmin(x, y);
    return isinf(low) ? high : high + log1p(exp(low - high));
}

/* The sum is in logarithms, so that no sigma is too small for it. */
static double accountant_sampled(double q, double sigma, int order)
{
    double ln_sum = -INFINITY, ln_choose = 0, ln_q = log(q), ln_rest = log1p(-q);
    for (int k = 0; k <= order; k++) {
        double term = ln_choose + (order - k) * ln_rest + k * ln_q +
                      ((double)k * k - k) / (2 * sigma * sigma);
        ln_sum = accountant_ln_add(ln_sum, term);
        ln_choose += log((double)(order - k)) - log(k + 1.0);
    }
    return fmax(ln_sum, 0) / (order - 1); /* rounding may bring a sum of 1 below it */
}

void eg_dp_spend(eg_dp_spent *s, double q, double sigma, double rounds)
{
    if (q >= 1) { /* all take part: no sum is needed, and (1-q)^0 would be no number */
        eg_dp_spend_gaussian(s, rounds, sigma);
        return;
    }
    for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER && q > 0; a++)
        s->rdp[a] += rounds * accountant_sampled(q, sigma, a);
}

void eg_dp_spend_gaussian(eg_dp_spent *s, double squared, double sigma)
{
    for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER; a++)
        s->rdp[a] += a * squared / (2 * sigma * sigma);
}

double eg_dp_epsilon(const eg_dp_spent *s, double delta, int *order)
{
    double least = INFINITY;
    if (order)
        *order = EG_DP_MAX_ORDER;
    if (!(s->rdp[EG_DP_MAX_ORDER] > 0)) /* divergence grows with the order: nothing is spent */
        return 0;
    for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER; a++) {
        double epsilon = s->rdp[a] + log1p(-1.0 / a) - (log(delta) + log(a)) / (a - 1);
        if (epsilon < least && order)
            *order = a;
        least = fmin(least, epsilon);
    }
    return fmax(least, 0);
}

double eg_dp_epsilon_of(double q, double sigma, double rounds, double delta)
{
    eg_dp_spent s = {0};
    eg_dp_spend(&s, q, sigma, rounds);
    return eg_dp_epsilon(&s, delta, NULL);
}

eg_status eg_dp_check(double q, double sigma, double rounds, double delta)
{
    if (!(q > 0 && q <= 1))
        return eg_fail(EG_EINVAL,
                       "q is the chance that a client takes part, above 0 and up to "
                       "1, not %g",
                       q);
    if (!(sigma > 0 && isfinite(sigma)))
        return eg_fail(EG_EINVAL, "sigma must be above 0, not %g", sigma);
    if (!(rounds >= 1 && isfinite(rounds)))
        return eg_fail(EG_EINVAL, "there must be at least one round, not %g", rounds);
    if (!(delta > 0 && delta < 1))
        return eg_fail(EG_EINVAL, "delta must lie between 0 and 1, not at %g", delta);
    return EG_OK;
}

eg_status eg_dp_sigma_for(double q, double epsilon, double rounds, double delta, double *out)
{
    double low = 0.01, high = 1e6;
    *out = 0;
    EG_TRY(eg_dp_check(q, 1, rounds, delta));
    if (!(epsilon > 0 && isfinite(epsilon)))
        return eg_fail(EG_EINVAL, "epsilon must be above 0, not %g", epsilon);
    if (eg_dp_epsilon_of(q, high, rounds, delta) > epsilon)
        return eg_fail(EG_ENOTSUP,
                       "no sigma gives epsilon %g: the orders up to %d allow no less than %.3g "
                       "at delta %g",
                       epsilon, EG_DP_MAX_ORDER, eg_dp_epsilon_of(q, high, rounds, delta),
                       delta);
    while (high > low * (1 + 1e-7)) {
        double middle = sqrt(low * high);
        if (eg_dp_epsilon_of(q, middle, rounds, delta) > epsilon)
            low = middle;
        else
            high = middle;
    }
    double unit = pow(10, floor(log10(high)) - 5); /* six digits, up: a printed sigma holds */
    *out = ceil(high / unit) * unit;
    return EG_OK;
}

/* On a level whose nodes have 2^l leaves a client is in a node at most ceil(2^l / separation)
 * times, and at most ceil(rounds / separation) times in all: the squares add up to no more than
 * the product. */
double eg_dp_tree_squared(int64_t rounds, int64_t separation)
{
    double squared = 0, times = ceil((double)rounds / (double)separation);
    for (int64_t leaves = 1;; leaves *= 2) {
        squared += times * fmin(times, ceil((double)leaves / (double)separation));
        if (leaves >= rounds)
            return squared;
    }
}
