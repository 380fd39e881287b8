/* pairs_slow_test.c - every method with every other, in both orders.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method_runs.h"

static void test_all_parts_compose_in_pairs(void **state)
{
    (void)state;
    for (const eg_method *const *a = eg_methods; *a; a++)
        for (const eg_method *const *b = a + 1; *b; b++)
            method_runs_compose(*a, *b);
}

/* And the other way round. */
static void test_all_pairs_bear_random_changes_of_images(void **state)
{
    (void)state;
    for (const eg_method *const *a = eg_methods; *a; a++)
        for (const eg_method *const *b = a + 1; *b; b++)
            method_runs_crop(*b, *a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts_compose_in_pairs),
        cmocka_unit_test(test_all_pairs_bear_random_changes_of_images),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
