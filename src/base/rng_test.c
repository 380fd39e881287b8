/* rng_test.c - Philox against its published vectors, and the distributions against their laws.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/rng.h>
#include <math.h>

static void test_block_equals_the_published_vector(void **state)
{
    (void)state;
    uint32_t out[4]; /* Random123's known answers for philox4x32-10: counter 0, key 0 */
    eg_rng_block((const uint32_t[2]){0, 0}, 0, out);
    assert_int_equal(out[0], 0x6627e8d5u);
    assert_int_equal(out[1], 0xe169c58du);
    assert_int_equal(out[2], 0xbc57ac4cu);
    assert_int_equal(out[3], 0x9b00dbd8u);
}

static void test_streams_differ_by_each_part_of_the_key(void **state)
{
    (void)state;
    eg_rng a = eg_rng_at(1, 2, 3, EG_FOR_TEST), same = eg_rng_at(1, 2, 3, EG_FOR_TEST);
    eg_rng other[] = {eg_rng_at(2, 2, 3, EG_FOR_TEST), eg_rng_at(1, 3, 3, EG_FOR_TEST),
                      eg_rng_at(1, 2, 4, EG_FOR_TEST), eg_rng_at(1, 2, 3, EG_FOR_INIT),
                      eg_rng_at(1ull << 32, 2, 3, EG_FOR_TEST)};
    uint64_t x = eg_rng_u64(&a);
    assert_true(x == eg_rng_u64(&same));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_true(x != eg_rng_u64(&other[i]));
}

static void test_below_is_uniform(void **state)
{
    (void)state;
    eg_rng r = eg_rng_at(7, 0, 0, EG_FOR_TEST);
    enum { N = 70000, K = 7 };
    int count[K] = {0};
    for (int i = 0; i < N; i++)
        count[eg_rng_below(&r, K)]++;
    double chi2 = 0;
    for (int k = 0; k < K; k++)
        chi2 += pow(count[k] - N / (double)K, 2) / (N / (double)K);
    assert_true(chi2 < 22.5); /* 6 degrees of freedom, p = 0.001 */
}

static void test_normal_has_its_moments(void **state)
{
    (void)state;
    eg_rng r = eg_rng_at(7, 0, 1, EG_FOR_TEST);
    double m[5] = {0};
    enum { N = 200000 };
    for (int i = 0; i < N; i++) {
        double x = eg_rng_normal(&r);
        for (int k = 1; k <= 4; k++)
            m[k] += pow(x, k) / N;
    }
    assert_near(m[1], 0, 0.01);
    assert_near(m[2], 1, 0.02);
    assert_near(m[3], 0, 0.05);
    assert_near(m[4], 3, 0.1);
}

static void test_gamma_has_its_mean_and_variance(void **state)
{
    (void)state;
    const double shapes[] = {0.1, 0.3, 1, 2.5, 20};
    for (size_t s = 0; s < 5; s++) {
        eg_rng r = eg_rng_at(7, 0, (uint32_t)s, EG_FOR_TEST);
        double sum = 0, squares = 0;
        enum { N = 200000 };
        for (int i = 0; i < N; i++) {
            double x = eg_rng_gamma(&r, shapes[s]);
            sum += x / N;
            squares += x * x / N;
        }
        assert_near(sum, shapes[s], 0.02 * shapes[s]);
        assert_near(squares - sum * sum, shapes[s], 0.05 * shapes[s]);
    }
}

static void test_dirichlet_sums_to_one_even_when_tiny(void **state)
{
    (void)state;
    eg_rng r = eg_rng_at(7, 1, 0, EG_FOR_TEST);
    const double a[] = {1e-300, 1e-3, 0.3, 100};
    for (size_t k = 0; k < 4; k++) {
        double p[10], sum = 0;
        eg_rng_dirichlet(&r, a[k], 10, p);
        for (int i = 0; i < 10; i++)
            sum += p[i];
        assert_near(sum, 1, 1e-12);
    }
}

static void test_shuffle_keeps_every_item(void **state)
{
    (void)state;
    eg_rng r = eg_rng_at(7, 2, 0, EG_FOR_TEST);
    int64_t items[100], seen[100] = {0}, moved = 0;
    for (int i = 0; i < 100; i++)
        items[i] = i;
    eg_rng_shuffle(&r, 100, items);
    for (int i = 0; i < 100; i++) {
        seen[items[i]]++;
        moved += items[i] != i;
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_equals_the_published_vector),
        cmocka_unit_test(test_streams_differ_by_each_part_of_the_key),
        cmocka_unit_test(test_below_is_uniform),
        cmocka_unit_test(test_normal_has_its_moments),
        cmocka_unit_test(test_gamma_has_its_mean_and_variance),
        cmocka_unit_test(test_dirichlet_sums_to_one_even_when_tiny),
        cmocka_unit_test(test_shuffle_keeps_every_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
