/* preview_test.c - a preview is what the run sees; published counts shrink as the data would.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "test.h"

#include "run/experiment/feed.h"

#include "own_folder.h"

/* Loads the run 'a' of a file with this data, and one more setting. */
static eg_experiment *load(const char *data, const char *set)
{
    char text[1024], file[FILES_PATH * 2];
    eg_experiment *e;
    snprintf(text, sizeof text,
             "name: t\ndata: %s\nmodel: mlp\n"
             "scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 6}\n"
             "runs:\n- {label: a, method: fedavg, overrides: {scenario: {tasks: 5}}}\n",
             data);
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", set ? 1 : 0, &set, &e));
    return e;
}

static void check_as_run(const char *set)
{
    eg_experiment *e = load("{name: glyphs, classes: 10, train: 1200, test: 80}", set);
    eg_preview seen;
    eg_feed run;
    char a[65], b[65];
    assert_ok(eg_experiment_preview(e, 3, false, &seen));
    assert_ok(eg_feed_open(e, 3, NULL, &run));
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.names[0], "glyphs");
    assert_false(seen.published[0]);
    assert_int_equal(seen.labels[0].n_train, run.labels[0].n_train);
    assert_int_equal(seen.labels[0].n_test, run.labels[0].n_test);
    assert_int_equal(eg_scenario_n_tasks(seen.scenario), 5);
    assert_int_equal(eg_scenario_n_rounds(seen.scenario), eg_scenario_n_rounds(run.scenario));
    assert_ok(eg_scenario_digest(seen.scenario, a));
    assert_ok(eg_scenario_digest(run.scenario, b));
    assert_string_equal(a, b);
    eg_feed_close(&run);
    eg_preview_fini(&seen);
    eg_experiment_free(e);
}

static void test_a_preview_is_what_the_run_sees(void **state)
{
    (void)state;
    check_as_run(NULL);
    check_as_run("data.share=0.3");
    check_as_run("scale=0.5");
}

static void test_published_counts_shrink_by_class(void **state)
{
    (void)state;
    static const int64_t mnist[] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
    eg_experiment *e = load("mnist", "data.share=0.1");
    eg_preview seen;
    int64_t count[10] = {0}, total = 0;
    assert_ok(eg_experiment_preview(e, 0, false, &seen));
    assert_true(seen.published[0]);
    for (int64_t i = 0; i < seen.labels[0].n_train; i++)
        count[seen.labels[0].train[i]]++;
    for (int k = 0; k < 10; k++) {
        assert_int_equal(count[k], (mnist[k] + 9) / 10); /* a tenth, rounded up */
        total += count[k];
    }
    assert_int_equal(seen.labels[0].n_train, total);
    eg_preview_fini(&seen);
    eg_experiment_free(e);
}

static void test_published_counts_are_not_of_set_options(void **state)
{
    (void)state;
    char was[FILES_PATH] = "";
    if (getenv("ENGRAM_DATA"))
        snprintf(was, sizeof was, "%s", getenv("ENGRAM_DATA"));
    setenv("ENGRAM_DATA", folder, 1); /* where there is nothing */
    eg_experiment *e = load("{name: cifar100, labels: coarse}", NULL);
    eg_preview seen;
    assert_fails(eg_experiment_preview(e, 0, false, &seen), EG_ENOENT, "cifar100");
    eg_experiment_free(e);
    e = load("{name: cifar100, labels: fine}", NULL); /* as it has them of itself */
    assert_ok(eg_experiment_preview(e, 0, false, &seen));
    assert_true(seen.published[0]);
    eg_preview_fini(&seen);
    eg_experiment_free(e);
    if (*was)
        setenv("ENGRAM_DATA", was, 1);
    else
        unsetenv("ENGRAM_DATA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_preview_is_what_the_run_sees),
        cmocka_unit_test(test_published_counts_shrink_by_class),
        cmocka_unit_test(test_published_counts_are_not_of_set_options),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
