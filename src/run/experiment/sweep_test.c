/* sweep_test.c - settings with several values make a run for each combination.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/experiment.h>

#include <stdio.h>

#define HEAD                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, classes: 4}\n"                                                        \
    "model: {name: mlp, depth: 1}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 2, tasks: 2}\n"

static const char plain[] = HEAD "runs:\n- {label: a, method: fedavg}\n"
                                 "- {label: a b, method: fedprox}\n";
static const char swept[] = HEAD "sweep: {optimizer.lr: [0.1, 0.01, 1e-3]}\n"
                                 "runs:\n"
                                 "- {label: a, method: fedavg}\n"
                                 "- label: b\n"
                                 "  method: fedprox\n"
                                 "  sweep: {fedprox.mu: [1, 0.5], data.mean: [[0.5, 0.25]]}\n"
                                 "- {label: c, method: fedavg, sweep: {optimizer.lr: 0.5}}\n";

/* The labels of a run's sweep, with bars between; or the error text. */
static const char *labels(const char *text, const char *label, size_t n,
                          const char *const *sets)
{
    static char all[2048];
    eg_experiment_file *file;
    eg_experiments runs;
    size_t used = 0;
    assert_ok(eg_experiment_parse("t.yaml", text, &file));
    eg_status s = eg_experiment_file_sweep(file, label, n, sets, &runs);
    snprintf(all, sizeof all, "%s", s == EG_OK ? "" : eg_error());
    for (size_t i = 0; s == EG_OK && i < runs.n; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? "|" : "",
                                 eg_experiment_label(runs.list[i]));
    eg_experiments_free(&runs);
    eg_experiment_file_free(file);
    return all;
}

#define assert_labels(want, text, label, ...)                                                  \
    do {                                                                                       \
        const char *const sets_[] = {__VA_ARGS__};                                             \
        assert_string_equal(labels(text, label, sizeof sets_ / sizeof *sets_, sets_), want);   \
    } while (0)

static void test_each_value_makes_a_run(void **state)
{
    (void)state;
    assert_string_equal(labels(plain, "a", 0, NULL), "a");
    assert_labels("a", plain, "a", "optimizer.lr=0.1");
    assert_labels("a optimizer.lr=0.01|a optimizer.lr=0.1", plain, "a",
                  "optimizer.lr=0.1,0.01");
    assert_labels("a b model=mlp|a b model=cnn", plain, "a b", "model=mlp,cnn");
    assert_labels("a optimizer.lr=1 train.batch=8|a optimizer.lr=1 train.batch=16|"
                  "a optimizer.lr=2 train.batch=8|a optimizer.lr=2 train.batch=16",
                  plain, "a", "optimizer.lr=2,1", "train.batch=16,8", "optimizer.momentum=0.5");
    assert_labels("a optimizer.lr=1", plain, "a optimizer.lr=1", "optimizer.lr=2,1");
}

static void test_a_file_has_sweeps_for_all_runs_and_for_one(void **state)
{
    (void)state;
    assert_string_equal(labels(swept, NULL, 0, NULL),
                        "a optimizer.lr=1e-3|a optimizer.lr=0.01|a optimizer.lr=0.1");
    assert_string_equal(labels(swept, "b", 0, NULL),
                        "b optimizer.lr=1e-3 fedprox.mu=0.5|b optimizer.lr=1e-3 fedprox.mu=1|"
                        "b optimizer.lr=0.01 fedprox.mu=0.5|b optimizer.lr=0.01 fedprox.mu=1|"
                        "b optimizer.lr=0.1 fedprox.mu=0.5|b optimizer.lr=0.1 fedprox.mu=1");
    assert_string_equal(labels(swept, "c", 0, NULL), "c");
    /* What is set from outside comes in place of a sweep. */
    assert_labels("b fedprox.mu=0.5|b fedprox.mu=1", swept, "b", "optimizer.lr=7");
    assert_labels("b", swept, "b", "optimizer.lr=7", "fedprox.mu=2");
    assert_labels("a optimizer.weight-decay=1|a optimizer.weight-decay=2", plain, "a",
                  "optimizer.weight_decay=3,4", "optimizer.weight-decay=1,2");
    assert_labels("a optimizer=sgd|a optimizer=adam", plain, "a", "optimizer=adam,sgd",
                  "optimizer.name=sgd,adam");
}

static void test_the_values_are_set(void **state)
{
    (void)state;
    eg_experiment_file *file;
    eg_experiments runs;
    eg_experiment *one;
    assert_ok(eg_experiment_parse("t.yaml", swept, &file));
    assert_ok(eg_experiment_file_sweep(file, "b", 0, NULL, &runs));
    assert_int_equal(runs.n, 6);
    const char *text = eg_experiment_text(runs.list[3]);
    assert_non_null(strstr(text, "\n  lr: 0.01\n"));
    assert_non_null(strstr(text, "\n  mu: 1\n"));
    assert_non_null(strstr(text, "\n  mean: [0.5, 0.25]\n"));
    assert_non_null(strstr(text, "- label: 'b optimizer.lr=0.01 fedprox.mu=1'\n"));
    assert_null(strstr(text, "sweep"));
    assert_ok(
        eg_experiment_file_resolve(file, "b optimizer.lr=0.01 fedprox.mu=1", 0, NULL, &one));
    assert_string_equal(eg_experiment_text(one), text);
    eg_experiment_free(one);
    assert_fails(eg_experiment_file_resolve(file, "b", 0, NULL, &one), EG_EINVAL,
                 "'b' stands for 6 runs; one of them is 'b optimizer.lr=1e-3 fedprox.mu=0.5'");
    assert_ok(eg_experiment_file_resolve(file, NULL, 0, NULL, &one)); /* the first */
    assert_string_equal(eg_experiment_label(one), "a optimizer.lr=1e-3");
    eg_experiment_free(one);
    eg_experiments_free(&runs);
    eg_experiment_file_free(file);
}

static void test_a_comma_in_a_text_or_a_list_is_its_own(void **state)
{
    (void)state;
    assert_labels("a", plain, "a", "data.mean=0.5,0.25", "data.std=[1,2]");
    assert_labels("a", plain, "a", "data=npy", "data.path=x,y");
    assert_labels("a", plain, "a", "name=x,y");
    assert_labels("a", plain, "a", "scenario.kind=domain-rotation", "scenario.turns=10,20");
}

static void test_sweeps_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const char list[] = HEAD "sweep: [optimizer.lr]\nruns: [{label: a, method: er}]\n";
    static const char tree[] =
        HEAD "sweep: {optimizer: {lr: [1, 2]}}\nruns: [{label: a, method: er}]\n";
    static const char none[] =
        HEAD "sweep: {optimizer.lr: []}\nruns: [{label: a, method: er}]\n";
    static const char typo[] =
        HEAD "sweep: {optimizer.lrr: [1, 2]}\nruns: [{label: a, method: fedavg}]\n";
    char longest[400];
    assert_string_equal(labels(list, "a", 0, NULL),
                        "t.yaml:5:8: sweep: a mapping is wanted, not a sequence");
    assert_non_null(strstr(labels(tree, "a", 0, NULL), "t.yaml:5:20: a sweep has settings"));
    assert_non_null(strstr(labels(none, "a", 0, NULL), "t.yaml:5:23: a sweep has settings"));
    assert_non_null(
        strstr(labels(typo, "a", 0, NULL),
               "t.yaml:5:24: sgd: there is no option 'lrr' (did you mean 'optimizer.lr'?)"));
    assert_labels("--set: optimizer.lr: 0.1 is there twice", plain, "a",
                  "optimizer.lr=0.10,1,0.1");
    assert_labels("--set: model: cnn is there twice", plain, "a", "model=cnn,mlp,cnn");
    assert_labels("--set: 'optimizer.lr' is not key=value", plain, "a", "optimizer.lr");
    assert_labels("--set optimizer.lr: sgd: lr: '' is not a number", plain, "a",
                  "optimizer.lr=,1");
    assert_labels("the sweep has more than 1000 combinations", plain, "a",
                  "train.epochs=1,2,3,4,5,6,7,8,9,10,11", "train.batch=1,2,3,4,5,6,7,8,9,10",
                  "memory.size=1,2,3,4,5,6,7,8,9,10");
    snprintf(longest, sizeof longest, "optimizer.lr=1,0.%0300d", 7);
    assert_non_null(strstr(labels(plain, "a", 1, (const char *const[]){longest}), "is longer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_value_makes_a_run),
        cmocka_unit_test(test_a_file_has_sweeps_for_all_runs_and_for_one),
        cmocka_unit_test(test_the_values_are_set),
        cmocka_unit_test(test_a_comma_in_a_text_or_a_list_is_its_own),
        cmocka_unit_test(test_sweeps_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
