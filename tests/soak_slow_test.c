/* soak_slow_test.c - ten thousand training steps use no more memory than the first thousand.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The whole process is measured, oneDNN and OpenMP included: bytes handed out by malloc, and
 * pages resident.
 */
#include "test.h"

#include "training.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

enum { STEPS = 10000, LOOK = 1000 };

typedef struct use {
    size_t heap, resident; /* bytes */
} use;

static use measure(void)
{
    struct mallinfo2 m = mallinfo2();
    use u = {.heap = m.uordblks + m.hblkhd};
    char line[128] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        char *got = fgets(line, sizeof line, f);
        fclose(f);
        char *second = got ? strchr(line, ' ') : NULL;
        if (second)
            u.resident = strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
    }
    return u;
}

static void soak(const char *model, const char *optimizer, int64_t batch)
{
    const training_spec spec = {.net = {model, 1, 28, 28, 10, NULL},
                                .batch = batch,
                                .optimizer = optimizer,
                                .rate = "0.001",
                                .seed = 1};
    training t;
    assert_ok(training_open(&t, &spec));
    use first = {0};
    for (int i = 1; i <= STEPS; i++) {
        assert_ok(training_step(&t));
        if (i % LOOK)
            continue;
        use now = measure();
        print_message("%s, step %5d: heap %zu, resident %zu, loss %g\n", model, i, now.heap,
                      now.resident, (double)*eg_plan_output(t.plan, "loss"));
        if (i == LOOK)
            first = now;
        if (now.heap > first.heap + 4096 || now.resident > first.resident + (1 << 20))
            fail_msg("memory grows: heap from %zu to %zu, resident from %zu to %zu", first.heap,
                     now.heap, first.resident, now.resident);
        assert_true(isfinite(*eg_plan_output(t.plan, "loss")));
    }
    training_close(&t);
}

static void test_training_cnn_small_uses_no_more_memory_with_time(void **state)
{
    (void)state;
    soak("cnn-small", "sgd", 32);
}

/* Making and freeing all that training needs leaves nothing behind either. */
static void test_networks_made_and_freed_leave_nothing_behind(void **state)
{
    (void)state;
    const training_spec spec = {.net = {"resnet18-thin", 3, 8, 8, 10, NULL},
                                .batch = 4,
                                .optimizer = "adam",
                                .rate = "0.001",
                                .seed = 1};
    use first = {0}, now = {0};
    for (int i = 1; i <= 300; i++) {
        training t;
        assert_ok(training_open(&t, &spec));
        assert_ok(training_step(&t));
        training_close(&t);
        now = measure();
        first = i == 100 ? now : first;
    }
    print_message("300 networks: heap %zu, then %zu\n", first.heap, now.heap);
    assert_true(now.heap <= first.heap + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_cnn_small_uses_no_more_memory_with_time),
        cmocka_unit_test(test_networks_made_and_freed_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
