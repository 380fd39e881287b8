/* status_threaded_test.c - error texts of threads that fail at the same time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>

enum { N_THREADS = 4, N_FAILURES = 1000 };

/* Counts how often a thread reads another text than the one it just left. */
static void *fail_often(void *context)
{
    int *number = context, wrong = 0;
    char mine[64];
    for (int i = 0; i < N_FAILURES; i++) {
        snprintf(mine, sizeof mine, "thread %d: failure %d", *number, i);
        eg_fail(EG_EIO, "failure %d", i);
        eg_blame(EG_EIO, "thread %d", *number);
        wrong += strcmp(eg_error(), mine) != 0;
    }
    *number = wrong;
    return NULL;
}

static void test_each_thread_has_its_own_text(void **state)
{
    (void)state;
    pthread_t thread[N_THREADS];
    int number[N_THREADS];
    eg_fail(EG_EIO, "here");
    for (int i = 0; i < N_THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, fail_often, &number[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(number[i], 0);
    }
    assert_string_equal(eg_error(), "here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_thread_has_its_own_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
