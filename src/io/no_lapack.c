/* no_lapack.c - a static program, which opens no libraries.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/lapack.h"

static eg_status no_lapack(const char *what)
{
    return eg_fail(EG_ENOTSUP,
                   "%s takes LAPACK, which a static program lacks: `engram join` has it", what);
}

eg_status eg_matrix_product(const eg_gemm *how, const double *a, const double *b, double *c)
{
    (void)how, (void)a, (void)b, (void)c;
    return no_lapack("a product of matrices");
}

eg_status eg_matrix_svd(int64_t m, int64_t n, double *a, double *s, double *u, double *vt)
{
    (void)m, (void)n, (void)a, (void)s, (void)u, (void)vt;
    return no_lapack("a singular value decomposition");
}

eg_status eg_matrix_qr(int64_t m, int64_t n, double *a)
{
    (void)m, (void)n, (void)a;
    return no_lapack("an orthogonal basis");
}

eg_status eg_matrix_solve(int64_t n, double *a, int64_t k, double *b)
{
    (void)n, (void)a, (void)k, (void)b;
    return no_lapack("a system of equations");
}

eg_status eg_matrix_eigen(int64_t n, double *a, double *w, bool vectors)
{
    (void)n, (void)a, (void)w, (void)vectors;
    return no_lapack("a decomposition by eigenvalues");
}
