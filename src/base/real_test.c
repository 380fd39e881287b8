/* real_test.c - functions of one's own against the long double ones of the C library.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/real.h"

#include "test.h"

#include <engram/rng.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

/* How far x is from what it should be, in units of the last place of that. */
static double gap(double x, long double want)
{
    double near = (double)want;
    double unit = nextafter(fabs(near), HUGE_VAL) - fabs(near);
    return (double)(fabsl((long double)x - want) / (long double)unit);
}

static double worst(double a, double b)
{
    return a > b ? a : b;
}

static eg_rng draws(void)
{
    return eg_rng_at(7, 0, 0, EG_FOR_DATA);
}

enum { TRIES = 200000 };

static void test_exponentials_are_within_a_unit(void **state)
{
    (void)state;
    double most = 0;
    eg_rng r = draws();
    for (int i = 0; i < TRIES; i++) {
        double x = eg_rng_uniform(&r, -700, 700), small = eg_rng_uniform(&r, -1, 1);
        most = worst(most, gap(eg_real_exp(x), expl((long double)x)));
        most = worst(most, gap(eg_real_exp(small), expl((long double)small)));
    }
    print_message("exp: %.3f\n", most);
    assert_true(most < 0.6);
}

static void test_logarithms_are_within_a_unit(void **state)
{
    (void)state;
    double most = 0;
    eg_rng r = draws();
    for (int i = 0; i < TRIES; i++) {
        double u = 1 - eg_rng_unit(&r), near = eg_rng_uniform(&r, 0.9, 1.1);
        double any = ldexp(near, (int)eg_rng_below(&r, 2000) - 1000);
        most = worst(most, gap(eg_real_log(u), logl((long double)u)));
        most = worst(most, gap(eg_real_log(near), logl((long double)near)));
        most = worst(most, gap(eg_real_log(any), logl((long double)any)));
    }
    print_message("log: %.3f\n", most);
    assert_true(most < 0.6);
}

static void test_powers_are_within_a_unit(void **state)
{
    (void)state;
    double most = 0;
    eg_rng r = draws();
    for (int i = 0; i < TRIES; i++) {
        double u = 1 - eg_rng_unit(&r), a = eg_rng_uniform(&r, -100, 100);
        double t = (double)(1 + eg_rng_below(&r, 5000));
        if (fabs(a * log(u)) < 700)
            most = worst(most, gap(eg_real_pow(u, a), powl((long double)u, (long double)a)));
        most = worst(most, gap(eg_real_pow(0.9, t), powl((long double)0.9, (long double)t)));
        most =
            worst(most, gap(eg_real_pow(0.999, t), powl((long double)0.999, (long double)t)));
    }
    print_message("pow: %.3f\n", most);
    assert_true(most < 0.6);
}

static void test_waves_are_within_a_unit(void **state)
{
    (void)state;
    double most = 0;
    eg_rng r = draws();
    for (int i = 0; i < TRIES; i++) {
        double x = 6.283185307179586 * eg_rng_unit(&r), y = eg_rng_uniform(&r, -1e6, 1e6);
        most = worst(most, gap(eg_real_cos(x), cosl((long double)x)));
        most = worst(most, gap(eg_real_sin(x), sinl((long double)x)));
        most = worst(most, gap(eg_real_cos(y), cosl((long double)y)));
        most = worst(most, gap(eg_real_sin(y), sinl((long double)y)));
    }
    print_message("cos and sin: %.3f\n", most);
    assert_true(most < 0.6);
}

static void test_ends_of_the_range(void **state)
{
    (void)state;
    assert_true(eg_real_exp(-1000) == 0 && eg_real_exp(0) == 1 && isinf(eg_real_exp(800)));
    assert_true(isinf(eg_real_exp(HUGE_VAL)) && eg_real_exp(-HUGE_VAL) == 0 &&
                isnan(eg_real_exp(NAN)));
    assert_true(eg_real_exp(-745) == exp(-745)); /* below the smallest normal number */
    assert_true(eg_real_log(1) == 0 && eg_real_log(0) == -HUGE_VAL && isnan(eg_real_log(-1)));
    assert_true(isinf(eg_real_log(HUGE_VAL)) && isnan(eg_real_log(NAN)));
    assert_true(eg_real_log(0x1p-1074) == log(0x1p-1074));
    assert_true(eg_real_pow(0, 2) == 0 && eg_real_pow(2, 0) == 1 &&
                isnan(eg_real_pow(-8, 1.0 / 3)));
    assert_true(eg_real_pow(-2, 3) == -8 && eg_real_pow(-2, 2) == 4 &&
                isinf(eg_real_pow(10, 400)));
    assert_true(eg_real_pow(0.5, 2000) == 0 && eg_real_pow(10000, -0.5) == 0.01);
    assert_true(eg_real_sin(0) == 0 && eg_real_cos(0) == 1 && isnan(eg_real_sin(HUGE_VAL)));
    assert_true(isnan(eg_real_cos(NAN)) && fabs(eg_real_cos(1e9) - cos(1e9)) < 1e-6);
}

/* The bits themselves, added up over many arguments: another machine must find this number. */
static void test_bits_are_those_of_every_machine(void **state)
{
    (void)state;
    uint64_t sum = 0;
    eg_rng r = draws();
    for (int i = 0; i < 20000; i++) {
        double u = 1 - eg_rng_unit(&r), x = eg_rng_uniform(&r, -20, 20);
        const double y[] = {eg_real_exp(x), eg_real_log(u), eg_real_pow(u, x), eg_real_cos(x),
                            eg_real_sin(x)};
        for (int k = 0; k < 5; k++) {
            uint64_t bits;
            memcpy(&bits, &y[k], sizeof bits);
            sum = sum * 6364136223846793005u + bits;
        }
    }
    assert_int_equal(sum, UINT64_C(0x26c2a798adfc0fea));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponentials_are_within_a_unit),
        cmocka_unit_test(test_logarithms_are_within_a_unit),
        cmocka_unit_test(test_powers_are_within_a_unit),
        cmocka_unit_test(test_waves_are_within_a_unit),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_bits_are_those_of_every_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
