/* lapack.c - LAPACKE, with OpenBLAS behind it, on the calling thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library is opened when it is first asked for. OpenBLAS starts a thread as soon as it is
 * loaded: at the program's start nobody could have told that thread to leave signals alone, and
 * every run, whatever its method, would load 30 MB.
 */
#include "io/lapack.h"

#include <cblas.h>
#include <lapacke.h>

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char lapack_file[] = "liblapacke.so.3";

typedef void (*lapack_threads)(int);
typedef void (*lapack_gemm)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int,
                            double, const double *, int, const double *, int, double, double *,
                            int);
typedef lapack_int (*lapack_gesdd)(int, char, lapack_int, lapack_int, double *, lapack_int,
                                   double *, double *, lapack_int, double *, lapack_int);
typedef lapack_int (*lapack_geqrf)(int, lapack_int, lapack_int, double *, lapack_int, double *);
typedef lapack_int (*lapack_orgqr)(int, lapack_int, lapack_int, lapack_int, double *,
                                   lapack_int, const double *);
typedef lapack_int (*lapack_posv)(int, char, lapack_int, lapack_int, double *, lapack_int,
                                  double *, lapack_int);
typedef lapack_int (*lapack_syevd)(int, char, char, lapack_int, double *, lapack_int, double *);

/* What is called of it, once it is open. */
static struct lapack_calls {
    lapack_gemm gemm;
    lapack_gesdd gesdd;
    lapack_geqrf geqrf;
    lapack_orgqr orgqr;
    lapack_posv posv;
    lapack_syevd syevd;
    bool there; /* all of them */
} lapack;

static pthread_once_t lapack_once = PTHREAD_ONCE_INIT;

/* Puts a symbol's address where a pointer to a function is; false: there is none. */
static bool lapack_find(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void lapack_open(void)
{
    lapack_threads threads;
    void *library = dlopen(lapack_file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    lapack.there = lapack_find(library, "cblas_dgemm", &lapack.gemm) &&
                   lapack_find(library, "LAPACKE_dgesdd", &lapack.gesdd) &&
                   lapack_find(library, "LAPACKE_dgeqrf", &lapack.geqrf) &&
                   lapack_find(library, "LAPACKE_dorgqr", &lapack.orgqr) &&
                   lapack_find(library, "LAPACKE_dposv", &lapack.posv) &&
                   lapack_find(library, "LAPACKE_dsyevd", &lapack.syevd);
    /* OpenBLAS would share a product among all cores, which the run's own workers have. Other
     * libraries of these names do not have the call. */
    if (lapack_find(library, "openblas_set_num_threads", &threads))
        threads(1);
}

/* Whether a matrix [m, n] can be counted in ints and has only finite entries. */
static eg_status lapack_takes(const char *what, int64_t m, int64_t n, const double *a)
{
    pthread_once(&lapack_once, lapack_open);
    if (!lapack.there)
        return eg_fail(EG_ENOTSUP, "%s: %s is not there; Debian has it in liblapacke", what,
                       lapack_file);
    if (m < 1 || n < 1 || m > INT_MAX || n > INT_MAX)
        return eg_fail(EG_EINVAL, "%s: a matrix of %lld by %lld", what, (long long)m,
                       (long long)n);
    for (int64_t i = 0; i < m * n; i++)
        if (!isfinite(a[i]))
            return eg_fail(EG_EINVAL, "%s: entry [%lld, %lld] is %s", what, (long long)(i / n),
                           (long long)(i % n), isnan(a[i]) ? "NaN" : "infinite");
    return EG_OK;
}

/* What LAPACKE returned. Arguments are right by now, so that it found no room, or no end. */
static eg_status lapack_status(const char *what, lapack_int info)
{
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR)
        return eg_fail(EG_ENOMEM, "%s: no room", what);
    return info == 0 ? EG_OK : eg_fail(EG_EINVAL, "%s: no result (%d)", what, (int)info);
}

eg_status eg_matrix_product(const eg_gemm *how, const double *a, const double *b, double *c)
{
    const int m = (int)how->m, n = (int)how->n, k = (int)how->k;
    EG_TRY(lapack_takes("a product", how->ta ? how->k : how->m, how->ta ? how->m : how->k, a));
    EG_TRY(lapack_takes("a product", how->tb ? how->n : how->k, how->tb ? how->k : how->n, b));
    if (how->beta != 0)
        EG_TRY(lapack_takes("a product", how->m, how->n, c));
    lapack.gemm(CblasRowMajor, how->ta ? CblasTrans : CblasNoTrans,
                how->tb ? CblasTrans : CblasNoTrans, m, n, k, how->alpha, a, how->ta ? m : k, b,
                how->tb ? k : n, how->beta, c, n);
    return EG_OK;
}

/* Column by column a is its transpose, vt^T s u^T, so that nothing must be turned. */
eg_status eg_matrix_svd(int64_t m, int64_t n, double *a, double *s, double *u, double *vt)
{
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n;
    const lapack_int rank = rows < columns ? rows : columns;
    EG_TRY(lapack_takes("singular values", m, n, a));
    return lapack_status("singular values", lapack.gesdd(LAPACK_COL_MAJOR, 'S', columns, rows,
                                                         a, columns, s, vt, columns, u, rank));
}

eg_status eg_matrix_qr(int64_t m, int64_t n, double *a)
{
    const char *what = "an orthogonal basis";
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n;
    double *tau; /* [n] */
    if (m < n)
        return eg_fail(EG_EINVAL, "%s: %lld columns of %lld numbers", what, (long long)n,
                       (long long)m);
    EG_TRY(lapack_takes(what, m, n, a));
    EG_TRY(eg_alloc((size_t)n, sizeof *tau, &tau));
    lapack_int info = lapack.geqrf(LAPACK_ROW_MAJOR, rows, columns, a, columns, tau);
    if (info == 0)
        info = lapack.orgqr(LAPACK_ROW_MAJOR, rows, columns, columns, a, columns, tau);
    free(tau);
    return lapack_status(what, info);
}

eg_status eg_matrix_solve(int64_t n, double *a, int64_t k, double *b)
{
    const char *what = "a linear system";
    const lapack_int size = (lapack_int)n, columns = (lapack_int)k;
    EG_TRY(lapack_takes(what, n, n, a));
    EG_TRY(lapack_takes(what, n, k, b));
    lapack_int info = lapack.posv(LAPACK_ROW_MAJOR, 'L', size, columns, a, size, b, columns);
    if (info > 0)
        return eg_fail(EG_EINVAL, "%s: the matrix is not positive definite (row %d of %d)",
                       what, (int)info, (int)size);
    return lapack_status(what, info);
}

/* The matrix is its own transpose; its vectors, columns to LAPACK, are our rows. */
eg_status eg_matrix_eigen(int64_t n, double *a, double *w, bool vectors)
{
    const lapack_int size = (lapack_int)n;
    EG_TRY(lapack_takes("eigenvalues", n, n, a));
    return lapack_status("eigenvalues", lapack.syevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'L',
                                                     size, a, size, w));
}
