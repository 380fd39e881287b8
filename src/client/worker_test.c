/* worker_test.c - what a client writes of its memory: rows that changed, and no others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

enum { TASKS = 2, ROUNDS = 3, SAMPLES = 30 };

/* Clients keep nothing but their memories. */
static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 120, test: 60, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}\n"
    "memory: {kind: reservoir, size: 10}\n"
    "train: {batch: 10, lr: 0.1}\n"
    "runs: [{label: a, method: er}]\n";

/* After every round of all tasks: the version of client 0's records, and what its memory has
 * been offered. */
static void watch(const char *insert, int64_t version[], int64_t seen[])
{
    one_client o;
    one_client_open(&o, text, insert);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        one_client_train(&o);
        version[i] = o.kept[0].version;
        assert_ok(
            eg_bundle_need_count(one_client_kept(&o, "memory"), "memory.seen", 1000, &seen[i]));
    }
    one_client_close(&o);
}

static void test_a_memory_that_was_offered_nothing_is_not_written_again(void **state)
{
    (void)state;
    int64_t version[TASKS * ROUNDS], seen[TASKS * ROUNDS];
    watch("memory.insert=once", version, seen);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        assert_int_equal(version[i], i / ROUNDS + 1);
        assert_int_equal(seen[i], (i / ROUNDS + 1) * SAMPLES);
    }
}

static void test_a_memory_that_was_offered_rows_is_written(void **state)
{
    (void)state;
    int64_t version[TASKS * ROUNDS], seen[TASKS * ROUNDS];
    watch("memory.insert=always", version, seen);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        assert_int_equal(version[i], i + 1);
        assert_int_equal(seen[i], (i + 1) * SAMPLES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_memory_that_was_offered_nothing_is_not_written_again),
        cmocka_unit_test(test_a_memory_that_was_offered_rows_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
