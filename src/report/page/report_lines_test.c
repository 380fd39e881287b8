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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_beside_a_hundred_percent_is_whole),
        cmocka_unit_test(test_lines_of_fast_rounds_have_numbers_of_their_own),
        cmocka_unit_test(test_losses_that_are_never_finite_make_no_chart),
        cmocka_unit_test(test_a_page_of_two_experiments_has_both_names),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
