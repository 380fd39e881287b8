/* accountant_test.c - epsilons against published and closed forms, and laws they must keep.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/privacy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static eg_dp_spent spent_of(double q, double sigma, double rounds)
{
    eg_dp_spent s = {0};
    eg_dp_spend(&s, q, sigma, rounds);
    return s;
}

/* The conversion of Mironov (2017), by which older papers have their numbers. */
static double older_epsilon(const eg_dp_spent *s, double delta)
{
    double least = INFINITY;
    for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER; a++)
        least = fmin(least, s->rdp[a] + log(1 / delta) / (a - 1));
    return least;
}

static void test_known_numbers_come_out(void **state)
{
    (void)state;
    assert_near(eg_dp_epsilon_of(0.01, 1, 1000, 1e-5), 2.108, 5e-4);
    eg_dp_spent s = spent_of(0.01, 4, 10000);
    assert_near(older_epsilon(&s, 1e-5), 1.26, 5e-3); /* Abadi et al., 2016, Section 5 */
    assert_true(eg_dp_epsilon(&s, 1e-5, NULL) < older_epsilon(&s, 1e-5));
}

/* Order 2 by hand: ln((1-q)^2 + 2 q (1-q) + q^2 e^(1/sigma^2)). */
static void test_order_two_is_worked_by_hand(void **state)
{
    (void)state;
    eg_dp_spent s = spent_of(0.25, 2, 1);
    assert_near(s.rdp[2], log(0.5625 + 0.375 + 0.0625 * exp(0.25)), 1e-14);
}

static void test_without_sampling_it_is_the_closed_gaussian_form(void **state)
{
    (void)state;
    eg_dp_spent all = spent_of(1, 3, 7), nearly = spent_of(1 - 1e-12, 3, 7);
    for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER; a++) {
        assert_near(all.rdp[a], 7 * a / (2 * 9.0), 1e-12 * a);
        assert_near(nearly.rdp[a], all.rdp[a], 1e-6 * a);
    }
}

static void test_epsilon_is_monotone_in_every_argument(void **state)
{
    (void)state;
    const double base = eg_dp_epsilon_of(0.05, 1.5, 200, 1e-5);
    double f = 1.1;
    for (int i = 0; i < 9; i++, f *= 1.3) {
        assert_true(eg_dp_epsilon_of(0.05 * f, 1.5, 200, 1e-5) > base);
        assert_true(eg_dp_epsilon_of(0.05, 1.5 * f, 200, 1e-5) < base);
        assert_true(eg_dp_epsilon_of(0.05, 1.5, 200 * f, 1e-5) > base);
        assert_true(eg_dp_epsilon_of(0.05, 1.5, 200, 1e-5 * f) < base);
    }
    eg_dp_spent s = {0}; /* and never falls while it is spent */
    double last = 0;
    for (int i = 0; i < 50; i++, last = eg_dp_epsilon(&s, 1e-5, NULL)) {
        eg_dp_spend(&s, 0.05, 1.5, 1);
        assert_true(eg_dp_epsilon(&s, 1e-5, NULL) >= last);
    }
    eg_dp_spent at_once = spent_of(0.05, 1.5, 50);
    assert_near(last, eg_dp_epsilon(&at_once, 1e-5, NULL), 1e-9);
}

static void test_little_noise_does_not_overflow(void **state)
{
    (void)state;
    double epsilon = eg_dp_epsilon_of(0.01, 0.3, 1000, 1e-5);
    assert_true(isfinite(epsilon) && epsilon > 1000);
    assert_true(isfinite(eg_dp_epsilon_of(0.5, 0.01, 1e6, 1e-10)));
    assert_near(eg_dp_epsilon(&(eg_dp_spent){0}, 1e-5, NULL), 0, 0);
}

static void test_sigma_is_solved_for(void **state)
{
    (void)state;
    static const double epsilons[] = {0.1, 1, 2, 4, 8, 50};
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
        double sigma;
        assert_ok(eg_dp_sigma_for(0.05, epsilons[i], 300, 1e-5, &sigma));
        double got = eg_dp_epsilon_of(0.05, sigma, 300, 1e-5);
        assert_true(got <= epsilons[i]);
        assert_true(eg_dp_epsilon_of(0.05, sigma * (1 - 2e-5), 300, 1e-5) > epsilons[i]);
        char text[32]; /* as it is printed */
        snprintf(text, sizeof text, "%.6g", sigma);
        assert_true(eg_dp_epsilon_of(0.05, strtod(text, NULL), 300, 1e-5) <= epsilons[i]);
    }
    double sigma;
    assert_fails(eg_dp_sigma_for(0.05, 1e-6, 300, 1e-5, &sigma), EG_ENOTSUP, "no sigma");
}

static void test_what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    assert_ok(eg_dp_check(1, 0.1, 1, 0.5));
    assert_fails(eg_dp_check(1.5, 1, 1, 1e-5), EG_EINVAL, "up to 1, not 1.5");
    assert_fails(eg_dp_check(0, 1, 1, 1e-5), EG_EINVAL, "not 0");
    assert_fails(eg_dp_check(0.1, 0, 1, 1e-5), EG_EINVAL, "sigma must be above 0");
    assert_fails(eg_dp_check(0.1, NAN, 1, 1e-5), EG_EINVAL, "sigma must be above 0");
    assert_fails(eg_dp_check(0.1, 1, 0, 1e-5), EG_EINVAL, "at least one round");
    assert_fails(eg_dp_check(0.1, 1, 1, 1), EG_EINVAL, "delta must lie between 0 and 1");
}

/* A client that comes once is in one node of each level. Every round: in 2^l of each of the
 * nodes with 2^l leaves. */
static void test_what_a_client_has_in_a_tree_is_bounded(void **state)
{
    (void)state;
    assert_near(eg_dp_tree_squared(1, 1), 1, 0);
    assert_near(eg_dp_tree_squared(8, 8), 4, 0);
    assert_near(eg_dp_tree_squared(5, 5), 4, 0); /* levels of 1, 2, 4, 8 leaves */
    assert_near(eg_dp_tree_squared(8, 1), 8 * (1 + 2 + 4 + 8), 0);
    assert_near(eg_dp_tree_squared(8, 4), 2 * (1 + 1 + 1 + 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_numbers_come_out),
        cmocka_unit_test(test_order_two_is_worked_by_hand),
        cmocka_unit_test(test_without_sampling_it_is_the_closed_gaussian_form),
        cmocka_unit_test(test_epsilon_is_monotone_in_every_argument),
        cmocka_unit_test(test_little_noise_does_not_overflow),
        cmocka_unit_test(test_sigma_is_solved_for),
        cmocka_unit_test(test_what_makes_no_sense_is_refused),
        cmocka_unit_test(test_what_a_client_has_in_a_tree_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
