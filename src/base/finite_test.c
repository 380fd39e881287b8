/* finite_test.c - a flaw is seen wherever it stands, and nothing else is taken for one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/base.h"

#include <float.h>
#include <math.h>

static void test_one_flaw_anywhere_is_seen(void **state)
{
    (void)state;
    static const float flaws[] = {NAN, INFINITY, -INFINITY};
    float values[37] = {0};
    for (size_t k = 0; k < sizeof flaws / sizeof *flaws; k++)
        for (size_t i = 0; i < 37; i++) {
            values[i] = flaws[k];
            assert_false(eg_all_finite(values, 37));
            assert_true(eg_all_finite(values, i)); /* behind the end it does not count */
            values[i] = 0;
        }
}

static void test_largest_smallest_and_no_numbers_are_finite(void **state)
{
    (void)state;
    const float values[] = {FLT_MAX, -FLT_MAX, FLT_MIN / 2, -0.0f};
    assert_true(eg_all_finite(values, sizeof values / sizeof *values));
    assert_true(eg_all_finite(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_flaw_anywhere_is_seen),
        cmocka_unit_test(test_largest_smallest_and_no_numbers_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
