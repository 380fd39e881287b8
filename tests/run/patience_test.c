/* patience_test.c - validation in a run: what is measured on samples held out, and runs that
 * end when it does not become better.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/log.h>

#include <unistd.h>

/* 400 training samples of 4 clients, 100 of them held out. */
static const char text[] = "name: t\n"
                           "data: {name: blobs, train: 400, test: 40, classes: 4,\n"
                           "       validation: 0.25}\n"
                           "model: {name: mlp, depth: 0}\n"
                           "scenario: {kind: class-incremental, clients: 4, tasks: 2,\n"
                           "           rounds: 5, partition: iid}\n"
                           "optimizer: {lr: 0.1}\n"
                           "train: {epochs: 3}\n"
                           "eval: {every: round}\n"
                           "runs: [{label: a, method: %s}]\n";

/* Runs it with settings, up to the first NULL. */
static void run(const char *method, const char *const set[4], int workers, int64_t stop,
                char path[512])
{
    char file[FILES_PATH * 2], whole[1024];
    eg_experiment *e;
    size_t n = 0;
    while (n < 4 && set[n])
        n++;
    files_write(fixture_folder, "t.yaml", whole,
                (size_t)snprintf(whole, sizeof whole, text, method));
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    assert_ok(eg_experiment_load(file, "a", n, set, &e));
    assert_ok(runs_run(e, fixture_folder, workers, stop, path));
    eg_experiment_free(e);
}

static int64_t sum(const int64_t *n)
{
    return n[0] + n[1];
}

static void test_the_model_is_validated_on_what_all_clients_hold_out(void **state)
{
    (void)state;
    char path[512];
    run("fedavg", (const char *[4]){NULL}, 2, 0, path);
    eg_events *e = fixture_events(path);
    assert_int_equal(e->n_eval, 11); /* the untrained model, then each round */
    for (const eg_eval_event *v = e->eval; v < e->eval + e->n_eval; v++) {
        assert_int_equal(v->who, -1);
        assert_in_range(sum(v->n_validation), 96, 104);
    }
    const eg_eval_event *last = &e->eval[e->n_eval - 1];
    double mean = 0;
    for (int t = 0; t < 2; t++)
        mean += (double)last->correct_validation[t] / (double)last->n_validation[t] / 2;
    assert_near(runs_value(path, "acc_validation"), mean, 1e-12);
    assert_true(mean > 0.3); /* it has learned something of them */
    assert_false(e->stopped);
    eg_events_free(e);
}

static void test_a_model_of_a_client_is_validated_on_its_own(void **state)
{
    (void)state;
    char path[512];
    run("local", (const char *[4]){NULL}, 1, 0, path);
    eg_events *e = fixture_events(path);
    for (const eg_eval_event *v = e->eval; v < e->eval + e->n_eval; v++) {
        assert_true(v->who >= 0);
        assert_in_range(sum(v->n_validation), 24, 26);
    }
    eg_events_free(e);
    assert_true(runs_value(path, "acc_validation") > 0.3);
}

static void test_without_validation_nothing_is_written_of_it(void **state)
{
    (void)state;
    char path[512];
    run("fedavg", (const char *[4]){"data.validation=0"}, 1, 0, path);
    eg_events *e = fixture_events(path);
    assert_null(e->eval[0].n_validation);
    eg_events_free(e);
    eg_json *summary = runs_summary(path);
    assert_null(eg_json_get(summary, "acc_validation"));
    eg_json_free(summary);
}

/* A run that learns nothing stops: its first point of the last task is its best. */
static void stops_after(const char *path, int64_t round, int64_t best_round)
{
    eg_events *e = fixture_events(path);
    assert_true(e->stopped && e->ended);
    assert_int_equal(e->stop.round, round);
    assert_int_equal(e->stop.best_round, best_round);
    assert_int_equal(e->round[e->n_round - 1].round, round);
    const eg_eval_event *last = &e->eval[e->n_eval - 1];
    assert_true(last->round == round && last->full && last->task_end);
    assert_int_equal((int64_t)runs_value(path, "stopped_after"), round);
    eg_events_free(e);
}

static void test_a_run_ends_when_patience_does(void **state)
{
    (void)state;
    char path[512], hash[65], again[65];
    static const char *const set[4] = {"optimizer.lr=0", "eval.patience=3"};
    run("fedavg", set, 1, 0, path);
    stops_after(path, 9, 6); /* the second task begins with round 6 */
    runs_hash(path, hash);
    for (int64_t stop = 5; stop <= 8; stop++) { /* resumed before and while it waits */
        run("fedavg", set, 2, stop, path);
        stops_after(path, 9, 6);
        runs_hash(path, again);
        assert_string_equal(hash, again);
    }
    run("local", set, 1, 0, path);
    stops_after(path, 9, 6);
}

/* A stream is tested each round, but the server's model is validated every fifth: the rounds
 * between are no points. Models of the clients' own are validated each round. */
static void test_only_rounds_that_validate_count_in_a_stream(void **state)
{
    (void)state;
    static const char stream[] =
        "name: t\n"
        "data: {name: blobs, train: 4000, test: 80, classes: 4, validation: 0.2}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: realtime, clients: 3, classes: 2, samples: 10, rounds: 30,\n"
        "           per_round: 2, partition: iid}\n"
        "optimizer: {lr: 0}\n"
        "eval: {every: 5, patience: 3}\n"
        "runs: [{label: a, method: fedavg}, {label: b, method: local}]\n";
    static const struct {
        const char *label;
        int64_t round, best_round;
    } cases[] = {{"a", 20, 5}, {"b", 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512], file[FILES_PATH * 2];
        eg_experiment *e;
        files_write(fixture_folder, "s.yaml", stream, sizeof stream - 1);
        snprintf(file, sizeof file, "%s/s.yaml", fixture_folder);
        assert_ok(eg_experiment_load(file, cases[i].label, 0, NULL, &e));
        assert_ok(runs_run(e, fixture_folder, 1, 0, path));
        eg_experiment_free(e);
        eg_events *events = fixture_events(path);
        assert_true(events->stopped);
        assert_int_equal(events->stop.round, cases[i].round);
        assert_int_equal(events->stop.best_round, cases[i].best_round);
        eg_events_free(events);
    }
}

static void test_a_run_that_was_ending_ends_when_it_is_resumed(void **state)
{
    (void)state;
    char path[512], file[EG_RUN_PATH];
    bool stopped;
    eg_experiment *e;
    uint64_t seed;
    run("fedavg", (const char *[4]){"optimizer.lr=0", "eval.patience=1"}, 1, 0, path);
    stops_after(path, 7, 6);
    assert_ok(eg_run_file(path, EG_RUN_SUMMARY, file));
    assert_int_equal(unlink(file), 0); /* as if it had been killed just before */
    assert_ok(eg_experiment_of_folder(path, &e, &seed));
    eg_run_how how = {.seed = seed, .workers = 1, .resume = true, .folder = path};
    char folder[512];
    assert_ok(eg_experiment_run(e, &how, folder, &stopped));
    eg_experiment_free(e);
    stops_after(path, 7, 6);
}

static void test_patience_without_anything_to_go_by_is_refused(void **state)
{
    (void)state;
    char whole[1024];
    eg_experiment *e;
    snprintf(whole, sizeof whole, text, "fedavg");
    memcpy(strstr(whole, "validation: 0.25"), "size: 0         ", 16);
    assert_fails(fixture_load(whole, "eval.patience=2", &e), EG_EINVAL,
                 "eval.patience needs data.validation");
    snprintf(whole, sizeof whole, text, "fedavg");
    memcpy(strstr(whole, "every: round"), "patience: 2 ", 12);
    assert_fails(fixture_load(whole, NULL, &e), EG_EINVAL, "eval.every is task");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model_is_validated_on_what_all_clients_hold_out),
        cmocka_unit_test(test_a_model_of_a_client_is_validated_on_its_own),
        cmocka_unit_test(test_without_validation_nothing_is_written_of_it),
        cmocka_unit_test(test_a_run_ends_when_patience_does),
        cmocka_unit_test(test_only_rounds_that_validate_count_in_a_stream),
        cmocka_unit_test(test_a_run_that_was_ending_ends_when_it_is_resumed),
        cmocka_unit_test(test_patience_without_anything_to_go_by_is_refused),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
