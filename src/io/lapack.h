/* lapack.h - matrices in double precision: products, decompositions, solutions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every matrix is row-major and dense. All of it runs on the calling thread, and any number of
 * threads may call at once. The same numbers give the same bits on the same kind of processor.
 *
 * EG_EINVAL: a size is below 1 or beyond what LAPACK can count, or a number is NaN or infinite.
 * EG_ENOMEM: LAPACK found no room. EG_ENOTSUP: the machine has none. What a call destroys holds
 * nothing of use after a failure.
 */
#ifndef EG_LAPACK_H
#define EG_LAPACK_H

#include <engram/base.h>

/* c [m, n] <- alpha a b + beta c. a is [m, k], or [k, m] if ta; b is [k, n], or [n, k] if tb.
 */
typedef struct eg_gemm {
    int64_t m, n, k;
    bool ta, tb;
    double alpha, beta;
} eg_gemm;
eg_status eg_matrix_product(const eg_gemm *how, const double *a, const double *b, double *c);

/* a [m, n] = u diag(s) vt with s falling: s [r], u [m, r], vt [r, n], r the smaller of m and n.
 * Destroys a. */
eg_status eg_matrix_svd(int64_t m, int64_t n, double *a, double *s, double *u, double *vt);

/* a [m, n], m >= n, becomes q: columns of length 1 at right angles that span what a's did. */
eg_status eg_matrix_qr(int64_t m, int64_t n, double *a);

/* b [n, k] <- the x of a x = b for a symmetric, positive definite a [n, n], which is destroyed.
 * EG_EINVAL too if a is not positive definite. */
eg_status eg_matrix_solve(int64_t n, double *a, int64_t k, double *b);

/* The eigenvalues of the symmetric a [n, n], rising, into w [n]. With vectors, row i of a
 * becomes the eigenvector of w[i]; else a is destroyed. */
eg_status eg_matrix_eigen(int64_t n, double *a, double *w, bool vectors);

#endif
