/* statistics_test.c - tests of significance against values worked by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "report/table/statistics.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* With 1, 2 and 4 degrees of freedom the integral has a closed form. */
static double exact_1(double t)
{
    return 1 - 2 / pi * atan(t);
}

static double exact_2(double t)
{
    return 1 - t / sqrt(t * t + 2);
}

static double exact_4(double t)
{
    double s = t / sqrt(4 + t * t);
    return 1 - 0.5 * s * (3 - s * s);
}

static void test_students_t_has_its_closed_forms(void **state)
{
    (void)state;
    double t = 0;
    for (int i = 0; i < 16; i++, t = t * 1.3 + 0.1) {
        assert_near(eg_student_p(t, 1), exact_1(t), 1e-13);
        assert_near(eg_student_p(t, 2), exact_2(t), 1e-13);
        assert_near(eg_student_p(t, 4), exact_4(t), 1e-13);
        assert_near(eg_student_p(-t, 4), exact_4(t), 1e-13);
    }
    assert_near(eg_student_p(1, 1), 0.5, 1e-15);
    assert_near(eg_student_p(0, 7), 1, 0);
    assert_near(eg_student_p(INFINITY, 7), 0, 0);
}

/* The two-sided values of every statistics book. */
static void test_students_t_has_the_values_of_tables(void **state)
{
    (void)state;
    static const struct {
        double t, degrees, p;
    } rows[] = {{2.776445, 4, 0.05},    {4.604095, 4, 0.01},   {2.262157, 9, 0.05},
                {1.833113, 9, 0.1},     {2.093024, 19, 0.05},  {1.983972, 100, 0.05},
                {3.390491, 100, 0.001}, {1.9599640, 1e7, 0.05}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_near(eg_student_p(rows[i].t, rows[i].degrees), rows[i].p, 2e-6);
}

static void test_signs_are_counted_exactly(void **state)
{
    (void)state;
    assert_near(eg_sign_p(2, 0), 0.5, 0);
    assert_near(eg_sign_p(0, 3), 0.25, 0);
    assert_near(eg_sign_p(4, 0), 0.125, 0);
    assert_near(eg_sign_p(3, 1), 0.625, 0); /* 2 (1 + 4) / 16 */
    assert_near(eg_sign_p(1, 1), 1, 0);
    assert_near(eg_sign_p(8, 2), 112.0 / 1024, 1e-15); /* 2 (1 + 10 + 45) / 1024 */
    assert_near(eg_sign_p(0, 0), 1, 0);
}

/* Differences 2, 1, 4, 3, 1: mean 2.2, squares about it add up to 6.8, so the variance is 1.7
 * and t is 2.2 / sqrt(1.7 / 5). */
static void test_five_pairs_by_hand(void **state)
{
    (void)state;
    const double d[] = {2, 1, 4, 3, 1};
    eg_paired p = eg_paired_of(d, 5);
    assert_int_equal(p.n, 5);
    assert_near(p.mean, 2.2, 1e-15);
    assert_near(p.sd, sqrt(1.7), 1e-15);
    assert_near(p.p, exact_4(2.2 / sqrt(1.7 / 5)), 1e-14);
    assert_near(p.p, 0.0195, 1e-4);
}

static void test_fewer_pairs_are_judged_by_their_signs(void **state)
{
    (void)state;
    const double up[] = {2, 1, 4, 3}, mixed[] = {2, -1, 4, 3}, level[] = {2, 0, 4, 3};
    assert_near(eg_paired_of(up, 4).p, 0.125, 0);
    assert_near(eg_paired_of(mixed, 4).p, 0.625, 0);
    assert_near(eg_paired_of(level, 4).p, 0.25, 0); /* what is level does not count */
    assert_near(eg_paired_of(up, 2).p, 0.5, 0);
    assert_near(eg_paired_of(up, 2).sd, sqrt(0.5), 1e-15);
}

static void test_pairs_without_a_spread_have_a_meaning(void **state)
{
    (void)state;
    const double same[] = {0, 0, 0, 0, 0}, all[] = {1, 1, 1, 1, 1};
    assert_near(eg_paired_of(same, 5).p, 1, 0);
    assert_near(eg_paired_of(all, 5).p, 0, 0);
    eg_paired one = eg_paired_of(all, 1), none = eg_paired_of(all, 0);
    assert_near(one.mean, 1, 0);
    assert_true(isnan(one.sd) && isnan(one.p) && isnan(none.mean) && isnan(none.p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_students_t_has_its_closed_forms),
        cmocka_unit_test(test_students_t_has_the_values_of_tables),
        cmocka_unit_test(test_signs_are_counted_exactly),
        cmocka_unit_test(test_five_pairs_by_hand),
        cmocka_unit_test(test_fewer_pairs_are_judged_by_their_signs),
        cmocka_unit_test(test_pairs_without_a_spread_have_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
