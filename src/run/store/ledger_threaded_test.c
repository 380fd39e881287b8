/* ledger_threaded_test.c - turns of clients taken by several threads at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

#include <pthread.h>

enum { N_THREADS = 4, N_CLIENTS = 400 };

typedef struct worker {
    eg_ledger *ledger;
    int64_t first, round;
    int n_failed;
} worker;

/* One turn, and whether its record is there afterwards. */
static bool take_turn(eg_ledger *l, int64_t client, int64_t round)
{
    eg_records *r;
    eg_receipt at;
    const eg_bundle *b = NULL;
    if (eg_ledger_records(l, client, &r) != EG_OK)
        return false;
    bool good = eg_records_put(r, "a", keeping_bundle(round, 5)) == EG_OK &&
                eg_records_save(r, &at) == EG_OK && eg_ledger_enter(l, client, &at) == EG_OK;
    eg_records_free(r);
    if (!good || eg_ledger_records(l, client, &r) != EG_OK)
        return false;
    good = eg_records_get(r, "a", &b) == EG_OK && b && keeping_equal(b, round, 5);
    eg_records_free(r);
    return good;
}

static void *work(void *of)
{
    worker *w = of;
    for (int64_t c = w->first; c < N_CLIENTS; c += N_THREADS)
        w->n_failed += !take_turn(w->ledger, c, w->round);
    return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_ledger *l;
    eg_json *extra = eg_json_object();
    assert_ok(eg_ledger_open(dir, false, &l));
    for (int64_t round = 1; round <= 3; round++) {
        pthread_t threads[N_THREADS];
        worker workers[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            workers[i] = (worker){l, i, round, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(workers[i].n_failed, 0);
        }
        assert_ok(eg_ledger_commit(l, extra));
    }
    eg_ledger_free(l);
    assert_ok(eg_ledger_open(dir, true, &l));
    eg_ledger_free(l);
    eg_json_free(extra);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
