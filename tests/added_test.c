/* added_test.c - methods and data sets of one's own, and a run's log as others read it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/log.h>
#include <engram/method.h>
#include <math.h>

typedef struct plain {
    double rate;
} plain;

static const eg_opt plain_opts[] = {
    EG_OPT_REAL(plain, rate, 0.5, 0, 1, "a number"),
    EG_OPT_END,
};
static const eg_method plain_method = {
    .component = {"plain", "nothing", sizeof(plain), plain_opts}};

static void test_an_added_method_has_its_name_and_options(void **state)
{
    (void)state;
    static const char text[] = "name: t\n"
                               "data: {name: blobs, train: 80, test: 16, classes: 4}\n"
                               "model: {name: mlp, depth: 0}\n"
                               "scenario: {kind: class-incremental, clients: 2, tasks: 2,\n"
                               "           rounds: 1, partition: iid}\n"
                               "plain: {rate: 0.25}\n"
                               "runs: [{label: a, method: [plain, er]}]\n"
                               "memory: {kind: reservoir, size: 20}\n";
    eg_experiment *e;
    char path[512];
    assert_fails(fixture_load(text, NULL, &e), EG_ENOENT, "plain");
    assert_ok(eg_method_add(&plain_method));
    assert_ptr_equal(eg_method_find("plain"), &plain_method);
    assert_ok(fixture_load(text, NULL, &e));
    assert_non_null(strstr(eg_experiment_text(e), "plain:\n  rate: 0.25\n"));
    eg_experiment_free(e);
    assert_fails(fixture_load(text, "plain.rte=1", &e), EG_ENOENT,
                 "did you mean 'plain.rate'?");
    assert_ok(fixture_run(text, NULL, 1, 0, path));
}

/* The remembered row is drawn by the name of the part, so only with er's numbers has another
 * writing of it er's bits. */
static eg_status echo_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->memory = true;
    out->replays[0] = (eg_replay){.rows = 32, .joins = true};
    return EG_OK;
}
static const eg_method echo_method = {
    .component = {"echo", "er once more", 0, NULL}, .setup = echo_setup, .draws_as = "er"};
static const eg_method alone_method = {
    .component = {"alone", "er with numbers of its own", 0, NULL}, .setup = echo_setup};

static void echo_digest(const char *method, char digest[65])
{
    char text[512], path[512];
    snprintf(text, sizeof text,
             "name: t\n"
             "data: {name: blobs, train: 200, test: 16, classes: 4}\n"
             "model: {name: mlp, depth: 0}\n"
             "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2,\n"
             "           partition: iid}\n"
             "runs: [{label: a, method: %s}]\n"
             "memory: {kind: reservoir, size: 50}\n",
             method);
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    runs_hash(path, digest);
}

static void test_another_writing_of_a_method_may_have_its_random_numbers(void **state)
{
    (void)state;
    char er[65], echo[65], alone[65];
    assert_ok(eg_method_add(&echo_method));
    assert_ok(eg_method_add(&alone_method));
    echo_digest("er", er);
    echo_digest("echo", echo);
    echo_digest("alone", alone);
    assert_string_equal(er, echo);
    assert_string_not_equal(er, alone);
}

static void refuses(eg_method m, const char *words)
{
    assert_fails(eg_method_add(&m), EG_EINVAL, words);
}

static void test_a_method_that_cannot_be_right_is_refused(void **state)
{
    (void)state;
    eg_method good = plain_method, bad;
    static const eg_opt wide[] = {EG_OPT_REAL(plain, rate, 2, 0, 1, "x"), EG_OPT_END};
    static const eg_opt twice[] = {EG_OPT_REAL(plain, rate, 0, 0, 1, "x"),
                                   EG_OPT_REAL(plain, rate, 0, 0, 1, "x"), EG_OPT_END};
    good.component.name = "other";
    refuses((eg_method){.component = {.name = "fedavg", .help = "x"}},
            "there is a method 'fedavg' already");
    refuses((eg_method){.component = {.name = "Fed Avg", .help = "x"}},
            "the name 'Fed Avg' is not");
    refuses((eg_method){.component = {.help = "x"}}, "the name ''");
    refuses((eg_method){.component = {.name = "other"}}, "'other' has no help");
    bad = good, bad.component.size = 4;
    refuses(bad, "option 'rate' lies outside its struct of 4 bytes");
    bad = good, bad.component.opts = wide;
    refuses(bad, "its default 2 is outside [0, 1]");
    bad = good, bad.component.opts = twice;
    refuses(bad, "'rate' is there twice");
    bad = good, bad.client.size = 4;
    refuses(bad, "begins with the options, but is smaller");
    assert_null(eg_method_find("other"));
}

static void test_a_method_with_a_sections_name_is_refused(void **state)
{
    (void)state;
    static const eg_method named = {.component = {.name = "train", .help = "x"}};
    eg_experiment *e;
    assert_ok(eg_method_add(&named));
    assert_fails(
        fixture_load("name: t\ndata: blobs\nruns: [{label: a, method: train}]\n", NULL, &e),
        EG_EINVAL, "has the name of a section");
}

static eg_status empty_load(const void *self, const eg_origin *from, eg_split split,
                            eg_table *out)
{
    (void)self, (void)from, (void)split;
    *out = (eg_table){.n = 1, .channels = 1, .height = 1, .width = 1, .classes = 1};
    return eg_alloc(1, sizeof *out->y, &out->y);
}

static void test_a_data_set_that_cannot_be_right_is_refused(void **state)
{
    (void)state;
    static const eg_dataset mnist = {.component = {.name = "mnist", .help = "x"},
                                     .load = empty_load};
    static const eg_dataset bare = {.component = {.name = "bare", .help = "x"}};
    static const eg_dataset empty = {.component = {.name = "empty", .help = "x"},
                                     .load = empty_load};
    eg_table t;
    assert_fails(eg_dataset_add(&mnist), EG_EINVAL, "there is a data set 'mnist' already");
    assert_fails(eg_dataset_add(&bare), EG_EINVAL, "nothing to load it with");
    assert_ok(eg_dataset_add(&empty));
    assert_fails(eg_dataset_load(eg_dataset_find("empty"), NULL, NULL, EG_TRAIN, &t),
                 EG_EFORMAT, "either bytes or floats");
}

static void test_a_copy_of_a_table_is_its_own(void **state)
{
    (void)state;
    eg_table t, copy;
    char a[65], b[65];
    assert_ok(eg_dataset_load(eg_dataset_find("glyphs"), NULL, NULL, EG_TEST, &t));
    assert_ok(eg_table_copy(&t, &copy));
    eg_table_digest(&t, a);
    t.u8[0] ^= 1;
    eg_table_fini(&t);
    eg_table_digest(&copy, b);
    assert_string_equal(a, b);
    eg_table_fini(&copy);
}

static void test_a_log_says_what_the_summary_says(void **state)
{
    (void)state;
    static const char text[] = "name: t\n"
                               "data: {name: blobs, train: 80, test: 16, classes: 4}\n"
                               "model: {name: mlp, depth: 0}\n"
                               "scenario: {kind: class-incremental, clients: 2, tasks: 2,\n"
                               "           rounds: 2, partition: iid}\n"
                               "runs: [{label: a, method: fedavg}]\n";
    char path[512];
    eg_run_log *log;
    eg_run_round round;
    double value, up = 0;
    size_t n = 0;
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    assert_ok(eg_run_log_open(path, &log));
    assert_string_equal(eg_run_log_label(log), "a");
    assert_int_equal(eg_run_log_seed(log), 3);
    assert_true(eg_run_log_value(log, "acc_final", &value));
    assert_near(value, runs_value(path, "acc_final"), 0);
    assert_false(eg_run_log_value(log, "acc_validation", &value));
    assert_false(eg_run_log_value(log, "beauty", &value));
    for (; eg_run_log_round(log, n, &round); n++)
        up += (double)round.bytes_up;
    assert_int_equal(n, 4);
    assert_near(up, runs_value(path, "bytes_up"), 0);
    assert_int_equal(eg_record_n_periods(eg_run_log_record(log)), 2);
    eg_run_log_free(log);
    assert_fails(eg_run_log_open(fixture_folder, &log), EG_ENOENT, "metrics.jsonl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_added_method_has_its_name_and_options),
        cmocka_unit_test(test_a_method_that_cannot_be_right_is_refused),
        cmocka_unit_test(test_a_method_with_a_sections_name_is_refused),
        cmocka_unit_test(test_a_data_set_that_cannot_be_right_is_refused),
        cmocka_unit_test(test_a_copy_of_a_table_is_its_own),
        cmocka_unit_test(test_another_writing_of_a_method_may_have_its_random_numbers),
        cmocka_unit_test(test_a_log_says_what_the_summary_says),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
