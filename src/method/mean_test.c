/* mean_test.c - weighted means, bit by bit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/mean.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_of_one_vector_is_that_vector),
        cmocka_unit_test(test_mean_weighs_its_vectors),
        cmocka_unit_test(test_mean_refuses_bad_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
