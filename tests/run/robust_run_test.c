/* robust_run_test.c - whole runs with robust means: hostile clients, workers, stops, factors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"
#include "hostile.h"

static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 800, test: 200, classes: 4, spread: 0.1}\n"
    "model: {name: mlp, depth: 1, width: 16}\n"
    "scenario: {kind: class-incremental, clients: 10, tasks: 1, rounds: 30, partition: iid}\n"
    "optimizer: {lr: 0.5}\n"
    "train: {batch: 16}\n"
    "runs: [{label: a, method: [fedavg, hostile]}]\n";

static const char *const rules[] = {"median", "trimmed", "norm-clip"};

static void test_three_of_ten_do_not_wreck_a_robust_mean(void **state)
{
    (void)state;
    char file[FILES_PATH * 2];
    files_write(fixture_folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    double good = hostile_accuracy(file, fixture_folder, "mean", 0, 1);
    double wrecked = hostile_accuracy(file, fixture_folder, "mean", 3, 1);
    if (!(good > 0.8 && wrecked < 0.5))
        fail_msg("mean: %g and %g", good, wrecked);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        double none = hostile_accuracy(file, fixture_folder, rules[i], 0, 1);
        double three = hostile_accuracy(file, fixture_folder, rules[i], 3, 1);
        if (none < good - 0.1 || three < good - 0.15)
            fail_msg("%s: %g and %g, the mean %g", rules[i], none, three, good);
    }
}

/* Whoever computes, and wherever it stops, with batch norm's statistics and Fed-A-GEM's weights
 * too. */
static void test_robust_means_have_the_same_bits_everywhere(void **state)
{
    (void)state;
    static const char normed[] =
        "name: t\n"
        "data: {name: glyphs, train: 160, test: 40, classes: 4, size: 8}\n"
        "model: {name: layers, layers: [conv 4 k3, batch-norm, relu, flatten]}\n"
        "scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 2, partition: iid}\n"
        "optimizer: {lr: 0.1}\n"
        "train: {batch: 8}\n"
        "memory: {kind: reservoir, size: 20}\n"
        "runs: [{label: a, method: [er, fed-a-gem]}]\n";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char set[64], path[512], hash[3][65];
        snprintf(set, sizeof set, "server.mean=%s", rules[i]);
        assert_ok(fixture_run(normed, set, 1, 0, path));
        runs_hash(path, hash[0]);
        assert_ok(fixture_run(normed, set, 2, 2, path));
        runs_hash(path, hash[1]);
        assert_ok(fixture_run(normed, set, -2, 0, path));
        runs_hash(path, hash[2]);
        assert_string_equal(hash[0], hash[1]);
        assert_string_equal(hash[0], hash[2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_of_ten_do_not_wreck_a_robust_mean),
        cmocka_unit_test(test_robust_means_have_the_same_bits_everywhere),
    };
    assert_ok(eg_method_add(&hostile_method));
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
