/* real.c - exp, log, pow, cos and sin of additions, products and divisions alone.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A value that needs more than a double is the unevaluated sum of two. Their arithmetic
 * (Dekker, 1971) is exact only while no product is fused with a sum: the build says
 * -ffp-contract=off.
 */
#include "base/real.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct real_pair {
    double hi, lo;
} real_pair;

/* a + b exactly. */
static real_pair real_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (real_pair){s, (a - (s - t)) + (b - t)};
}

/* The upper half of a number's bits. */
static double real_upper(double a)
{
    double t = 134217729.0 * a; /* 2^27 + 1 */
    return t - (t - a);
}

/* a b exactly. */
static real_pair real_product(double a, double b)
{
    double p = a * b, ah = real_upper(a), bh = real_upper(b), al = a - ah, bl = b - bh;
    return (real_pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static real_pair real_times(real_pair a, real_pair b)
{
    real_pair p = real_product(a.hi, b.hi);
    return real_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* ln 2 in two parts, the first of 32 bits, so that its whole multiples are exact. */
static const double REAL_LN2 = 0x1.62e42fee00000p-1, REAL_LN2_REST = 0x1.a39ef35793c76p-33;

/* c[0] + x (c[1] + x (... c[n - 1])). */
static double real_series(const double *c, int n, double x)
{
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = c[i] + x * sum;
    return sum;
}

/* e^(x.hi + x.lo) = 2^n e^r, r within half of ln 2: 1 + r + r^2 / 2 + r^3 (1/6 + ...), of which
 * the first three are pairs. */
static double real_exp(real_pair x)
{
    static const double c[] = {1.0 / 6,         1.0 / 24,         1.0 / 120,
                               1.0 / 720,       1.0 / 5040,       1.0 / 40320,
                               1.0 / 362880,    1.0 / 3628800,    1.0 / 39916800,
                               1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};
    if (!(x.hi < 710)) /* NaN too */
        return x.hi * HUGE_VAL;
    if (x.hi < -746)
        return 0;
    double n = floor(x.hi * 1.4426950408889634 + 0.5);
    real_pair small = real_sum(-n * REAL_LN2_REST, x.lo);
    real_pair r = real_sum(x.hi - n * REAL_LN2, small.hi);
    real_pair square = real_product(r.hi, r.hi);
    real_pair line = real_sum(1, r.hi), curve = real_sum(line.hi, square.hi / 2);
    double rest = (r.lo + small.lo) * (1 + r.hi) + square.lo / 2;
    double cubes = r.hi * square.hi * real_series(c, 12, r.hi);
    return ldexp(curve.hi + (curve.lo + line.lo + (rest + cubes)), (int)n);
}

double eg_real_exp(double x)
{
    return real_exp((real_pair){x, 0});
}

/* ln x for x > 0 and finite: k ln 2 + 2 artanh(s), s = (m - 1) / (m + 1), m = x / 2^k within
 * a factor of the root of 2 around 1. The first two terms are pairs. */
static real_pair real_log(double x)
{
    static const double c[] = {2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    static const real_pair two_thirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
    int k;
    double m = frexp(x, &k);
    if (m < 0.7071067811865476)
        m *= 2, k--;
    double f = m - 1;
    real_pair d = real_sum(m, 1);
    double s = f / d.hi;
    real_pair back = real_product(s, d.hi);
    real_pair quotient = {s, ((f - back.hi) - back.lo - s * d.lo) / d.hi};
    real_pair z = real_times(quotient, quotient);
    real_pair cube = real_times(real_times(quotient, z), two_thirds);
    double tail = s * z.hi * z.hi * real_series(c, 10, z.hi);
    real_pair sum = real_sum(k * REAL_LN2, 2 * quotient.hi);
    real_pair more = real_sum(sum.hi, cube.hi);
    double rest = sum.lo + more.lo + (k * REAL_LN2_REST + 2 * quotient.lo + cube.lo + tail);
    return real_sum(more.hi, rest);
}

double eg_real_log(double x)
{
    if (!(x > 0))
        return x == 0 ? -HUGE_VAL : NAN;
    return x < HUGE_VAL ? real_log(x).hi : x;
}

/* x^y for x > 0 and neither of them infinite. */
static double real_pow(double x, double y)
{
    real_pair l = real_log(x);
    if (!(fabs(y * l.hi) < 1000)) /* beyond any result, or NaN */
        return real_exp((real_pair){y * l.hi, 0});
    real_pair p = real_product(y, l.hi);
    return real_exp(real_sum(p.hi, p.lo + y * l.lo));
}

double eg_real_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (isinf(x) || isinf(y) || x == 0 || isnan(x) || isnan(y))
        return pow(x, y); /* exact, whatever the machine */
    if (x > 0)
        return real_pow(x, y);
    if (floor(y) != y)
        return NAN;
    double size = real_pow(-x, y);
    return fmod(y, 2) != 0 ? -size : size;
}

/* The angle less n quarter turns, at most half of one; *n counts them modulo 4. */
static real_pair real_reduce(double x, int *n)
{
    /* A quarter turn in three parts, the first two of 32 bits. */
    static const double quarter[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34,
                                     0x1.3198a2e037073p-69};
    if (fabs(x) > 1e6)
        x = fmod(x, 6.283185307179586);
    double q = floor(x * 0.6366197723675814 + 0.5);
    *n = (int)((int64_t)q & 3);
    real_pair a = real_sum(x - q * quarter[0], -q * quarter[1]);
    return real_sum(a.hi, a.lo - q * quarter[2]);
}

/* The sine or cosine of an angle of at most an eighth of a turn, more than a double. */
static double real_wave(real_pair r, bool sine)
{
    static const double s[] = {
        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,         -1.0 / 39916800,
        1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    static const double c[] = {
        1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
        1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
    static const real_pair sixth = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
    real_pair z = real_times(r, r);
    if (sine) {
        real_pair cube = real_times(real_times(r, z), sixth);
        real_pair line = real_sum(r.hi, cube.hi);
        double tail = r.hi * z.hi * z.hi * real_series(s, 7, z.hi);
        return line.hi + (line.lo + (r.lo + cube.lo + tail));
    }
    real_pair line = real_sum(1, -z.hi / 2);
    return line.hi + (line.lo + (z.hi * z.hi * real_series(c, 8, z.hi) - z.lo / 2));
}

double eg_real_cos(double x)
{
    if (!(fabs(x) < HUGE_VAL))
        return NAN;
    int n;
    real_pair r = real_reduce(x, &n);
    double wave = real_wave(r, n & 1);
    return n == 1 || n == 2 ? -wave : wave;
}

double eg_real_sin(double x)
{
    if (!(fabs(x) < HUGE_VAL))
        return NAN;
    int n;
    real_pair r = real_reduce(x, &n);
    double wave = real_wave(r, !(n & 1));
    return n >= 2 ? -wave : wave;
}
