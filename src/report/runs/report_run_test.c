/* report_run_test.c - runs are read whole, and the page says what the summary says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/fixture.h"

#include "report/runs/run.h"
#include "run/log/run_folder.h"
#include "runs.h"

#include "own_folder.h"

static const fixture plain = {.name = "demo",
                              .label = "er",
                              .seed = 3,
                              .tasks = 4,
                              .rounds_per_task = 5,
                              .clients = 8,
                              .chosen = 4,
                              .keep = 0.6};

static void test_run_folder_is_read_whole(void **state)
{
    (void)state;
    eg_run *r;
    fixture_write(&plain, folder);
    assert_ok(eg_run_load(folder, &r));
    assert_string_equal(r->start->label, "er");
    assert_string_equal(r->method, "er, fed-a-gem");
    assert_int_equal(r->log->n_round, 20);
    assert_int_equal(r->n_row, 21);
    assert_true(r->finished);
    assert_string_equal(r->config, fixture_config);
    assert_near(r->summary[EG_SUMMARY_seconds], 12.5, 0);
    double up = 0;
    for (size_t i = 0; i < r->log->n_round; i++)
        up += (double)r->log->round[i].bytes_up;
    assert_near(r->summary[EG_SUMMARY_bytes_up], up, 0);
    assert_int_equal(r->row[0].period, 0);
    assert_int_equal(r->row[5].period, 1);
    assert_true(r->row[5].task_end);
    assert_int_equal(r->row[6].period, 2);
    assert_near(r->row[20].mean, r->summary[EG_SUMMARY_acc_final], 0);
    double fall = 0;
    for (int64_t t = 0; t < 3; t++)
        fall += r->fall[t] / 3;
    assert_true(fall > 0.1 && fall < 0.6);
    assert_near(fall, r->summary[EG_SUMMARY_forgetting], 1e-12);
    assert_true(isnan(r->fall[3]));
    assert_ptr_equal(eg_run_last(r), &r->row[20]);
    assert_null(eg_run_row_at(r, 21));
    eg_run_free(r);
}

static void test_without_a_server_clients_are_averaged(void **state)
{
    (void)state;
    fixture s = plain;
    s.local = true;
    eg_run *r;
    fixture_write(&s, folder);
    assert_ok(eg_run_load(folder, &r));
    assert_int_equal(r->log->n_eval, 21 * 8);
    assert_int_equal(r->n_row, 21);
    assert_near(r->row[20].acc[3], fixture_acc(&s, 20, 3), 1e-4);
    eg_run_free(r);
}

static void test_unfinished_run_is_read_as_far_as_it_got(void **state)
{
    (void)state;
    fixture s = plain;
    s.unfinished = true;
    eg_run *r;
    fixture_write(&s, folder);
    assert_ok(eg_run_load(folder, &r)); /* its last line is cut short */
    assert_false(r->finished);
    assert_int_equal(r->log->n_round, 10);
    eg_run_free(r);
    files_write(folder, "summary.json", "{}", 2);
    assert_fails(eg_run_load(folder, &r), EG_EFORMAT, "the line has no end");
}

/* Clients' own models: what the page draws of each task, and what the summary says. */
static void test_page_and_summary_agree_on_personal_models(void **state)
{
    (void)state;
    static const char *const method[] = {"local"};
    const int64_t n[3] = {10, 10, 10};
    const int64_t right[3][2][3] = {/* [period, client, task]; each has its own order */
                                    {{9, 1, 2}, {1, 8, 2}},
                                    {{4, 9, 2}, {9, 5, 2}},
                                    {{6, 3, 9}, {2, 7, 8}}};
    char path[512];
    eg_run_folder *f;
    eg_run *r;
    snprintf(path, sizeof path, "%.480s/run", folder);
    assert_ok(eg_run_folder_new(path, "", &f));
    assert_ok(eg_run_write_start(f, &(eg_start_event){.name = "n",
                                                      .label = "l",
                                                      .method = method,
                                                      .n_method = 1,
                                                      .clients = 2,
                                                      .tasks = 3,
                                                      .rounds = 3,
                                                      .isa = "avx2",
                                                      .config_sha256 = "x",
                                                      .labels = "1",
                                                      .pixels = "2",
                                                      .learned = (const int64_t[]){1, 2, 3}}));
    for (int64_t p = 0; p < 3; p++)
        for (int64_t c = 0; c < 2; c++)
            assert_ok(eg_run_write_eval(f, &(eg_eval_event){.round = p + 1,
                                                            .who = c,
                                                            .task_end = true,
                                                            .full = true,
                                                            .n_tasks = 3,
                                                            .n = n,
                                                            .correct = right[p][c],
                                                            .met = -1}));
    assert_ok(eg_run_write_end(f, &(eg_end_event){.seconds = 1}));
    assert_ok(eg_run_finish(f, "ab"));
    eg_run_folder_free(f);
    assert_ok(eg_run_load(path, &r));
    /* Client 0 falls 9 - 6 and 9 - 3, client 1 falls 9 - 2 and 5 - 7; the fall of the mean
     * accuracies would be 6.5 - 4 and 7 - 5. */
    assert_near(r->fall[0], (0.3 + 0.7) / 2, 1e-12);
    assert_near(r->fall[1], (0.6 - 0.2) / 2, 1e-12);
    double forgetting = runs_value(path, "forgetting");
    assert_near(forgetting, (r->fall[0] + r->fall[1]) / 2, 1e-12);
    assert_near(r->summary[EG_SUMMARY_forgetting], forgetting, 0);
    assert_near(r->row[2].mean, runs_value(path, "acc_final"), 0);
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        double value = runs_value(path, eg_summary_name((eg_summary)i));
        assert_true(value == r->summary[i] || (isnan(value) && isnan(r->summary[i])));
    }
    eg_run_free(r);
}

static void test_every_metric_is_in_the_summary(void **state)
{
    (void)state;
    for (const eg_metric *const *m = eg_metrics; *m; m++)
        assert_string_equal(eg_summary_name(eg_summary_find((*m)->component.name)),
                            (*m)->component.name);
    assert_int_equal(eg_summary_find("beauty"), EG_SUMMARY_N);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_run_folder_is_read_whole),
        TEST(test_without_a_server_clients_are_averaged),
        TEST(test_unfinished_run_is_read_as_far_as_it_got),
        TEST(test_page_and_summary_agree_on_personal_models),
        TEST(test_every_metric_is_in_the_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
