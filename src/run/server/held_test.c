/* held_test.c - what a round tells of its clients: their losses, and what their memories hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <math.h>

#define TEXT(method, more)                                                                     \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 240, test: 120, classes: 6, size: 8}\n"                       \
    "model: {name: mlp, depth: 1, width: 16}\n"                                                \
    "scenario: {kind: class-incremental, clients: 2, tasks: 3, rounds: 2, partition: iid}\n"   \
    "memory: {kind: reservoir, size: 30}\n"                                                    \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 1, batch: 10" more "}\n"                                                  \
    "runs: [{label: a, method: " method "}]\n"

static int64_t held_sum(const eg_round_event *e)
{
    int64_t sum = 0;
    for (size_t k = 0; k < e->n_held; k++)
        sum += e->held[k];
    return sum;
}

/* 80 samples of each task, half of them each client's: a memory of 30 is full after the first.
 */
static void check(const eg_events *e)
{
    assert_int_equal(e->n_round, 6);
    for (int64_t i = 0; i < 6; i++) {
        const eg_round_event *r = &e->round[i];
        assert_int_equal(r->n_clients, 2);
        assert_near((r->losses[0] + r->losses[1]) / 2, r->loss, 1e-6);
        assert_true(r->losses[0] != r->losses[1]);
        assert_int_equal(r->held_by, i % 2 ? 2 : 0);
        assert_int_equal(r->n_held, i % 2 ? i + 1 : 0);
        assert_int_equal(held_sum(r), i % 2 ? 60 : 0);
    }
}

static void test_rounds_tell_losses_and_task_ends_what_memories_hold(void **state)
{
    (void)state;
    for (int workers = 1; workers >= -2; workers -= 3) { /* one thread; two processes */
        char path[512];
        assert_ok(fixture_run(TEXT("er", ""), NULL, workers, 0, path));
        eg_events *e = fixture_events(path);
        check(e);
        assert_int_equal(e->n_note, 0); /* these are no notes of a method */
        eg_events_free(e);
    }
}

/* An image turned is of another output, and of the same class. */
static void test_turned_rows_count_for_their_class(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("er", ", rotations: true"), NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    check(e);
    eg_events_free(e);
}

/* What is declared for all runs of a file need not be of use to each. */
static void test_a_memory_that_no_method_uses_is_not_told(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("fedavg", ""), NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    for (size_t i = 0; i < e->n_round; i++) {
        assert_non_null(e->round[i].losses);
        assert_null(e->round[i].held);
    }
    eg_events_free(e);
}

static void test_what_is_summed_in_secret_is_not_told_one_by_one(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("er", "") "secure: plain\n", NULL, 1, 0, path));
    eg_events *e = fixture_events(path);
    assert_int_equal(e->n_round, 6);
    for (size_t i = 0; i < e->n_round; i++) {
        assert_null(e->round[i].losses);
        assert_null(e->round[i].held);
    }
    eg_events_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_tell_losses_and_task_ends_what_memories_hold),
        cmocka_unit_test(test_turned_rows_count_for_their_class),
        cmocka_unit_test(test_a_memory_that_no_method_uses_is_not_told),
        cmocka_unit_test(test_what_is_summed_in_secret_is_not_told_one_by_one),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
