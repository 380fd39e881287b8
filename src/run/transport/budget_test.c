/* budget_test.c - a run that does not fit is refused by what it would need, and that is enough.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/joiner.h"
#include "runs.h"

#include "own_folder.h"

#include <engram/program.h>

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 200, test: 40, classes: 4}\n"
    "model: {name: cnn-small}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 64}\n"
    "optimizer: {lr: 0.05, momentum: 0.5}\n"
    "train: {batch: 16, optimizer_state: keep}\n"
    "er: {batch: 32}\n"
    "runs:\n"
    "- {label: fedavg, method: fedavg}\n"
    "- {label: er, method: er}\n";

/* A device that has opened its data for a run. */
static void open_device(const char *label, eg_joiner *j, eg_join_how *how)
{
    char file[FILES_PATH * 2], store[FILES_PATH * 2];
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    snprintf(store, sizeof store, "%s/store", folder);
    files_write(folder, "t.yaml", text, strlen(text));
    *how = (eg_join_how){0};
    *j = (eg_joiner){.how = how};
    assert_ok(eg_experiment_load(file, label, 0, NULL, &j->e));
    assert_ok(eg_rig_new(j->e, &(eg_origin){0}, store, &j->rig));
}

static void close_device(eg_joiner *j)
{
    eg_rig_free(j->rig);
    eg_experiment_free(j->e);
}

static void test_a_plan_that_is_measured_takes_what_the_real_one_does(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 16, 48};
    eg_joiner j;
    eg_join_how how;
    open_device("fedavg", &j, &how);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t measured;
        eg_plan *plan;
        assert_ok(eg_worker_plan_bytes(&j.rig->worker, rows[i], &measured));
        assert_ok(eg_program_plan(j.rig->worker.plain[EG_TRAIN_FORM], rows[i], &plan));
        assert_int_equal(measured, eg_plan_bytes(plan));
        assert_true(measured > 0);
    }
    close_device(&j);
}

/* The least that is enough, to a kilobyte. */
static int64_t least(eg_joiner *j, eg_join_how *how)
{
    int64_t low = 0, high = INT64_C(1) << 40;
    while (high - low > 1000) {
        how->memory = (low + high) / 2;
        if (eg_joiner_fits(j) == EG_OK)
            high = how->memory;
        else
            low = how->memory;
    }
    return high;
}

static void test_what_a_refusal_names_is_enough(void **state)
{
    (void)state;
    eg_joiner j;
    eg_join_how how;
    double needs;
    open_device("fedavg", &j, &how);
    assert_ok(eg_joiner_fits(&j)); /* without a bound everything fits */
    how.memory = 1 << 20;
    assert_fails(eg_joiner_fits(&j), EG_ENOMEM, "does not fit into 1.0 MB of memory");
    const char *at = strstr(eg_error(), "would need about ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "would need about %lf MB", &needs), 1);
    how.memory = (int64_t)(1e6 * (needs + 0.1));
    assert_ok(eg_joiner_fits(&j));
    how.memory = (int64_t)(1e6 * (needs - 0.1));
    assert_fails(eg_joiner_fits(&j), EG_ENOMEM, "does not fit");
    close_device(&j);
}

static void test_replay_needs_the_plans_of_a_memory_that_fills(void **state)
{
    (void)state;
    eg_joiner j;
    eg_join_how how;
    size_t batch, all;
    open_device("fedavg", &j, &how);
    assert_ok(eg_worker_plan_bytes(&j.rig->worker, 16, &batch));
    assert_ok(eg_worker_plan_bytes(&j.rig->worker, 48, &all));
    int64_t alone = least(&j, &how);
    close_device(&j);
    open_device("er", &j, &how);
    /* Batches of 16 beside 0, 16 and 32 rows, and what is left of the samples. */
    int64_t more = least(&j, &how) - alone;
    assert_true(more > (int64_t)(all - batch));
    assert_true(more < (int64_t)(3 * all + (1 << 21)));
    close_device(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_that_is_measured_takes_what_the_real_one_does),
        cmocka_unit_test(test_what_a_refusal_names_is_enough),
        cmocka_unit_test(test_replay_needs_the_plans_of_a_memory_that_fills),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
