/* store_threaded_test.c - clients put and read by several threads at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "store/store.h"

#include <pthread.h>

enum { N_THREADS = 4, N_CLIENTS = 400 };

typedef struct worker {
    eg_store *store;
    int64_t first, round;
    int n_failed;
} worker;

static void *work(void *of)
{
    worker *w = of;
    for (int64_t c = w->first; c < N_CLIENTS; c += N_THREADS) {
        int64_t value[2] = {c, w->round}, *back;
        size_t n;
        unsigned char *bytes = NULL;
        w->n_failed += eg_store_put(w->store, c, value, sizeof value) != EG_OK;
        w->n_failed += eg_store_get(w->store, c, &bytes, &n) != EG_OK;
        back = (int64_t *)(void *)bytes;
        w->n_failed += !back || n != sizeof value || back[0] != c || back[1] != w->round;
        free(bytes);
    }
    return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_store *s;
    eg_json *extra = eg_json_object();
    assert_ok(eg_store_open(dir, false, &s));
    for (int64_t round = 1; round <= 3; round++) {
        pthread_t threads[N_THREADS];
        worker workers[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            workers[i] = (worker){s, i, round, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(workers[i].n_failed, 0);
        }
        assert_ok(eg_store_commit(s, extra));
    }
    eg_store_free(s);
    assert_ok(eg_store_open(dir, true, &s));
    eg_store_free(s);
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
