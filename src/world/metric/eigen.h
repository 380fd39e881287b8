/* eigen.h - eigenvalues of small symmetric matrices.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_EIGEN_H
#define EG_EIGEN_H

#include <engram/base.h>

/* Brings the symmetric a [n, n] to a diagonal of its eigenvalues, in no order; row i of v
 * [n, n], unless it is NULL, becomes the eigenvector of a[i][i]. By Jacobi's rotations: n^3
 * operations a sweep and some ten sweeps, so that a LAPACK would be a dependency for
 * milliseconds. */
void eg_eigen(int64_t n, double *a, double *v);

#endif
