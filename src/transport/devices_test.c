/* devices_test.c - every method with devices on a network has the bits it has on one machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method_runs.h"

#include "devices.h"

#include "experiment/experiment.h"

static void test_every_method_has_the_same_bits_on_devices(void **state)
{
    (void)state;
    int n_walked = 0;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        char runs[256], file[FILES_PATH * 2], path[512], hash[65];
        eg_agreement agreed;
        eg_experiment *e;
        bool stopped;
        assert_true(method_agrees(*m, 0, &agreed));
        snprintf(runs, sizeof runs, "- {label: one, method: %s%s}\n", (*m)->component.name,
                 method_runs_needs(*m));
        method_runs_write(method_runs_base(*m), runs);
        snprintf(file, sizeof file, "%s/t.yaml", folder);
        assert_ok(eg_experiment_load(file, "one", 0, NULL, &e));
        if (agreed.all.personal) {
            const eg_listen listen = {.address = "127.0.0.1:0", .keys = "never-made"};
            assert_fails(eg_experiment_run(e, &(eg_run_how){.out = folder, .listen = &listen},
                                           path, &stopped),
                         EG_ENOTSUP, "stays on its device");
        } else {
            method_outcome here = method_runs_run("one", NULL, 1, 0);
            devices_run(e, folder, method_runs_base(*m) == method_runs_images ? 2 : 4, path);
            runs_hash(path, hash);
            assert_string_equal(hash, here.hash);
            assert_near(runs_value(path, "flops_clients"), here.flops_clients, 0);
            n_walked++;
        }
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
