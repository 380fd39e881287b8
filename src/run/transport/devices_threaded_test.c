/* devices_threaded_test.c - every method has the same bits on devices as on one machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method_runs.h"

#include "devices.h"

#include "run/experiment/experiment.h"

/* A run of one method, as it is for devices. */
static eg_experiment *load(const eg_method *m)
{
    char runs[256], file[FILES_PATH * 2];
    eg_experiment *e;
    snprintf(runs, sizeof runs, "- {label: one, method: %s%s}\n", m->component.name,
             method_runs_needs(m));
    method_runs_write(method_runs_base(m), runs);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "one", 0, NULL, &e));
    return e;
}

static void assert_refused(const eg_experiment *e, const char *why)
{
    const eg_listen listen = {.address = "127.0.0.1:0", .keys = "never-made"};
    const eg_run_how how = {.out = folder, .listen = &listen};
    char path[512];
    bool stopped;
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_ENOTSUP, why);
}

static void assert_same_bits(const eg_experiment *e, int64_t clients)
{
    char path[512], hash[65];
    method_outcome here = method_runs_run("one", NULL, 1, 0);
    devices_run(e, folder, clients, path);
    runs_hash(path, hash);
    assert_string_equal(hash, here.hash);
    assert_near(runs_value(path, "flops_clients"), here.flops_clients, 0);
}

static void test_every_method_has_the_same_bits_on_devices(void **state)
{
    (void)state;
    int n_walked = 0;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        eg_agreement agreed;
        bool agrees = method_agrees(*m, 0, &agreed);
        assert_true(agrees);
        eg_experiment *e = load(*m);
        if (agreed.all.personal)
            assert_refused(e, "stays on its device");
        else
            assert_same_bits(e, method_runs_base(*m) == method_runs_text ? 4 : 2);
        n_walked += !agreed.all.personal;
        eg_experiment_free(e);
    }
    assert_true(n_walked > 15);
}

#define FROZEN(more)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 20, classes: 4, mean: 0.5, std: 0.5}\n"             \
    "model: {name: mlp, depth: 1, width: 24" more "}\n"                                        \
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}\n"   \
    "runs: [{label: one, method: fedavg}]\n"

static eg_experiment *load_text(const char *text, const char *set)
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    files_write(folder, "f.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/f.yaml", folder);
    assert_ok(eg_experiment_load(file, "one", set ? 1 : 0, &set, &e));
    return e;
}

/* Weights of a file that the server alone has, all but the head frozen: devices have them from
 * it, the run has the bits of one machine, and what is sent in rounds is the head. */
static void test_a_frozen_network_reaches_devices_but_not_in_rounds(void **state)
{
    (void)state;
    char path[512], here[512], set[1024], hash[65], same[65];
    eg_experiment *e = load_text(FROZEN(""), NULL);
    assert_ok(runs_run(e, folder, 1, 0, path));
    eg_experiment_free(e);
    snprintf(set, sizeof set, "model.weights=%s/model.safetensors", path);
    e = load_text(FROZEN(", train: head"), set);
    assert_ok(runs_run(e, folder, 1, 0, here));
    runs_hash(here, hash);
    devices_run(e, folder, 2, path);
    runs_hash(path, same);
    assert_string_equal(hash, same);
    eg_experiment_free(e);
    double turns = 4, head = 4 * (24 * 4 + 16); /* bytes of the head, gaps included */
    assert_true(runs_value(path, "bytes_up") >= turns * 4 * (24 * 4 + 4));
    assert_true(runs_value(path, "bytes_up") < turns * (head + 400));
    e = load_text(FROZEN(", train: head"), NULL); /* other frozen weights: not the same run */
    assert_ok(runs_run(e, folder, 1, 0, here));
    runs_hash(here, same);
    assert_string_not_equal(hash, same);
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method_has_the_same_bits_on_devices),
        cmocka_unit_test(test_a_frozen_network_reaches_devices_but_not_in_rounds),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
