/* ridge.h - least squares by sums that do not care how the rows were split or ordered.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For rows f [d] with labels y the sums are G = sum f f^T [d, d], Q = sum f onehot(y)^T [d, k]
 * and the labels' counts [k]. W = (G + gamma 1)^-1 Q minimises sum |onehot(y) - W^T f|^2 +
 * gamma |W|^2 over all rows whose sums were added, whoever had them and whenever.
 */
#ifndef EG_RIDGE_H
#define EG_RIDGE_H

#include <engram/client.h>

typedef struct eg_ridge {
    int64_t d, k;
    double *gram;  /* [d, d] */
    double *cross; /* [d, k] */
    float *counts; /* [k] */
} eg_ridge;

eg_status eg_ridge_init(eg_ridge *r, int64_t d, int64_t k); /* all 0 */
void eg_ridge_fini(eg_ridge *r);

/* Adds rows f [n, d] with labels [n], whole numbers below k. */
eg_status eg_ridge_rows(eg_ridge *r, const float *f, const float *labels, int64_t n);

/* Into a bundle, every name with a prefix ("afcl.gram"): G by its lower half, which has d (d +
 * 1) / 2 numbers. In single precision, to be sent; or exactly, each number as a sum of three.
 */
eg_status eg_ridge_put(const eg_ridge *r, const char *prefix, bool exactly, eg_bundle *to);

/* Judges what a client sent: the sizes, and that no entry of G and Q is larger than the
 * diagonal and the counts allow. EG_ENOENT, EG_ESHAPE, EG_EINVAL. */
eg_status eg_ridge_judge(const eg_ridge *r, const char *prefix, const eg_bundle *from);

/* Adds what eg_ridge_put made, in the same way. */
eg_status eg_ridge_add(eg_ridge *r, const char *prefix, bool exactly, const eg_bundle *from);

/* w [d, k] <- (G + gamma 1)^-1 Q. EG_EINVAL: G + gamma 1 is not positive definite. */
eg_status eg_ridge_solve(const eg_ridge *r, double gamma, double *w);

#endif
