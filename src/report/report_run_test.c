/* report_run_test.c - run folders are read whole, and what is wrong in one is named by line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/fixture.h"

#include "report/run.h"

static const fixture plain = {.name = "demo",
                              .label = "er",
                              .seed = 3,
                              .tasks = 4,
                              .rounds_a_task = 5,
                              .clients = 8,
                              .chosen = 4,
                              .keep = 0.6};

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

static void test_run_folder_is_read_whole(void **state)
{
    (void)state;
    eg_runlog *r;
    fixture_write(&plain, folder);
    assert_ok(eg_runlog_load(folder, &r));
    assert_string_equal(r->label, "er");
    assert_string_equal(r->method, "er, fed-a-gem");
    assert_int_equal(r->n_round, 20);
    assert_int_equal(r->n_row, 21);
    assert_true(r->finished);
    assert_string_equal(r->config, fixture_config);
    assert_true(isnan(r->summary[EG_SUMMARY_fwt]));
    assert_near(r->summary[EG_SUMMARY_bytes_up], 20.0 * 4 * 178000, 0);
    assert_int_equal(r->row[0].period, 0);
    assert_int_equal(r->row[5].period, 1);
    assert_true(r->row[5].task_end);
    assert_int_equal(r->row[6].period, 2);
    assert_near(r->row[20].mean, r->summary[EG_SUMMARY_acc_final], 1e-4);
    double fall = 0;
    for (int64_t t = 0; t < 3; t++)
        fall += eg_runlog_fall(r, t) / 3;
    assert_true(fall > 0.1 && fall < 0.6);
    assert_true(isnan(eg_runlog_fall(r, 3)));
    assert_ptr_equal(eg_runlog_last(r), &r->row[20]);
    assert_null(eg_runlog_row_at(r, 21));
    eg_runlog_free(r);
}

static void test_without_a_server_clients_are_averaged(void **state)
{
    (void)state;
    fixture s = plain;
    s.local = true;
    eg_runlog *r;
    fixture_write(&s, folder);
    assert_ok(eg_runlog_load(folder, &r));
    assert_int_equal(r->n_eval, 21 * 8);
    assert_int_equal(r->n_row, 21);
    assert_near(r->row[20].acc[3], fixture_acc(&s, 20, 3), 1e-4);
    eg_runlog_free(r);
}

static void test_unfinished_run_is_read_as_far_as_it_got(void **state)
{
    (void)state;
    fixture s = plain;
    s.unfinished = true;
    eg_runlog *r;
    fixture_write(&s, folder);
    assert_ok(eg_runlog_load(folder, &r)); /* its last line is cut short */
    assert_false(r->finished);
    assert_int_equal(r->n_round, 10);
    eg_runlog_free(r);
    fixture_summary(&plain, folder);
    assert_fails(eg_runlog_load(folder, &r), EG_EFORMAT, "the line has no end");
}

static const char start[] = "{\"event\":\"start\",\"name\":\"n\",\"label\":\"l\",\"seed\":1,"
                            "\"method\":[\"er\"],\"clients\":2,\"tasks\":2,\"rounds\":4,"
                            "\"classes\":4,\"isa\":\"avx2\",\"config_sha256\":\"x\"}\n";

static void test_full_evaluation_replaces_one_on_a_part(void **state)
{
    (void)state;
    char text[2048];
    eg_runlog *r;
    int n = snprintf(text, sizeof text,
                     "%s{\"event\":\"eval\",\"round\":2,\"who\":\"server\",\"task_end\":false,"
                     "\"full\":false,\"accuracy\":[0.5,null],\"n\":[10,0]}\n"
                     "{\"event\":\"eval\",\"round\":2,\"who\":\"server\",\"task_end\":true,"
                     "\"full\":true,\"accuracy\":[0.75,null],\"accuracy_task_il\":[1,null],"
                     "\"n\":[10,0]}\n",
                     start);
    files_write(folder, "metrics.jsonl", text, (size_t)n);
    assert_ok(eg_runlog_load(folder, &r));
    assert_int_equal(r->n_row, 1);
    assert_near(r->row[0].acc[0], 0.75, 0);
    assert_near(r->row[0].mean_il, 1, 0);
    assert_true(isnan(r->row[0].acc[1]));
    assert_true(r->row[0].task_end);
    eg_runlog_free(r);
}

#define EVAL                                                                                   \
    "{\"event\":\"eval\",\"round\":1,\"who\":\"server\",\"task_end\":true,\"full\":true"
#define ROUND "{\"event\":\"round\",\"round\":1,\"samples\":1,\"bytes_up\":1,\"bytes_down\":1"

static const struct {
    const char *line, *says;
} wrong[] = {
    {"{\"event\"", "metrics.jsonl:2: line 1, column"},
    {"[]", "metrics.jsonl:2: an event is an object, not an array"},
    {"{}", "metrics.jsonl:2: 'event' is missing"},
    {"{\"event\":\"dance\"}", "metrics.jsonl:2: there is no event 'dance'"},
    {"{\"event\":\"start\"}", "metrics.jsonl:2: start: a second start event"},
    {ROUND ",\"loss\":1,\"seconds\":1}", "round: 'clients' is missing"},
    {ROUND ",\"clients\":[2],\"loss\":1,\"seconds\":1}", "clients: 2 is outside [0, 1]"},
    {ROUND ",\"clients\":[1],\"loss\":\"x\",\"seconds\":1}", "loss: "},
    {EVAL ",\"accuracy\":[1],\"n\":[1,1]}", "accuracy: wants an array of 2 values"},
    {EVAL ",\"accuracy\":[1,1.5],\"n\":[1,1]}", "accuracy: 1.5 is no fraction"},
    {EVAL ",\"accuracy\":[1,1],\"n\":[1]}", "n: 1 values, not 2"},
    {"{\"event\":\"eval\",\"round\":1,\"who\":\"me\"}", "who: 'me' is neither 'server' nor"},
    {"{\"event\":\"eval\",\"round\":9,\"who\":0}", "eval: round: 9 is outside [0, 4]"},
    {"{\"event\":\"left_out\",\"round\":1,\"client\":7,\"why\":\"\"}", "client: 7 is outside"},
    {"{\"event\":\"skipped\",\"round\":1}", "skipped: 'why' is missing"},
};

static void test_malformed_events_are_one_clear_sentence(void **state)
{
    (void)state;
    char text[2048];
    eg_runlog *r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int n = snprintf(text, sizeof text, "%s%s\n", start, wrong[i].line);
        files_write(folder, "metrics.jsonl", text, (size_t)n);
        assert_int_not_equal(eg_runlog_load(folder, &r), EG_OK);
        if (!strstr(eg_error(), wrong[i].says))
            fail_msg("'%s' does not say '%s'", eg_error(), wrong[i].says);
        assert_null(strchr(eg_error(), '\n'));
    }
    files_write(folder, "metrics.jsonl", "", 0);
    assert_fails(eg_runlog_load(folder, &r), EG_EFORMAT, "there is no start event");
    files_write(folder, "metrics.jsonl", wrong[3].line, strlen(wrong[3].line));
    assert_fails(eg_runlog_load("/none", &r), EG_ENOENT, "/none/metrics.jsonl");
}

static void test_summary_must_be_complete(void **state)
{
    (void)state;
    eg_runlog *r;
    fixture_write(&plain, folder);
    files_write(folder, "summary.json", "{\"acc_final\":1}", 15);
    assert_fails(eg_runlog_load(folder, &r), EG_EFORMAT,
                 "summary.json: 'acc_task_il' is missing");
    files_write(folder, "summary.json", "{\"acc_final\":\"x\"}", 17);
    assert_fails(eg_runlog_load(folder, &r), EG_EINVAL, "summary.json: acc_final: ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_run_folder_is_read_whole),
        TEST(test_without_a_server_clients_are_averaged),
        TEST(test_unfinished_run_is_read_as_far_as_it_got),
        TEST(test_full_evaluation_replaces_one_on_a_part),
        TEST(test_malformed_events_are_one_clear_sentence),
        TEST(test_summary_must_be_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
