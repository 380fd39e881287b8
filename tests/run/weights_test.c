/* weights_test.c - runs that start from a file's weights, and models saved with all they need.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/saved.h>

static const char text[] = "name: t\n"
                           "data: {name: glyphs, train: 80, test: 40, classes: 4, mean: 0.5,\n"
                           "       std: 0.25}\n"
                           "model: {name: mlp, depth: 1, width: 8}\n"
                           "scenario: {kind: class-incremental, clients: 2, tasks: 2,\n"
                           "           rounds: 1, partition: iid}\n"
                           "optimizer: {lr: 0.1}\n"
                           "runs: [{label: a, method: fedavg}, {label: s, method: shared}]\n";

enum { SETS = 4 };

/* Runs with settings up to the first NULL; the hash of its model. */
static void run(const char *const set[SETS], int workers, int64_t stop, char path[512],
                char hash[65])
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    size_t n = 0;
    while (n < SETS && set[n])
        n++;
    files_write(fixture_folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    assert_ok(eg_experiment_load(file, "a", n, set, &e));
    assert_ok(runs_run(e, fixture_folder, workers, stop, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
}

/* "model.weights=<path>/model.safetensors". */
static void weights_of(const char *path, char out[1024])
{
    snprintf(out, 1024, "model.weights=%s/model.safetensors", path);
}

static void test_a_run_begins_where_another_ended(void **state)
{
    (void)state;
    char first[512], path[512], set[1024], trained[65], hash[65], again[65];
    run((const char *[SETS]){NULL}, 1, 0, first, trained);
    weights_of(first, set);
    run((const char *[SETS]){set, "optimizer.lr=0"}, 1, 0, path, hash);
    assert_string_equal(hash, trained); /* nothing was learned on top of it */
    run((const char *[SETS]){set}, 1, 0, path, hash);
    assert_string_not_equal(hash, trained);
    run((const char *[SETS]){set}, -2, 0, path, again); /* processes of their own */
    assert_string_equal(again, hash);
    run((const char *[SETS]){set}, 2, 1, path, again); /* stopped and resumed */
    assert_string_equal(again, hash);
}

static void test_a_fresh_head_takes_other_classes(void **state)
{
    (void)state;
    char first[512], path[512], set[1024], hash[65];
    float feature[2];
    run((const char *[SETS]){NULL}, 1, 0, first, hash);
    weights_of(first, set);
    run((const char *[SETS]){set, "model.head=fresh", "optimizer.lr=0", "data.classes=8"}, 1, 0,
        path, hash);
    eg_tensors *file[2];
    for (int i = 0; i < 2; i++) {
        char name[1024];
        snprintf(name, sizeof name, "%s/model.safetensors", i ? path : first);
        assert_ok(eg_safetensors_load(name, &file[i]));
        memcpy(&feature[i], eg_tensors_find(file[i], "fc1.weight")->bytes, sizeof *feature);
    }
    assert_true(feature[0] == feature[1]);
    assert_int_equal(eg_tensors_find(file[1], "head.weight")->dims[0], 8);
    eg_tensors_free(file[0]);
    eg_tensors_free(file[1]);
}

static void test_weights_that_do_not_fit_are_named(void **state)
{
    (void)state;
    char first[512], path[512], set[1024], hash[65];
    eg_experiment *e;
    bool stopped;
    run((const char *[SETS]){NULL}, 1, 0, first, hash);
    weights_of(first, set);
    assert_ok(fixture_load(text, set, &e));
    eg_experiment_free(e);
    const char *const both[] = {set, "model.width=16"};
    char file[FILES_PATH * 2];
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    assert_ok(eg_experiment_load(file, "a", 2, both, &e));
    eg_run_how how = {.out = fixture_folder, .workers = 1};
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_ESHAPE,
                 "3 tensors do not fit: 'fc1.weight' is [8, 784], not [16, 784]");
    eg_experiment_free(e);
}

static void test_a_missing_file_is_told_with_its_place(void **state)
{
    (void)state;
    eg_experiment *e;
    static const char wrong[] = "name: t\n"
                                "model: {name: mlp, weights: no/such.safetensors}\n"
                                "data: blobs\n"
                                "scenario: {kind: class-incremental, clients: 2, tasks: 2}\n"
                                "runs: [{label: a, method: fedavg}]\n";
    assert_fails(fixture_load(wrong, NULL, &e), EG_EINVAL,
                 "t.yaml:2:29: weights: there is no file 'no/such.safetensors' to read");
}

static void test_another_file_of_the_same_name_is_refused(void **state)
{
    (void)state;
    char path[512], set[1024], hash[65];
    eg_experiment *e;
    run((const char *[SETS]){NULL}, 1, 0, path, hash);
    weights_of(path, set);
    assert_ok(fixture_load(text, set, &e));
    char *config = strdup(eg_experiment_text(e));
    eg_experiment_free(e);
    assert_ok(fixture_load(config, NULL, &e)); /* what is resolved resolves to itself */
    assert_string_equal(eg_experiment_text(e), config);
    eg_experiment_free(e);
    files_write(path, "model.safetensors", "other", 5);
    assert_fails(fixture_load(config, NULL, &e), EG_EINVAL,
                 "model.safetensors has the SHA-256");
    free(config);
}

/* The accuracy of a run's model, from its file alone, over the test images of the run. */
static double saved_accuracy(const char *path)
{
    char file[1024];
    eg_saved *saved;
    eg_table t = {0};
    eg_confusion all;
    double accuracy;
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_saved_open(file, &saved));
    assert_int_equal(eg_saved_n_classes(saved), 4);
    const eg_dataset *glyphs = eg_dataset_find("glyphs");
    void *options;
    assert_ok(eg_component_new(&glyphs->component, &options));
    assert_ok(eg_opts_set(glyphs->component.opts, options, "classes", "4"));
    assert_ok(eg_opts_set(glyphs->component.opts, options, "test", "40"));
    assert_ok(eg_dataset_load(glyphs, options, &(eg_origin){.seed = 3}, EG_TEST, &t));
    assert_ok(eg_confusion_init(&all, 4));
    assert_ok(eg_saved_test(saved, &t, NULL, 0, &all, NULL));
    assert_true(eg_confusion_accuracy(&all, &accuracy));
    eg_confusion_fini(&all);
    eg_table_fini(&t);
    free(options);
    eg_saved_free(saved);
    return accuracy;
}

static void test_a_saved_model_needs_nothing_else_to_be_tested(void **state)
{
    (void)state;
    char path[512], file[1024], hash[65];
    eg_saved *saved;
    run((const char *[SETS]){NULL}, 1, 0, path, hash);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_saved_open(file, &saved));
    assert_string_equal(eg_saved_note(saved, "network"), "mlp");
    assert_string_equal(eg_saved_note(saved, "input"), "1x28x28");
    assert_string_equal(eg_saved_note(saved, "mean"), "0.5");
    assert_string_equal(eg_saved_note(saved, "data"), "glyphs");
    assert_string_equal(eg_saved_note(saved, "version"), eg_version());
    eg_saved_free(saved);
    /* Both tasks have 20 images. */
    assert_near(saved_accuracy(path), runs_value(path, "acc_final"), 1e-9);
}

static void test_a_model_of_rotated_images_answers_for_upright_ones(void **state)
{
    (void)state;
    char path[512], hash[65];
    run((const char *[SETS]){"train.rotations=true"}, 1, 0, path, hash);
    assert_near(saved_accuracy(path), runs_value(path, "acc_final"), 1e-9);
}

static void test_a_model_whose_head_is_not_used_is_refused(void **state)
{
    (void)state;
    char path[512], file[1024];
    eg_experiment *e;
    eg_saved *saved;
    files_write(fixture_folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    assert_ok(eg_experiment_load(file, "s", 0, NULL, &e));
    assert_ok(runs_run(e, fixture_folder, 1, 0, path));
    eg_experiment_free(e);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_fails(eg_saved_open(file, &saved), EG_ENOTSUP,
                 "its answers are those of method 'shared'");
    assert_null(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_whose_head_is_not_used_is_refused),
        cmocka_unit_test(test_a_run_begins_where_another_ended),
        cmocka_unit_test(test_a_fresh_head_takes_other_classes),
        cmocka_unit_test(test_weights_that_do_not_fit_are_named),
        cmocka_unit_test(test_a_missing_file_is_told_with_its_place),
        cmocka_unit_test(test_another_file_of_the_same_name_is_refused),
        cmocka_unit_test(test_a_saved_model_needs_nothing_else_to_be_tested),
        cmocka_unit_test(test_a_model_of_rotated_images_answers_for_upright_ones),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
