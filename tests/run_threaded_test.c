/* run_threaded_test.c - whole runs on several workers and teams, for ThreadSanitizer to watch.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Teams share every step they can, however small it is.
 */
#include "fixture.h"

#include <stdlib.h>

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

/* A server that trains on what it draws. */
static const char trains[] =
    "name: t\n"
    "data: {name: glyphs, train: 64, test: 16, classes: 4, size: 16, mean: 0.5, std: 0.5}\n"
    "model: {name: acgan, width: 16}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}\n"
    "optimizer: {name: adam, lr: 0.001, beta1: 0.5}\n"
    "train: {steps: 2, batch: 8, optimizer_state: keep}\n"
    "fedcil: {width: 16, steps: 2, lr: 0.001}\n"
    "runs: [{label: a, method: fedcil}]\n";

static void same_bits(const char *of, int workers, int threads, const char *want)
{
    char path[512], hash[65];
    runs_threads = threads;
    assert_ok(fixture_run(of, NULL, workers, workers == 3, path));
    runs_hash(path, hash);
    if (strcmp(hash, want) != 0)
        fail_msg("%d workers of %d threads end in other bits", workers, threads);
}

static void one_thread(const char *of, char hash[65])
{
    char path[512];
    runs_threads = 0;
    assert_ok(fixture_run(of, NULL, 1, 0, path));
    runs_hash(path, hash);
}

static void test_threads_of_a_run_share_nothing_they_write(void **state)
{
    char one[65];
    (void)state;
    one_thread(text, one);
    same_bits(text, 3, 0, one);
    same_bits(text, 0, 0, one);
}

static void test_a_run_has_the_same_bits_whoever_computes_it(void **state)
{
    char one[65];
    (void)state;
    one_thread(text, one);
    same_bits(text, 1, 2, one);
    same_bits(text, 2, 3, one);
    same_bits(text, 3, 2, one);
    same_bits(text, 0, 4, one);
}

static void test_a_server_that_trains_has_the_same_bits_with_a_team(void **state)
{
    char one[65];
    (void)state;
    one_thread(trains, one);
    same_bits(trains, 1, 4, one);
    same_bits(trains, 2, 0, one);
}

int main(void)
{
    setenv("ENGRAM_TEAM_LEAST", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_of_a_run_share_nothing_they_write),
        cmocka_unit_test(test_a_run_has_the_same_bits_whoever_computes_it),
        cmocka_unit_test(test_a_server_that_trains_has_the_same_bits_with_a_team),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
