/* lapack_test.c - decompositions put together again, and numbers worked out by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
/* size: matrices take three loops within those over cases. */
#include "test.h"

#include "io/lapack.h"

#include <engram/rng.h>

enum { MOST = 40 };

static void draw(uint64_t seed, int64_t n, double *out)
{
    eg_rng rng = eg_rng_at(seed, 0, 0, EG_FOR_TEST);
    for (int64_t i = 0; i < n; i++)
        out[i] = eg_rng_normal(&rng);
}

/* Entry [i, j] of a b, with n numbers between them, every stride given. */
static double entry(const double *a, int64_t row, const double *b, int64_t column, int64_t n,
                    int64_t step_a, int64_t step_b)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += a[row + k * step_a] * b[column + k * step_b];
    return sum;
}

static void test_products_are_sums_of_products(void **state)
{
    (void)state;
    enum { M = 3, N = 4, K = 5 };
    double a[M * K], b[K * N], c[M * N], was[M * N];
    draw(1, M * K, a);
    draw(2, K * N, b);
    draw(3, M * N, was);
    for (int form = 0; form < 4; form++) {
        bool ta = form & 1, tb = form & 2;
        memcpy(c, was, sizeof c);
        assert_ok(eg_matrix_product(&(eg_gemm){M, N, K, ta, tb, 2, -1}, a, b, c));
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                assert_near(
                    c[i * N + j],
                    2 * entry(a, ta ? i : i * K, b, tb ? j * K : j, K, ta ? M : 1, tb ? 1 : N) -
                        was[i * N + j],
                    1e-12);
    }
}

static void rebuild(int64_t m, int64_t n)
{
    static double a[MOST * MOST], was[MOST * MOST], s[MOST], u[MOST * MOST], vt[MOST * MOST];
    int64_t r = m < n ? m : n;
    draw((uint64_t)(m * 100 + n), m * n, was);
    memcpy(a, was, sizeof a);
    assert_ok(eg_matrix_svd(m, n, a, s, u, vt));
    for (int64_t k = 0; k < r; k++) {
        assert_true(s[k] > 0 && (k == 0 || s[k] <= s[k - 1]));
        for (int64_t l = 0; l < r; l++) {
            assert_near(entry(u, k, u, l, m, r, r), k == l, 1e-12);
            assert_near(entry(vt, k * n, vt, l * n, n, 1, 1), k == l, 1e-12);
        }
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < r; k++)
                sum += u[i * r + k] * s[k] * vt[k * n + j];
            assert_near(sum, was[i * n + j], 1e-12);
        }
}

static void test_singular_values_and_vectors_rebuild_the_matrix(void **state)
{
    (void)state;
    rebuild(7, 4);
    rebuild(4, 7);
    rebuild(1, 1);
    rebuild(MOST, MOST);
    /* |(3, 4)| = 5, along (0.6, 0.8) */
    double a[] = {3, 4}, s[1], u[1], vt[2];
    assert_ok(eg_matrix_svd(1, 2, a, s, u, vt));
    assert_near(s[0], 5, 1e-14);
    assert_near(u[0] * vt[0], 0.6, 1e-14);
    assert_near(u[0] * vt[1], 0.8, 1e-14);
}

/* What q spans the columns were in: projecting them on it changes nothing. */
static void test_a_basis_is_orthogonal_and_spans_the_columns(void **state)
{
    (void)state;
    enum { M = 9, N = 5 };
    double a[M * N], q[M * N];
    draw(5, M * N, a);
    memcpy(q, a, sizeof q);
    assert_ok(eg_matrix_qr(M, N, q));
    for (int k = 0; k < N; k++)
        for (int l = 0; l < N; l++)
            assert_near(entry(q, k, q, l, M, N, N), k == l, 1e-12);
    for (int j = 0; j < N; j++) {
        double along[N];
        for (int k = 0; k < N; k++)
            along[k] = entry(q, k, a, j, M, N, N);
        for (int i = 0; i < M; i++) {
            assert_near(entry(q, i * N, along, 0, N, 1, 1), a[i * N + j], 1e-12);
        }
    }
}

static void test_a_solution_gives_the_right_side_back(void **state)
{
    (void)state;
    enum { N = 6, K = 3 };
    double half[N * N], a[N * N], b[N * K], x[N * K], gone[N * N];
    draw(6, N * N, half);
    draw(7, N * K, b);
    for (int i = 0; i < N; i++) /* half half^T + 1 is positive definite */
        for (int j = 0; j < N; j++)
            a[i * N + j] = entry(half, i * N, half, j * N, N, 1, 1) + (i == j);
    memcpy(gone, a, sizeof a);
    memcpy(x, b, sizeof b);
    assert_ok(eg_matrix_solve(N, gone, K, x));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < K; j++)
            assert_near(entry(a, i * N, x, j, N, 1, K), b[i * K + j], 1e-12);
}

static void test_eigenvalues_and_vectors_rebuild_the_matrix(void **state)
{
    (void)state;
    enum { N = 12 };
    double a[N * N], v[N * N], w[N], alone[N];
    draw(8, N * N, a);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            a[j * N + i] = a[i * N + j];
    memcpy(v, a, sizeof a);
    assert_ok(eg_matrix_eigen(N, v, w, true));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += v[k * N + i] * w[k] * v[k * N + j];
            assert_near(sum, a[i * N + j], 1e-12);
            assert_near(entry(v, i * N, v, j * N, N, 1, 1), i == j, 1e-12);
        }
    memcpy(v, a, sizeof a);
    assert_ok(eg_matrix_eigen(N, v, alone, false));
    for (int i = 0; i < N; i++) {
        assert_near(alone[i], w[i], 1e-12);
        assert_true(i == 0 || w[i] >= w[i - 1]);
    }
    /* [[2, 1], [1, 2]] has 1 along (1, -1) and 3 along (1, 1) */
    double two[] = {2, 1, 1, 2}, values[2];
    assert_ok(eg_matrix_eigen(2, two, values, true));
    assert_near(values[0], 1, 1e-14);
    assert_near(values[1], 3, 1e-14);
    assert_near(two[0] * two[1], -0.5, 1e-14);
    assert_near(two[2] * two[3], 0.5, 1e-14);
}

static void test_what_has_no_result_is_said(void **state)
{
    (void)state;
    double nan[] = {1, 2, NAN, 3}, much[] = {1, INFINITY, 1, 1}, s[2], u[4], vt[4];
    double flat[] = {1, 0, 0, -1}, b[] = {1, 1};
    assert_fails(eg_matrix_svd(2, 2, nan, s, u, vt), EG_EINVAL,
                 "singular values: entry [1, 0] is NaN");
    assert_fails(eg_matrix_eigen(2, much, s, true), EG_EINVAL, "entry [0, 1] is infinite");
    assert_fails(eg_matrix_qr(1, 2, flat), EG_EINVAL, "2 columns of 1 numbers");
    assert_fails(eg_matrix_qr(2, 0, flat), EG_EINVAL, "a matrix of 2 by 0");
    assert_fails(eg_matrix_solve(2, flat, 1, b), EG_EINVAL,
                 "the matrix is not positive definite (row 2 of 2)");
    assert_fails(eg_matrix_product(&(eg_gemm){1, 1, 2, false, false, 1, 0}, nan + 1, b, s),
                 EG_EINVAL, "a product: entry [0, 1] is NaN");
    assert_fails(eg_matrix_svd((int64_t)1 << 31, 1, flat, s, u, vt), EG_EINVAL,
                 "2147483648 by 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_sums_of_products),
        cmocka_unit_test(test_singular_values_and_vectors_rebuild_the_matrix),
        cmocka_unit_test(test_a_basis_is_orthogonal_and_spans_the_columns),
        cmocka_unit_test(test_a_solution_gives_the_right_side_back),
        cmocka_unit_test(test_eigenvalues_and_vectors_rebuild_the_matrix),
        cmocka_unit_test(test_what_has_no_result_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
