/* report_stopped_test.c - seeds that patience ended after other rounds, put together.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/five_runs.h"

#include "report/runs/group.h"

enum { SEEDS = 3, ROUNDS = 8 };

static const int64_t stop[SEEDS] = {5, 0, 7}; /* rounds of the second task; 0: to the end */
static fixture seeds[SEEDS];

/* Writes the seeds, of two tasks of four rounds, over the first runs. */
static void write_seeds(void)
{
    for (int i = 0; i < SEEDS; i++) {
        seeds[i] = (fixture){.name = "demo",
                             .label = "er",
                             .seed = i,
                             .tasks = 2,
                             .rounds_per_task = ROUNDS / 2,
                             .clients = 2,
                             .chosen = 2,
                             .stop = stop[i]};
        fixture_write(&seeds[i], dirs[i]);
    }
}

static void test_a_seed_that_stopped_counts_with_its_last_row(void **state)
{
    (void)state;
    eg_groups *g;
    double last = 0, seventh = 0;
    write_seeds();
    assert_ok(eg_groups_load(dirs, SEEDS, NULL, 0, &g));
    const eg_group *er = &g->group[0];
    assert_int_equal(g->n, 1);
    assert_ptr_equal(eg_group_longest(er), er->run[1]);
    assert_true(eg_group_stopped(er));
    for (int i = 0; i < SEEDS; i++) {
        last += eg_run_last(er->run[i])->acc[0] / SEEDS;
        seventh += er->run[i]->row[i == 0 ? 5 : 7].acc[0] / SEEDS;
    }
    assert_int_equal(eg_group_acc(er, ROUNDS, 0).n, SEEDS);
    assert_near(eg_group_acc(er, ROUNDS, 0).mean, last, 1e-12);
    assert_near(eg_group_acc(er, 7, 0).mean, seventh, 1e-12);
    assert_near(eg_group_acc(er, ROUNDS, EG_MEAN).mean,
                eg_group_summary(er, EG_SUMMARY_acc_final).mean, 1e-12);
    eg_groups_free(g);
}

static void test_the_page_shows_the_ends_of_all_seeds(void **state)
{
    (void)state;
    char path[FILES_PATH + 16], what[160], text[80];
    double last[SEEDS];
    unsigned char *page;
    size_t n;
    write_seeds();
    for (int i = 0; i < SEEDS; i++)
        last[i] = round(1e4 * fixture_acc(&seeds[i], stop[i] ? stop[i] : ROUNDS, 0)) / 1e4;
    eg_show_spread(text, EG_SUMMARY_acc_final, eg_spread_of(last, SEEDS));
    snprintf(path, sizeof path, "%s/page.html", folder);
    assert_ok(eg_report_write(dirs, SEEDS, NULL, 0, NULL, path));
    assert_ok(eg_file_read(path, (size_t)1 << 30, &page, &n));
    const char *forgetting = strstr((char *)page, "<th>fall from its best</th>");
    const char *matrix = strstr((char *)page, "<th>after task</th>");
    assert_true(forgetting && matrix);
    snprintf(what, sizeof what, "<th>1</th><td>%s</td>", text); /* task 1 at the end */
    assert_non_null(strstr(forgetting, what));
    snprintf(what, sizeof what, "<th>2</th><td>%s</td>", text); /* after task 2, on task 1 */
    assert_non_null(strstr(matrix, what));
    /* The curves reach as far as the seed that went on. */
    assert_non_null(strstr((char *)page, "<th>8</th>"));
    assert_non_null(strstr((char *)page, "A seed that stopped early counts with its last "));
    free(page);
}

static void test_runs_that_ended_early_are_said(void **state)
{
    (void)state;
    char path[FILES_PATH + 16], *table;
    unsigned char *page;
    size_t n;
    write_seeds();
    assert_ok(eg_compare_print(dirs, SEEDS, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT},
                               &table));
    assert_non_null(
        strstr(table, "er: 2 of 3 runs ended early: validation had not become better\n"));
    free(table);
    snprintf(path, sizeof path, "%s/page.html", folder);
    assert_ok(eg_report_write(dirs, 1, NULL, 0, NULL, path));
    assert_ok(eg_file_read(path, (size_t)1 << 30, &page, &n));
    assert_non_null(strstr((char *)page, "Seed 0 ended early, after round 5 of 8: validation"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_seed_that_stopped_counts_with_its_last_row),
        TEST(test_the_page_shows_the_ends_of_all_seeds),
        TEST(test_runs_that_ended_early_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
