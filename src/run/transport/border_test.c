/* border_test.c - no training image crosses between the server and a client's process.
 * SPDX-License-Identifier: Apache-2.0
 *
 * send and recv are wrapped by the linker, so that every byte of a run in processes goes
 * through here. The run has a memory, whose rows are training images as they were fed.
 */
#define _GNU_SOURCE /* memmem */
#include "runs.h"

#include "run/experiment/feed.h"

#include <sys/socket.h>

#include "own_folder.h"

static struct {
    unsigned char *bytes;
    size_t n, cap;
    int64_t n_turns;
} wire;

ssize_t __real_send(int to, const void *bytes, size_t n, int flags);
ssize_t __real_recv(int from, void *bytes, size_t n, int flags);
ssize_t __wrap_send(int to, const void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int from, void *bytes, size_t n, int flags);

static void note(const void *bytes, size_t n)
{
    if (wire.n + n > wire.cap) {
        wire.cap = 2 * (wire.n + n);
        wire.bytes = realloc(wire.bytes, wire.cap);
        assert_non_null(wire.bytes);
    }
    memcpy(wire.bytes + wire.n, bytes, n);
    wire.n += n;
}

ssize_t __wrap_send(int to, const void *bytes, size_t n, int flags)
{
    ssize_t put = __real_send(to, bytes, n, flags);
    if (put > 0)
        note(bytes, (size_t)put);
    return put;
}

ssize_t __wrap_recv(int from, void *bytes, size_t n, int flags)
{
    ssize_t got = __real_recv(from, bytes, n, flags);
    if (got > 0)
        note(bytes, (size_t)got);
    return got;
}

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 60, test: 20, classes: 4, size: 8, mean: 0.1, std: 0.3}\n"
    "model: {name: mlp, depth: 1, width: 8}\n"
    "scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 8}\n"
    "re_fed: {size: 15, epochs: 1}\n"
    "runs: [{label: a, method: [der, re-fed, fed-a-gem]}]\n";

static bool crossed(const void *what, size_t n)
{
    return memmem(wire.bytes, wire.n, what, n) != NULL;
}

/* Looks for every row of the training data, as it is fed and as it is stored. */
static void check_rows(const eg_feed *f)
{
    float *x = calloc(f->sample, sizeof *x), label;
    assert_non_null(x);
    for (int64_t task = 0; task < f->n_tasks; task++)
        for (int64_t id = 0; id < f->train[0].n; id++) {
            eg_feed_train(f, &(eg_sample){task, id}, 1, NULL, x, &label);
            /* Three rows of pixels from the middle: no image is cut there by chance. */
            assert_false(crossed(x + 16, 24 * sizeof *x));
            assert_false(crossed(f->train[0].u8 + (size_t)id * f->sample, f->sample));
        }
    free(x);
}

static void test_no_training_image_crosses(void **state)
{
    (void)state;
    char file[FILES_PATH * 2], path[512];
    eg_experiment *e;
    eg_feed feed;
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
    assert_ok(eg_feed_open(e, 3, NULL, &feed));
    assert_ok(runs_run(e, folder, -1, 0, path));
    int64_t turns = 4 * 3 * 2; /* rounds, clients, exchanges */
    assert_true(wire.n > 0);
    assert_true(crossed("fed_a_gem.reference", 19)); /* it is this run's traffic */
    assert_false(crossed("memory.x", 8));
    assert_false(crossed("re_fed.cache", 12));
    check_rows(&feed);
    print_message("%zu bytes in %lld turns, %zu a turn\n", wire.n, (long long)turns,
                  wire.n / (size_t)turns);
    /* A search that finds nothing proves nothing unless it would have found something. */
    float *x = calloc(feed.sample, sizeof *x), label;
    assert_non_null(x);
    eg_feed_train(&feed, &(eg_sample){0, 7}, 1, NULL, x, &label);
    note(x, feed.sample * sizeof *x);
    assert_true(crossed(x + 16, 24 * sizeof *x));
    free(x);
    eg_feed_close(&feed);
    eg_experiment_free(e);
    free(wire.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_training_image_crosses)};
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
