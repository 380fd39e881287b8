/* pool_threaded_test.c - pieces are taken in order, few wait, failures stop the rest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/pool.h"

#include <stdatomic.h>

enum { PIECES = 200 };

typedef struct counts {
    atomic_int begun, taken, most_waiting;
    int64_t fails_at; /* -1: none does */
    int64_t value[PIECES];
} counts;

static eg_status work(void *context, int thread, int64_t i)
{
    counts *c = context;
    int begun = atomic_fetch_add(&c->begun, 1) + 1, waiting = begun - atomic_load(&c->taken);
    int most = atomic_load(&c->most_waiting);
    while (waiting > most && !atomic_compare_exchange_weak(&c->most_waiting, &most, waiting))
        ;
    c->value[i] = i * i + (thread < 0);
    return i == c->fails_at ? eg_fail(EG_EIO, "piece %d is broken", (int)i) : EG_OK;
}

static eg_pool *start(counts *c, int n_threads, int64_t n, int64_t allowed)
{
    eg_pool *p;
    assert_ok(eg_pool_start(
        &(eg_pool_job){
            .n_threads = n_threads, .n = n, .work = work, .context = c, .allowed = allowed},
        &p));
    return p;
}

static eg_status take_all(counts *c, int n_threads, int64_t n)
{
    eg_pool *p = start(c, n_threads, n, 0);
    eg_status s = EG_OK;
    for (int64_t i = 0; i < n && s == EG_OK; i++) {
        s = eg_pool_take(p, i);
        assert_int_equal(c->value[i], i * i);
        atomic_fetch_add(&c->taken, 1);
    }
    eg_pool_end(p);
    return s;
}

static void test_pieces_are_taken_in_order_and_few_wait(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        counts c = {.fails_at = -1};
        assert_ok(take_all(&c, n_threads, PIECES));
        assert_int_equal(c.begun, PIECES);
        assert_true(c.most_waiting <= 2 * n_threads + 1);
        counts none = {.fails_at = -1};
        assert_ok(take_all(&none, n_threads, 0));
    }
}

static void test_the_first_failure_ends_it_and_is_the_takers(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        counts c = {.fails_at = 50};
        assert_fails(take_all(&c, n_threads, PIECES), EG_EIO, "piece 50 is broken");
        assert_int_equal(c.taken, 51);
        assert_true(c.begun <= 51 + 2 * n_threads);
    }
}

static void test_a_pool_can_be_ended_early(void **state)
{
    (void)state;
    counts c = {.fails_at = -1};
    eg_pool *p = start(&c, 3, PIECES, 0);
    assert_ok(eg_pool_take(p, 0));
    eg_pool_end(p);
    assert_true(c.begun < PIECES);
}

static void take_half_when_allowed(int n_threads)
{
    counts c = {.fails_at = -1};
    eg_pool *p = start(&c, n_threads, PIECES, n_threads);
    for (int64_t i = 0; i < PIECES / 2; i++) {
        assert_true(c.begun <= i + n_threads);
        eg_pool_allow(p, i + n_threads);
        assert_ok(eg_pool_take(p, i));
        assert_int_equal(c.value[i], i * i);
    }
    eg_pool_end(p); /* threads that wait for leave are let go */
    assert_true(c.begun < PIECES / 2 + n_threads);
}

static void test_pieces_begin_when_they_are_allowed(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= 4; n_threads++)
        take_half_when_allowed(n_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_taken_in_order_and_few_wait),
        cmocka_unit_test(test_the_first_failure_ends_it_and_is_the_takers),
        cmocka_unit_test(test_a_pool_can_be_ended_early),
        cmocka_unit_test(test_pieces_begin_when_they_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
