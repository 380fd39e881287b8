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

/* Pairs that experiments have, in their order: on workers, in processes and resumed, and each
 * part does something. */
static void test_replay_by_drawings_goes_with_a_memory(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"fedcil", "fed_a_gem"}, {"fedcil", "re_fed"}, {"pfedgrp", "fed_a_gem"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *a = pairs[i][0], *b = pairs[i][1];
        char runs[256];
        snprintf(runs, sizeof runs,
                 "- {label: pair, method: [%s, %s]}\n"
                 "- {label: first, method: %s}\n- {label: second, method: %s}\n",
                 a, b, a, b);
        method_runs_write(method_runs_images, runs);
        method_outcome both = method_runs_run("pair", NULL, 1, 0);
        assert_string_equal(both.hash, method_runs_run("pair", NULL, 2, 3).hash);
        assert_string_equal(both.hash, method_runs_run("pair", NULL, -1, 1).hash);
        assert_string_equal(both.hash, method_runs_run("pair", NULL, -2, 0).hash);
        assert_string_not_equal(both.hash, method_runs_run("first", NULL, 1, 0).hash);
        assert_string_not_equal(both.hash, method_runs_run("second", NULL, 1, 0).hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_compose_in_pairs),
        cmocka_unit_test(test_pairs_bear_random_changes_of_images),
        cmocka_unit_test(test_replay_by_drawings_goes_with_a_memory),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
