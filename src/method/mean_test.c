/* mean_test.c - weighted means, bit by bit; means of bundles with different entries.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/mean.h"

#include <float.h>

static void test_mean_of_one_vector_is_that_vector(void **state)
{
    (void)state;
    const float x[5] = {0.1f, -3.3333333f, 1e-40f, 3e38f, -0.0f};
    const double weights[] = {1, 3, 600, 0.1, 1e-9, 60000};
    eg_weighted_mean m;
    float out[5];
    assert_ok(eg_mean_init(&m, 5));
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        eg_mean_reset(&m);
        assert_ok(eg_mean_add(&m, x, weights[i]));
        assert_ok(eg_mean_get(&m, out));
        for (size_t k = 0; k < 5; k++)
            assert_true(out[k] == x[k]);
    }
    eg_mean_fini(&m);
}

static void test_mean_weighs_its_vectors(void **state)
{
    (void)state;
    eg_weighted_mean m;
    float out[2];
    assert_ok(eg_mean_init(&m, 2));
    assert_ok(eg_mean_add(&m, (const float[]){1, 8}, 1));
    assert_ok(eg_mean_add(&m, (const float[]){5, 0}, 3));
    assert_ok(eg_mean_get(&m, out));
    assert_true(out[0] == 4 && out[1] == 2);
    eg_mean_fini(&m);
}

static void test_mean_refuses_bad_weights(void **state)
{
    (void)state;
    eg_weighted_mean m;
    float x[1] = {1};
    assert_ok(eg_mean_init(&m, 1));
    assert_fails(eg_mean_get(&m, x), EG_EINVAL, "the mean of nothing");
    assert_fails(eg_mean_add(&m, x, -1), EG_EINVAL, "a weight of -1");
    assert_fails(eg_mean_add(&m, x, NAN), EG_EINVAL, "a weight of");
    assert_fails(eg_mean_add(&m, x, INFINITY), EG_EINVAL, "a weight of inf");
    assert_ok(eg_mean_add(&m, x, 0));
    assert_fails(eg_mean_get(&m, x), EG_EINVAL, "the mean of nothing");
    eg_mean_fini(&m);
}

static void add(eg_bundle_mean *m, const float *a, const float *b, double scalar)
{
    eg_bundle *from;
    assert_ok(eg_bundle_new(&from));
    if (a)
        assert_ok(eg_bundle_add(from, "a", eg_dims(1, 2), a));
    if (b)
        assert_ok(eg_bundle_add_flat(from, "b", b, 1));
    assert_ok(eg_bundle_scalar(from, "s", scalar));
    assert_ok(eg_bundle_mean_add(m, from));
    eg_bundle_free(from);
}

static void test_each_entry_is_the_mean_of_those_that_have_it(void **state)
{
    (void)state;
    eg_bundle_mean m = {0};
    eg_bundle *to;
    size_t n;
    double scalar;
    add(&m, (const float[]){1, 2}, NULL, 1);
    add(&m, (const float[]){3, 6}, (const float[]){5}, 2);
    add(&m, NULL, (const float[]){-1}, 6);
    assert_ok(eg_bundle_new(&to));
    assert_ok(eg_bundle_mean_get(&m, to));
    assert_int_equal(eg_bundle_n(to), 3);
    const float *a = eg_bundle_find(to, "a", &n);
    assert_true(n == 2 && a[0] == 2 && a[1] == 4);
    assert_true(*eg_bundle_find(to, "b", &n) == 2 && n == 1);
    assert_true(eg_bundle_scalar_of(to, "s", &scalar) && scalar == 3);
    eg_bundle_free(to);
    eg_bundle_mean_fini(&m);
}

static void test_the_mean_of_finite_values_is_finite(void **state)
{
    (void)state;
    static const double sets[][3] = {{1e308, 1.5e308, 1.25e308},
                                     {-1.5e308, -1.5e308, -1.5e308},
                                     {DBL_MAX, DBL_MAX, DBL_MAX},
                                     {1.5e308, 1.5e308, -1.5e308}};
    static const double means[] = {1.25e308, -1.5e308, DBL_MAX, 0.5e308};
    for (int i = 0; i < 4; i++) {
        eg_bundle_mean m = {0};
        eg_bundle *to;
        double scalar;
        for (int k = 0; k < 3; k++)
            add(&m, (const float[]){FLT_MAX, -FLT_MAX}, NULL, sets[i][k]);
        assert_ok(eg_bundle_new(&to));
        assert_ok(eg_bundle_mean_get(&m, to));
        assert_true(eg_bundle_scalar_of(to, "s", &scalar));
        assert_true(isfinite(scalar) && fabs(scalar / means[i] - 1) < 1e-15);
        assert_true(eg_bundle_find(to, "a", NULL)[0] == FLT_MAX);
        eg_bundle_free(to);
        eg_bundle_mean_fini(&m);
    }
}

static void test_a_bundle_of_another_shape_leaves_the_mean_as_it_is(void **state)
{
    (void)state;
    eg_bundle_mean m = {0};
    eg_bundle *odd, *to;
    double scalar;
    add(&m, (const float[]){1, 2}, NULL, 1);
    assert_ok(eg_bundle_new(&odd));
    assert_ok(eg_bundle_scalar(odd, "s", 100));
    assert_ok(eg_bundle_add_flat(odd, "a", (const float[]){7, 8}, 2));
    assert_fails(eg_bundle_mean_add(&m, odd), EG_ESHAPE, "'a' has another shape");
    eg_bundle_clear(odd);
    assert_ok(eg_bundle_scalar(odd, "a", 7));
    assert_fails(eg_bundle_mean_add(&m, odd), EG_ESHAPE, "'a' has another shape");
    assert_ok(eg_bundle_new(&to));
    assert_ok(eg_bundle_mean_get(&m, to));
    assert_true(eg_bundle_scalar_of(to, "s", &scalar) && scalar == 1);
    eg_bundle_free(odd);
    eg_bundle_free(to);
    eg_bundle_mean_fini(&m);
}

static void test_the_mean_of_nothing_is_empty(void **state)
{
    (void)state;
    eg_bundle_mean m = {0};
    eg_bundle *to;
    assert_ok(eg_bundle_new(&to));
    assert_ok(eg_bundle_mean_add(&m, to));
    assert_ok(eg_bundle_mean_get(&m, to));
    assert_int_equal(eg_bundle_n(to), 0);
    eg_bundle_free(to);
    eg_bundle_mean_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_of_one_vector_is_that_vector),
        cmocka_unit_test(test_mean_weighs_its_vectors),
        cmocka_unit_test(test_mean_refuses_bad_weights),
        cmocka_unit_test(test_each_entry_is_the_mean_of_those_that_have_it),
        cmocka_unit_test(test_the_mean_of_finite_values_is_finite),
        cmocka_unit_test(test_a_bundle_of_another_shape_leaves_the_mean_as_it_is),
        cmocka_unit_test(test_the_mean_of_nothing_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
