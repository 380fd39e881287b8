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
        else if (agreed.all
                     .train) /* it freezes the network, which a device would have to have */
            assert_refused(e, "freezes tensors");
        else
            assert_same_bits(e, method_runs_base(*m) == method_runs_images ? 2 : 4);
        n_walked += !agreed.all.personal && !agreed.all.train;
        eg_experiment_free(e);
    }
    assert_true(n_walked > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method_has_the_same_bits_on_devices),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
