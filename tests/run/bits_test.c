/* bits_test.c - short runs whose results are known to the bit.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every row was computed once, on the instruction set that all machines have, and must come out
 * the same ever after: on one thread, on two, in processes, stopped and resumed. A change that
 * is meant to move bits replaces the rows it moves, and says why in its commit. With BITS_PRINT
 * set, the test prints what it got instead of comparing.
 */
#include "runs.h"

#include <engram/graph.h>

#include "own_folder.h"

static const char *const blobs =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
    "model: {name: mlp, depth: 1, width: 16}\n"
    "scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1, momentum: 0.5}\n"
    "train: {epochs: 2, batch: 16}\n"
    "re_fed: {size: 60, epochs: 2}\n"
    "fedcurv: {samples: 20}\n";

static const char *const glyphs =
    "name: t\n"
    "data: {name: glyphs, train: 160, test: 40, classes: 4, size: 16, std: 0.5}\n"
    "model: {name: cnn-small}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 12}\n"
    "optimizer: {lr: 0.05}\n"
    "train: {epochs: 1, batch: 16}\n"
    "re_fed: {size: 30, epochs: 2}\n"
    "er: {batch: 8}\n";

static const char *const stream =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4, spread: 1}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: realtime, clients: 3, classes: 2, samples: 10, rounds: 6, per_round: 2}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "re_fed: {every: 20, size: 30, epochs: 2}\n";

typedef struct row {
    const char *const *base;
    const char *method, *set[4]; /* settings, up to the first NULL */
    const char *hash;
} row;

// clang-format off
static const row rows[] = {
#include "bits.inc"
};
// clang-format on

static void run_row(const row *r, int workers, int64_t stop, char hash[65])
{
    char text[4096], file[FILES_PATH * 2], path[512];
    size_t n_set = 0;
    eg_experiment *e;
    int n =
        snprintf(text, sizeof text, "%sruns: [{label: a, method: %s}]\n", *r->base, r->method);
    files_write(folder, "t.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    while (n_set < 4 && r->set[n_set])
        n_set++;
    assert_ok(eg_experiment_load(file, "a", n_set, r->set, &e));
    assert_ok(runs_run(e, folder, workers, stop, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
}

/* How a run is carried out: workers, below 0 in processes; rounds before it is resumed. */
static const struct {
    int workers;
    int64_t stop;
} ways[] = {{1, 0}, {2, 2}, {-2, 0}, {-1, 1}};

static void test_bits_are_those_on_record(void **state)
{
    (void)state;
    bool print = getenv("BITS_PRINT") != NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char hash[65];
            run_row(&rows[i], ways[k].workers, ways[k].stop, hash);
            if (print)
                print_message("%zu %s\n", i, hash);
            else if (strcmp(hash, rows[i].hash) != 0)
                fail_msg("%s %s: %d workers, resumed after %lld rounds: other bits",
                         rows[i].method, rows[i].set[0] ? rows[i].set[0] : "", ways[k].workers,
                         (long long)ways[k].stop);
        }
}

int main(void)
{
    if (eg_isa_set("plain") != EG_OK) /* a set that all machines have */
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_are_those_on_record)};
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
