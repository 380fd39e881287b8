/* resume_test.c - a run that several processes carry on: one at a time, and its time adds up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"
#include "small_run.h"

#include "run/experiment/feed.h"
#include "run/log/events.h"
#include "run/log/run_folder.h"

#include <time.h>
#include <unistd.h>

static char folder[FILES_PATH];

/* The first process takes its time, and stops after a round. */
static bool stop_late(void *context, const eg_progress *p)
{
    (void)context, (void)p;
    nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
    return false;
}

static bool see_time(void *context, const eg_progress *p)
{
    double *least = context;
    *least = fmin(*least, p->seconds);
    return true;
}

/* Seconds spent in a part, as the summary says. */
static double part_seconds(const char *path, const char *part)
{
    eg_json *summary = runs_summary(path);
    double seconds;
    assert_ok(eg_json_real(eg_json_get(eg_json_get(summary, "part_seconds"), part), &seconds));
    eg_json_free(summary);
    return seconds;
}

/* Also of what the core does for a part: it draws the rows that er replays. */
static void test_the_time_of_all_processes_counts(void **state)
{
    (void)state;
    char path[512];
    bool stopped;
    double least = 1e9;
    eg_experiment *e = small_run_open(folder, &(small_run){.method = "er"});
    eg_run_how how = {.workers = 1, .out = folder, .progress = stop_late};
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_true(stopped);
    how.resume = true, how.progress = see_time, how.context = &least;
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_false(stopped);
    assert_true(runs_value(path, "seconds") >= 0.3);
    assert_true(runs_value(path, "train_seconds") > 0);
    assert_true(part_seconds(path, "er") > 0);
    assert_true(part_seconds(path, "er") < runs_value(path, "train_seconds"));
    assert_true(least >= 0.3);
    eg_experiment_free(e);
}

static void test_one_process_at_a_time(void **state)
{
    (void)state;
    char path[512];
    bool stopped;
    int lock, again;
    eg_experiment *e = small_run_open(folder, &(small_run){.method = "fedavg"});
    eg_run_how how = {.workers = 1, .out = folder, .progress = stop_late};
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_ok(eg_run_folder_lock(path, &lock));
    assert_fails(eg_run_folder_lock(path, &again), EG_EBUSY, "another process carries out");
    how.resume = true, how.progress = NULL;
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_EBUSY,
                 "another process carries out");
    assert_true(eg_run_is_busy(path));
    close(lock);
    assert_false(eg_run_is_busy(path));
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_EINVAL, "is finished");
    eg_experiment_free(e);
}

static void test_a_test_set_of_another_shape_is_refused(void **state)
{
    (void)state;
    static const char text[] = "name: t\n"
                               "data: npy\n"
                               "model: {name: mlp, depth: 0}\n"
                               "scenario: {kind: class-incremental, clients: 1, tasks: 1}\n"
                               "runs: [{label: a, method: fedavg}]\n";
    static const float x[2 * 9];
    static const int32_t y[2] = {0, 1};
    char file[FILES_PATH * 2];
    eg_experiment *e;
    eg_feed f;
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(2, 1, 2, 2)", x, 32);
    fakes_npy(folder, "npy/x_test.npy", "<f4", "(2, 1, 3, 3)", x, 72);
    fakes_npy(folder, "npy/y_train.npy", "<i4", "(2,)", y, 8);
    fakes_npy(folder, "npy/y_test.npy", "<i4", "(2,)", y, 8);
    files_write(folder, "npy.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/npy.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
    assert_fails(eg_feed_open(e, 0, folder, &f), EG_ESHAPE,
                 "npy is 1x2x2 and its test set 1x3x3");
    eg_experiment_free(e);
}

/* Writes npy files of 8 + 4 images of two classes; `first` is a pixel of the first image. */
static void write_data(float first)
{
    float x[8 * 4] = {first};
    int32_t y[8];
    for (int i = 0; i < 8; i++)
        x[4 * i + 1] = (float)(y[i] = i % 2);
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(8, 1, 2, 2)", x, sizeof x);
    fakes_npy(folder, "npy/x_test.npy", "<f4", "(4, 1, 2, 2)", x, sizeof x / 2);
    fakes_npy(folder, "npy/y_train.npy", "<i4", "(8,)", y, sizeof y);
    fakes_npy(folder, "npy/y_test.npy", "<i4", "(4,)", y, sizeof y / 2);
}

/* Another pixel: a run does not go on, unless it is forced; then its log says so. */
static void test_a_run_goes_on_with_its_own_data(void **state)
{
    (void)state;
    static const char text[] =
        "name: own\n"
        "data: npy\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 3, "
        "partition: iid}\n"
        "runs: [{label: a, method: fedavg}]\n";
    char file[FILES_PATH * 2], path[512];
    bool stopped;
    eg_experiment *e;
    eg_events *log;
    write_data(0.5F);
    files_write(folder, "own.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/own.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
    eg_run_how how = {.workers = 1, .out = folder, .data_dir = folder, .progress = stop_late};
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_true(stopped);
    how.resume = true, how.progress = NULL;
    write_data(0.25F);
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_EINVAL,
                 "other than when the run began: the data's pixels (");
    how.force = true;
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_ok(eg_events_load(path, &log));
    assert_int_equal(log->n_forced, 1);
    assert_int_equal(log->forced.round, 1);
    assert_non_null(strstr(log->forced.why, "the data's pixels"));
    eg_events_free(log);
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_time_of_all_processes_counts),
        cmocka_unit_test(test_one_process_at_a_time),
        cmocka_unit_test(test_a_test_set_of_another_shape_is_refused),
        cmocka_unit_test(test_a_run_goes_on_with_its_own_data),
    };
    files_folder(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    files_remove(folder);
    return failed;
}
