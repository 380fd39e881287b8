/* frechet.c - how far two clouds of points are apart, each taken as a normal distribution
 * (Dowson and Landau, 1982): |m - n|^2 + tr(A + B - 2 (A^1/2 B A^1/2)^1/2) for means m, n and
 * covariances A, B.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/lapack.h"
#include "world/metric/metric.h"

#include <math.h>
#include <stdlib.h>

/* Mean [dim] and covariance [dim, dim] of points [n, dim]. */
static void frechet_moments(const float *x, int64_t n, int64_t dim, double *mean, double *cov)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < dim; d++)
            mean[d] += (double)x[i * dim + d] / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < dim; d++)
            for (int64_t e = 0; e < dim; e++)
                cov[d * dim + e] += ((double)x[i * dim + d] - mean[d]) *
                                    ((double)x[i * dim + e] - mean[e]) / (double)(n - 1);
}

/* out = a b, all [dim, dim]. */
static void frechet_product(int64_t dim, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++) {
            double sum = 0;
            for (int64_t k = 0; k < dim; k++)
                sum += a[i * dim + k] * b[k * dim + j];
            out[i * dim + j] = sum;
        }
}

/* The root of a covariance, whose eigenvectors take its place; w [dim] is room. */
static eg_status frechet_root(int64_t dim, double *cov, double *w, double *out)
{
    EG_TRY(eg_matrix_eigen(dim, cov, w, true));
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++) {
            double sum = 0;
            for (int64_t k = 0; k < dim; k++)
                sum += cov[k * dim + i] * cov[k * dim + j] * sqrt(fmax(0, w[k]));
            out[i * dim + j] = sum;
        }
    return EG_OK;
}

/* tr (A^1/2 B A^1/2)^1/2 of two covariances; A is destroyed. room [3, dim, dim], w [dim] */
static eg_status frechet_cross(int64_t dim, double *cov_a, const double *cov_b, double *room,
                               double *w, double *out)
{
    double *root = room, *half = root + dim * dim, *whole = half + dim * dim;
    EG_TRY(frechet_root(dim, cov_a, w, root));
    frechet_product(dim, root, cov_b, half);
    frechet_product(dim, half, root, whole);
    EG_TRY(eg_matrix_eigen(dim, whole, w, false));
    *out = 0;
    for (int64_t d = 0; d < dim; d++)
        *out += sqrt(fmax(0, w[d]));
    return EG_OK;
}

eg_status eg_frechet(const float *a, int64_t n_a, const float *b, int64_t n_b, int64_t dim,
                     double *out)
{
    size_t square = (size_t)(dim * dim);
    double *room, cross;
    if (n_a < 2 || n_b < 2)
        return eg_fail(EG_EINVAL, "%lld and %lld points: a spread needs two of each",
                       (long long)n_a, (long long)n_b);
    EG_TRY(eg_alloc(3 * (size_t)dim + 5 * square, sizeof *room, &room));
    double *mean_a = room, *mean_b = mean_a + dim, *w = mean_b + dim, *cov_a = w + dim;
    double *cov_b = cov_a + square;
    frechet_moments(a, n_a, dim, mean_a, cov_a);
    frechet_moments(b, n_b, dim, mean_b, cov_b);
    double sum = 0;
    for (int64_t d = 0; d < dim; d++)
        sum += (mean_a[d] - mean_b[d]) * (mean_a[d] - mean_b[d]) + cov_a[d * dim + d] +
               cov_b[d * dim + d];
    eg_status s = frechet_cross(dim, cov_a, cov_b, cov_b + square, w, &cross);
    free(room);
    EG_TRY(s);
    *out = fmax(0, sum - 2 * cross); /* rounding may fall below */
    return EG_OK;
}
