/* report_classes_test.c - pages show what is taken for what, and streams what was met.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/fixture.h"
#include "report/runs/group.h"

#include "io/file.h"

#include <math.h>

static char folder[FILES_PATH];

static int make_folder(void **state)
{
    (void)state;
    files_folder(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

static const fixture plain = {.name = "demo",
                              .label = "er",
                              .tasks = 5,
                              .rounds_per_task = 2,
                              .clients = 4,
                              .chosen = 4,
                              .keep = 0.75,
                              .classes = 10};

/* Writes n runs; dirs point to where. */
static void write_runs(const fixture *runs, size_t n, char path[][FILES_PATH + 32],
                       const char **dirs)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(path[i], FILES_PATH + 32, "%s/%zu", folder, i);
        dirs[i] = path[i];
        fixture_write(&runs[i], path[i]);
    }
}

static char *page_of(const fixture *runs, size_t n, const eg_published *paper)
{
    char path[4][FILES_PATH + 32], out[FILES_PATH + 32];
    const char *dirs[4];
    unsigned char *text;
    size_t size;
    assert_true(n <= 4);
    write_runs(runs, n, path, dirs);
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_ok(eg_report_write(dirs, n, paper, paper ? 1 : 0, NULL, out));
    assert_ok(eg_file_read(out, (size_t)1 << 26, &text, &size));
    for (size_t i = 0; i < n; i++)
        files_remove(path[i]);
    return (char *)text;
}

static int count(const char *page, const char *what)
{
    int n = 0;
    for (const char *at = page; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* Two seeds: a class is right 50 to 98 times of 100 in each and else taken for the next. */
static void test_seeds_are_added_up(void **state)
{
    (void)state;
    fixture runs[2] = {plain, plain};
    runs[1].seed = 1;
    char *page = page_of(runs, 2, NULL), cell[128];
    assert_int_equal(count(page, " images: "), 20);
    assert_int_equal(count(page, "of 200 images</title>"), 10);
    for (int64_t k = 0; k < 10; k++) {
        int64_t right = 0;
        for (int64_t seed = 0; seed < 2; seed++)
            right += 50 + (int64_t)(49 * fixture_draw(&runs[seed], 10, 7000 + k));
        snprintf(cell, sizeof cell,
                 "<title>class %" PRId64 " taken for %" PRId64 ", %" PRId64 " images: %.1f %%",
                 k, k, right, (double)right / 2);
        assert_int_equal(count(page, cell), 1);
        snprintf(cell, sizeof cell,
                 "<title>class %" PRId64 " taken for %" PRId64 ", %" PRId64 " images: ", k,
                 (k + 1) % 10, 200 - right);
        assert_int_equal(count(page, cell), 1);
    }
    free(page);
}

static void test_a_few_classes_are_cells_and_bars(void **state)
{
    (void)state;
    char *page = page_of(&plain, 1, NULL);
    assert_int_equal(count(page, "data-chart=\"confusion\""), 1);
    assert_int_equal(count(page, "data-chart=\"classes\""), 1);
    assert_int_equal(count(page, " images: "), 20);
    assert_int_equal(count(page, "of 100 images</title>"), 10);
    assert_null(strstr(page, "classes.csv"));
    free(page);
}

static void test_classes_are_called_by_their_names(void **state)
{
    (void)state;
    fixture named = plain;
    named.named = true;
    char *page = page_of(&named, 1, NULL);
    assert_int_equal(count(page, "<title>class &lt;animal&gt; 3 taken for &lt;animal&gt; 4, "),
                     1);
    assert_int_equal(count(page, "<title>class &lt;animal&gt; 3: "), 1);
    assert_int_equal(count(page, "<td>&lt;animal&gt; 4</td>"), 2); /* mistakes, and by class */
    assert_int_equal(count(page, "<title>class 3"), 0);
    free(page);
}

static void test_many_classes_are_a_picture(void **state)
{
    (void)state;
    fixture many = plain;
    many.classes = 600;
    char *page = page_of(&many, 1, NULL);
    assert_int_equal(count(page, "data-chart=\"confusion\""), 1);
    assert_int_equal(count(page, "data:image/png;base64,"), 1);
    assert_int_equal(count(page, "in the run&#39;s classes.csv"), 1);
    assert_true(strlen(page) < 200000);
    free(page);
}

static void test_without_such_tests_there_is_no_chart(void **state)
{
    (void)state;
    fixture none = plain, own = plain;
    none.classes = 0;
    own.local = true;
    for (int i = 0; i < 2; i++) {
        char *page = page_of(i ? &own : &none, 1, NULL);
        assert_null(strstr(page, "data-chart=\"confusion\""));
        assert_null(strstr(page, "data-chart=\"classes\""));
        free(page);
    }
}

/* The last matrix's right ones over all, beside what a paper has. */
static void test_acc_seen_is_a_column_beside_a_paper(void **state)
{
    (void)state;
    const eg_published paper = {"er", "acc_seen", 0.8, 0.02, NULL};
    double right = 0;
    char want[64];
    for (int64_t k = 0; k < 10; k++)
        right += floor(50 + 49 * fixture_draw(&plain, 10, 7000 + k));
    snprintf(want, sizeof want, "<td>%.1f<small>published 80.0 ± 2.0</small>", right / 10);
    char *page = page_of(&plain, 1, &paper);
    assert_non_null(strstr(page, ">seen %</th>"));
    if (!strstr(page, want))
        fail_msg("the page does not say '%s'", want);
    free(page);
    page = page_of(&plain, 1, NULL);
    assert_null(strstr(page, ">seen %</th>"));
    free(page);
}

/* Clients 0 and 1 of two, whose samples met are 100 and 101 per round. */
static void test_a_stream_has_its_accuracy_over_rounds(void **state)
{
    (void)state;
    fixture runs[2] = {plain, plain};
    for (int i = 0; i < 2; i++)
        runs[i].local = true, runs[i].clients = runs[i].chosen = 2;
    runs[1].label = "fedavg";
    char *page = page_of(runs, 1, NULL);
    assert_int_equal(count(page, "data-chart=\"met\""), 1);
    free(page);
    page = page_of(runs, 2, NULL);
    assert_int_equal(count(page, "data-chart=\"met\""), 3); /* both, and each */
    free(page);
    page = page_of(&plain, 1, NULL);
    assert_null(strstr(page, "data-chart=\"met\""));
    free(page);
}

static void test_what_was_met_is_the_metric_of_every_round(void **state)
{
    (void)state;
    fixture run = plain;
    char path[1][FILES_PATH + 32];
    const char *dirs[1];
    eg_groups *g;
    double sum = 0;
    run.local = true;
    write_runs(&run, 1, path, dirs);
    assert_ok(eg_groups_load(dirs, 1, NULL, 0, &g));
    const eg_run *r = g->runs[0];
    assert_int_equal(r->n_met, 10);
    for (size_t i = 0; i < r->n_met; i++) {
        assert_int_equal(r->met[i].round, i + 1);
        assert_near(eg_group_met(&g->group[0], r->met[i].round).mean, r->met[i].acc, 0);
        sum += r->met[i].acc;
    }
    assert_near(r->met[9].acc, r->summary[EG_SUMMARY_acc_t], 0);
    assert_near(sum / 10, r->summary[EG_SUMMARY_aa], 1e-12);
    eg_groups_free(g);
}

/* The server is tested in every round, clients three times: none of these is left out. */
static void test_clients_tested_now_and_then_keep_their_points(void **state)
{
    (void)state;
    fixture run = plain;
    run.tasks = 3, run.rounds_per_task = 101;
    run.both = true;
    char *page = page_of(&run, 1, NULL);
    assert_int_equal(count(page, "data-name=\"client 1\" data-x=\"101 202 303\""), 1);
    free(page);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_seeds_are_added_up),
        TEST(test_a_few_classes_are_cells_and_bars),
        TEST(test_classes_are_called_by_their_names),
        TEST(test_many_classes_are_a_picture),
        TEST(test_without_such_tests_there_is_no_chart),
        TEST(test_acc_seen_is_a_column_beside_a_paper),
        TEST(test_a_stream_has_its_accuracy_over_rounds),
        TEST(test_what_was_met_is_the_metric_of_every_round),
        TEST(test_clients_tested_now_and_then_keep_their_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
