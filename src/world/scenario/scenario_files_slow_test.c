/* scenario_files_slow_test.c - every published scenario at its size and with its pinned digest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "world/scenario/fixture.h"

#include <stdio.h>

static const char folder[] = "experiments/scenarios";

static void test_published_scenarios_have_their_size(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t clients, tasks, rounds, per_round, held;
    } rows[] = {
        {"fed-a-gem-r-mnist", 10, 10, 200, 10, 60000},
        {"fed-a-gem-p-mnist", 10, 10, 200, 10, 60000},
        {"fed-a-gem-s-cifar10", 10, 5, 100, 10, 50000},
        {"fed-a-gem-s-cifar100", 10, 10, 200, 10, 50000},
        {"fed-a-gem-s-cifar100-20", 20, 10, 200, 20, 50000},
        {"fed-a-gem-partial-50", 50, 10, 200, 25, 50000},
        {"fed-a-gem-growing", 120, 10, 2000, 10, 50000},
        {"fedspace-50", 50, 10, 5000, 5, 50000},
        {"fedspace-100", 100, 10, 5000, 5, 50000},
        {"fedspace-500", 500, 10, 5000, 5, 50000},
        {"fedcil-mnist", 5, 5, 200, 5, 60000},
        {"fedcil-emnist-letters", 5, 5, 200, 5, 48000},  /* 50 parts of 960 */
        {"fedcil-emnist-balanced", 5, 5, 200, 5, 24000}, /* 50 parts of 480 */
        {"fedcil-cifar10", 5, 5, 200, 5, 50000},
        {"re-fed-cifar10", 20, 5, 750, 8, 50000},
        {"re-fed-cifar100", 20, 10, 1500, 8, 50000},
        {"re-fed-tiny", 20, 10, 1500, 8, 100000},
        {"re-fed-digit10", 20, 4, 600, 8, 380548},
        {"re-fed-office31", 10, 3, 450, 4, 3288},
        {"re-fed-domainnet", 20, 6, 900, 8, 409832},
        {"pfedgrp-1-fashion-mnist", 10, 5, 150, 10, 60000},
        {"pfedgrp-2-cifar10", 10, 5, 120, 10, 50000},
        {"pfedgrp-1-imagenet-10", 10, 5, 100, 10, 10000},
        {"pfedgrp-3-emnist-byclass", 10, 31, 31, 10, -1},
        {"pfedgrp-3-cifar100", 10, 50, 50, 10, -1},
        {"pfedgrp-3-tiny-imagenet-100", 10, 50, 50, 10, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_labels l[8];
        size_t n;
        int64_t chosen;
        eg_scenario *s = fixture_file(folder, rows[i].name, 0, l, &n);
        eg_cursor *c;
        eg_proof p;
        assert_int_equal(eg_scenario_n_clients(s), rows[i].clients);
        assert_int_equal(eg_scenario_n_tasks(s), rows[i].tasks);
        assert_int_equal(eg_scenario_n_rounds(s), rows[i].rounds);
        assert_ok(eg_cursor_new(s, &c));
        eg_cursor_selected(c, &chosen);
        assert_int_equal(chosen, rows[i].per_round);
        assert_ok(eg_scenario_prove(s, &p));
        assert_true(p.held == rows[i].held || rows[i].held < 0);
        assert_int_equal(p.strays + p.twice + p.mislabelled, 0);
        eg_cursor_free(c);
        eg_scenario_free(s);
        fixture_free_labels(l, n);
    }
}

static void test_every_file_has_its_pinned_digest(void **state)
{
    (void)state;
    FILE *f = fopen("experiments/scenarios/digests.txt", "r");
    char name[128], want[65], got[65];
    assert_non_null(f);
    int rows = 0;
    for (; fscanf(f, "%64s %127s", want, name) == 2; rows++) {
        eg_labels l[8];
        size_t n;
        eg_scenario *s = fixture_file(folder, name, 0, l, &n);
        assert_ok(eg_scenario_digest(s, got));
        if (strcmp(got, want) != 0)
            fail_msg("%s: %s, pinned is %s", name, got, want);
        eg_scenario_free(s);
        fixture_free_labels(l, n);
    }
    fclose(f);
    assert_true(rows >= 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_scenarios_have_their_size),
        cmocka_unit_test(test_every_file_has_its_pinned_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
