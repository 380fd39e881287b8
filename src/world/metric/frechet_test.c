/* frechet_test.c - distances worked out by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/metric.h>
#include <engram/rng.h>

/* Along axes the distance is |m - n|^2 + sum of (s - t)^2 over the deviations s and t. */
static void test_distances_along_axes_are_those_of_means_and_deviations(void **state)
{
    (void)state;
    /* The variance of {-1, 1} is 2. The first cloud is twice as wide along one axis. */
    const float a[] = {-2, -1, -2, 1, 2, -1, 2, 1}, b[] = {2, 4, 2, 6, 4, 4, 4, 6};
    double distance, s = sqrt(4.0 / 3);
    assert_ok(eg_frechet(a, 4, b, 4, 2, &distance));
    assert_near(distance, 9 + 25 + (2 * s - s) * (2 * s - s), 1e-12);
    assert_ok(eg_frechet(a, 4, a, 4, 2, &distance));
    assert_near(distance, 0, 1e-12);
    assert_fails(eg_frechet(a, 1, b, 4, 2, &distance), EG_EINVAL, "1 and 4 points");
}

/* Turning both clouds alike changes nothing. */
static void test_a_distance_does_not_depend_on_the_axes(void **state)
{
    (void)state;
    enum { N = 50 };
    static float x[2][N * 3], y[2][N * 3];
    const double c = cos(0.7), s = sin(0.7);
    eg_rng rng = eg_rng_at(2, 0, 0, EG_FOR_TEST);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++) {
            double p[3];
            for (int d = 0; d < 3; d++)
                p[d] = eg_rng_normal(&rng) * (1 + k + d) + k;
            double turned[3] = {c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]};
            for (int d = 0; d < 3; d++)
                x[k][i * 3 + d] = (float)p[d], y[k][i * 3 + d] = (float)turned[d];
        }
    double one, two;
    assert_ok(eg_frechet(x[0], N, x[1], N, 3, &one));
    assert_ok(eg_frechet(y[0], N, y[1], N, 3, &two));
    assert_true(one > 1);
    assert_near(one, two, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances_along_axes_are_those_of_means_and_deviations),
        cmocka_unit_test(test_a_distance_does_not_depend_on_the_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
