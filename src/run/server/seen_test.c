/* seen_test.c - what the model takes for what, each test image of the classes met once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <math.h>

#include "run/log/run_folder.h"

#define TEXT(scenario)                                                                         \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 240, test: 120, classes: 6, size: 8}\n"                       \
    "model: {name: mlp, depth: 1, width: 16}\n"                                                \
    "scenario: {" scenario ", rounds: 1}\n"                                                    \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 3, batch: 10}\n"                                                          \
    "runs: [{label: a, method: fedavg}]\n"

/* Three tasks of two classes each, of 20 test images per class. */
#define APART TEXT("kind: class-incremental, clients: 2, tasks: 3, partition: iid")
/* Two tasks; in each of them the three clients draw two of the six classes. */
#define SHARED                                                                                 \
    TEXT("kind: class-incremental, clients: 3, tasks: 2, "                                     \
         "partition: {kind: parts, classes: 2}")
#define TURNED TEXT("kind: domain-rotation, clients: 2, tasks: 2, partition: iid")

static int64_t count_of(const eg_confusion_event *e, int64_t truth, bool right)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->n_cells; i += 3)
        if ((truth < 0 || e->cells[i] == truth) && (!right || e->cells[i] == e->cells[i + 1]))
            n += e->cells[i + 2];
    return n;
}

static void test_tasks_without_common_classes_add_up(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(APART, NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    assert_int_equal(e->n_confusion, 3);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 6; k++)
            assert_int_equal(count_of(&e->confusion[i], k, false), k < 2 * (i + 1) ? 20 : 0);
    eg_events_free(e);
    /* Tasks are of one size, so the mean over tasks is that over images. */
    assert_near(runs_value(path, "acc_seen"), runs_value(path, "acc_final"), 1e-12);
}

static void test_a_class_that_tasks_share_counts_once(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(SHARED, NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    const eg_confusion_event *last = &e->confusion[e->n_confusion - 1];
    int64_t tested = 0, classes = 0;
    for (int64_t k = 0; k < 6; k++) {
        int64_t n = count_of(last, k, false);
        assert_true(n == 0 || n == 20);
        classes += n > 0;
    }
    for (int t = 0; t < 2; t++)
        tested += e->eval[e->n_eval - 1].n[t];
    assert_true(tested > 20 * classes); /* else the draw shares none and shows nothing */
    assert_near(runs_value(path, "acc_seen"),
                (double)count_of(last, -1, true) / (double)count_of(last, -1, false), 1e-12);
    eg_events_free(e);
}

static void test_a_turned_image_is_another_one(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TURNED, NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    assert_int_equal(e->n_confusion, 2);
    assert_int_equal(count_of(&e->confusion[0], -1, false), 120);
    assert_int_equal(count_of(&e->confusion[1], -1, false), 240);
    eg_events_free(e);
    /* With no angle to tell them apart both tasks show the same images. */
    assert_ok(fixture_run(TURNED, "scenario.degrees=0", 1, 0, path));
    e = fixture_events(path);
    assert_int_equal(count_of(&e->confusion[1], -1, false), 120);
    eg_events_free(e);
}

/* The lines of classes.csv are those of the matrices. */
static void test_the_folder_has_the_accuracy_of_every_class(void **state)
{
    (void)state;
    char path[512], file[EG_RUN_PATH], line[128], want[128];
    assert_ok(fixture_run(APART, NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    assert_ok(eg_run_file(path, EG_RUN_CLASSES, file));
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "round,class,n,correct,accuracy\n");
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 2 * (i + 1); k++) {
            int64_t right = count_of(&e->confusion[i], k, true);
            snprintf(want, sizeof want, "%lld,%lld,20,%lld,", (long long)i + 1, (long long)k,
                     (long long)right);
            assert_non_null(fgets(line, sizeof line, f));
            assert_memory_equal(line, want, strlen(want));
            assert_near(strtod(line + strlen(want), NULL), (double)right / 20, 1e-12);
        }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    eg_events_free(e);
}

/* Clients with models of their own have no common one to ask. */
static void test_personal_models_have_no_such_matrix(void **state)
{
    (void)state;
    char path[512];
    static const char text[] = "name: t\n"
                               "data: {name: blobs, train: 80, test: 16, classes: 4}\n"
                               "model: {name: mlp, depth: 0}\n"
                               "scenario: {kind: class-incremental, clients: 2, tasks: 2,\n"
                               "           rounds: 1, partition: iid}\n"
                               "runs: [{label: a, method: local}]\n";
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    assert_int_equal(e->n_confusion, 0);
    eg_events_free(e);
    assert_true(isnan(runs_value(path, "acc_seen")));
}

static void test_the_matrix_is_the_same_however_a_run_is_carried_out(void **state)
{
    (void)state;
    char path[512];
    eg_events *e[3];
    static const int workers[] = {1, 2, -2};
    for (int i = 0; i < 3; i++) {
        assert_ok(fixture_run(SHARED, NULL, workers[i], i == 2, path));
        e[i] = fixture_events(path);
        assert_int_equal(e[i]->n_confusion, 2);
    }
    for (int i = 1; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            const eg_confusion_event *a = &e[0]->confusion[k], *b = &e[i]->confusion[k];
            assert_int_equal(a->n_cells, b->n_cells);
            assert_memory_equal(a->cells, b->cells, a->n_cells * sizeof *a->cells);
        }
    for (int i = 0; i < 3; i++)
        eg_events_free(e[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_without_common_classes_add_up),
        cmocka_unit_test(test_a_class_that_tasks_share_counts_once),
        cmocka_unit_test(test_a_turned_image_is_another_one),
        cmocka_unit_test(test_the_folder_has_the_accuracy_of_every_class),
        cmocka_unit_test(test_personal_models_have_no_such_matrix),
        cmocka_unit_test(test_the_matrix_is_the_same_however_a_run_is_carried_out),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
