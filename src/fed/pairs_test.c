/* pairs_test.c - every method with a few others, in turn; pairs_slow_test.c has all pairs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The number of runs grows with the methods, not with their square: each has the partners that
 * stand a few fixed places behind it in the list, other places with images than without.
 */
#include "method_runs.h"

/* Calls `test` for every method and the one so many places further on, round the list. */
static void walk(size_t places, void (*test)(const eg_method *a, const eg_method *b))
{
    size_t n = method_runs_n();
    for (size_t i = 0; i < n; i++)
        test(eg_methods[i], eg_methods[(i + places) % n]);
}

static void test_parts_compose_in_pairs(void **state)
{
    (void)state;
    walk(1, method_runs_compose);
    walk(4, method_runs_compose);
}

static void test_pairs_bear_random_changes_of_images(void **state)
{
    (void)state;
    walk(2, method_runs_crop);
    walk(7, method_runs_crop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_compose_in_pairs),
        cmocka_unit_test(test_pairs_bear_random_changes_of_images),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
