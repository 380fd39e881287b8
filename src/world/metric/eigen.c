/* eigen.c - Jacobi's method: rotations that make one pair of entries zero after the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/eigen.h"

#include <math.h>
#include <string.h>

enum { EIGEN_SWEEPS = 60 };

/* Rows p and q of a matrix with n columns, turned: p' = c p - s q, q' = s p + c q. */
static void eigen_turn_rows(int64_t n, double *m, int64_t p, int64_t q, double c, double s)
{
    for (int64_t k = 0; k < n; k++) {
        double x = m[p * n + k], y = m[q * n + k];
        m[p * n + k] = c * x - s * y;
        m[q * n + k] = s * x + c * y;
    }
}

static void eigen_turn_columns(int64_t n, double *m, int64_t p, int64_t q, double c, double s)
{
    for (int64_t k = 0; k < n; k++) {
        double x = m[k * n + p], y = m[k * n + q];
        m[k * n + p] = c * x - s * y;
        m[k * n + q] = s * x + c * y;
    }
}

/* Makes a[p][q] zero: tan t of the angle solves t^2 + 2 t theta - 1 = 0, the smaller root. */
static void eigen_rotate(int64_t n, double *a, double *v, int64_t p, int64_t q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    eigen_turn_rows(n, a, p, q, c, s);
    eigen_turn_columns(n, a, p, q, c, s);
    if (v)
        eigen_turn_rows(n, v, p, q, c, s);
}

void eg_eigen(int64_t n, double *a, double *v)
{
    double total = 0;
    for (int64_t i = 0; i < n * n; i++)
        total += a[i] * a[i];
    if (v)
        memset(v, 0, (size_t)(n * n) * sizeof *v);
    for (int64_t i = 0; v && i < n; i++)
        v[i * n + i] = 1;
    for (int sweep = 0; sweep < EIGEN_SWEEPS; sweep++) {
        double off = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                off += a[p * n + q] * a[p * n + q];
        if (!(off > 1e-30 * total)) /* NaN ends it, too */
            return;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                if (a[p * n + q] != 0)
                    eigen_rotate(n, a, v, p, q);
    }
}
