/* run_threaded_test.c - a whole run on three threads, for ThreadSanitizer to watch.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 96, test: 24, classes: 4, size: 12}\n"
    "model: {name: layers, layers: [conv 8 k3, batch-norm, relu, pool 2, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 1, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.05}\n"
    "train: {batch: 8}\n"
    "eval: {every: round}\n"
    "runs: [{label: a, method: [er, fed-a-gem]}]\n";

static void test_threads_of_a_run_share_nothing_they_write(void **state)
{
    (void)state;
    char path[512], one[65], three[65];
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    runs_hash(path, one);
    assert_ok(fixture_run(text, NULL, 3, 1, path));
    runs_hash(path, three);
    assert_string_equal(one, three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_of_a_run_share_nothing_they_write),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
