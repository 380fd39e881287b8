/* report_lines_test.c - lines of a page, their axes and names, where values are unusual.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/fixture.h"

#include "base/base.h"

#include <engram/report.h>

#include "own_folder.h"

static const fixture plain = {.name = "demo",
                              .label = "er",
                              .tasks = 2,
                              .rounds_per_task = 5,
                              .clients = 4,
                              .chosen = 2,
                              .keep = 0.75};

/* The page of two runs; free() it. */
static char *page_of(const fixture *one, const fixture *other)
{
    char out[FILES_PATH + 16];
    eg_arena arena = {0};
    const char *dirs[] = {eg_arena_text(&arena, "%s/1", folder),
                          eg_arena_text(&arena, "%s/2", folder)};
    unsigned char *text;
    size_t n;
    fixture_write(one, dirs[0]);
    fixture_write(other, dirs[1]);
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_ok(eg_report_write(dirs, 2, NULL, 0, NULL, out));
    assert_ok(eg_file_read(out, 1 << 30, &text, &n));
    files_remove(dirs[0]);
    files_remove(dirs[1]);
    eg_arena_fini(&arena);
    return (char *)text;
}

static void test_a_name_beside_a_hundred_percent_is_whole(void **state)
{
    (void)state;
    fixture one = plain, other = plain;
    one.label = "a-gem+fed-a-gem-5120";
    one.perfect = true;
    char *page = page_of(&one, &other);
    assert_non_null(strstr(page, ">100.0  a-gem+fed-a-gem-5120</text>"));
    assert_null(strstr(page, "…"));
    free(page);
}

static void test_lines_of_fast_rounds_have_numbers_of_their_own(void **state)
{
    (void)state;
    fixture one = plain, other = plain;
    other.label = "avg";
    one.second = other.second = 0.05; /* 0.010 to 0.015 s */
    char *page = page_of(&one, &other);
    const char *time = strstr(page, "data-chart=\"time\""), *end = strstr(time, "</svg>");
    const char *tick = strstr(time, ">0.012 s</text>");
    assert_true(tick && tick < end);
    free(page);
}

static void test_losses_that_are_never_finite_make_no_chart(void **state)
{
    (void)state;
    fixture one = plain, other = plain;
    other.label = "avg";
    one.diverged = true;
    char *page = page_of(&one, &other);
    assert_non_null(strstr(page, "data-chart=\"losses\"")); /* of the other */
    assert_non_null(strstr(page, "The training loss was never finite."));
    free(page);
    other.diverged = true;
    page = page_of(&one, &other);
    assert_null(strstr(page, "data-chart=\"loss"));
    assert_null(strstr(page, "e-13"));
    free(page);
}

static void test_a_page_of_two_experiments_has_both_names(void **state)
{
    (void)state;
    fixture one = plain, other = plain;
    other.name = "larger";
    char *page = page_of(&one, &other);
    assert_non_null(strstr(page, "<title>demo, larger – engram</title>"));
    assert_non_null(strstr(page, "<h1>demo, larger</h1>"));
    free(page);
    other.name = "demo";
    other.seed = 1;
    page = page_of(&one, &other);
    assert_non_null(strstr(page, "<h1>demo: er</h1>"));
    free(page);
}

/* Of a sweep each setting has a column, and the others are held against the row that is the
 * best by validation, wherever it stands and however it does in the test. */
static void test_a_sweep_is_held_against_its_best_by_validation(void **state)
{
    (void)state;
    static const char *const labels[] = {"er train.lr=0.05", "er train.lr=0.1",
                                         "er train.lr=0.2"};
    const double validation[] = {0.5, 0.7, 0.6};
    eg_arena arena = {0};
    const char *dirs[6];
    char out[FILES_PATH + 16], *table;
    unsigned char *page;
    size_t n;
    for (int i = 0; i < 6; i++) {
        fixture s = plain;
        dirs[i] = eg_arena_text(&arena, "%s/%d", folder, i);
        s.label = labels[i / 2], s.lr = labels[i / 2] + strlen("er train.lr=");
        s.seed = i % 2;
        s.validation = validation[i / 2];
        int pair = i / 2;
        s.keep = 0.2 * pair;
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_compare_print(dirs, 6, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_MARKDOWN},
                               &table));
    assert_non_null(strstr(table, "to er train.lr=0.1, seed by seed"));
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_ok(eg_report_write(dirs, 6, NULL, 0, NULL, out));
    assert_ok(eg_file_read(out, 1 << 30, &page, &n));
    assert_non_null(strstr((char *)page, "<th>label</th><th>train.lr</th><th>seeds</th>"));
    assert_non_null(strstr((char *)page, "er <small>best by validation</small></th><td>0.1</td>"
                                         "<td>2</td>"));
    free(page);
    free(table);
    eg_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_beside_a_hundred_percent_is_whole),
        cmocka_unit_test(test_lines_of_fast_rounds_have_numbers_of_their_own),
        cmocka_unit_test(test_losses_that_are_never_finite_make_no_chart),
        cmocka_unit_test(test_a_sweep_is_held_against_its_best_by_validation),
        cmocka_unit_test(test_a_page_of_two_experiments_has_both_names),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
