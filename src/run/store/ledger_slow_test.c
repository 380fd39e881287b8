/* ledger_slow_test.c - what a commit of 10 clients takes among 10,000, and among 1,000,000.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

#include "run/store/ledger_file.h"

#include <sys/resource.h>
#include <time.h>

enum { N_ROUNDS = 50, PER_ROUND = 10, N_FLOATS = 40000, MILLION = 1000000, SPACING = 2000 };

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static double megabytes(void) /* at most, so far */
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Commits N_ROUNDS rounds, each of ten clients that stand `spacing` apart, and gives the
 * milliseconds of work for a commit; the rest is waiting, which a busy machine prolongs. */
static double commit_rounds(eg_ledger *l, const eg_json *extra, int64_t spacing, int64_t among)
{
    double commit[N_ROUNDS], turns[N_ROUNDS], work = 0;
    for (int64_t r = 0; r < N_ROUNDS; r++) {
        double start = now();
        for (int64_t k = 0; k < PER_ROUND; k++)
            keeping_turn(l, (r * PER_ROUND + k) * spacing % among, "a", r, N_FLOATS);
        turns[r] = now() - start;
        start = now();
        work -= clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        assert_ok(eg_ledger_commit(l, extra));
        work += clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        commit[r] = now() - start;
    }
    qsort(commit, N_ROUNDS, sizeof *commit, compare);
    qsort(turns, N_ROUNDS, sizeof *turns, compare);
    print_message("commit of %d states of %d bytes: best %.2f ms, median %.2f ms, of which "
                  "%.2f ms are work; the turns %.2f ms\n",
                  PER_ROUND, N_FLOATS * 4, commit[0], commit[N_ROUNDS / 2], work / N_ROUNDS,
                  turns[N_ROUNDS / 2]);
    return work / N_ROUNDS;
}

static void test_commit_does_not_wait_for_idle_clients(void **state)
{
    (void)state;
    enum { N_CLIENTS = 10000 };
    char dir[FILES_PATH];
    files_folder(dir);
    eg_ledger *l;
    eg_json *extra = eg_json_object();
    assert_ok(eg_ledger_open(dir, false, &l));
    for (int64_t c = 0; c < N_CLIENTS; c++)
        keeping_turn(l, c, "a", c, 10);
    double start = now();
    assert_ok(eg_ledger_commit(l, extra));
    print_message("the first commit, of %d clients: %.0f ms\n", N_CLIENTS, now() - start);
    assert_true(commit_rounds(l, extra, 977, N_CLIENTS) < 10);
    eg_ledger_free(l);
    start = now();
    assert_ok(eg_ledger_open(dir, true, &l));
    print_message("open: %.0f ms\n", now() - start);
    eg_ledger_free(l);
    eg_json_free(extra);
    files_remove(dir);
}

/* Most of them have receipts only: to make their files would take minutes, and no commit looks
 * at the files of idle clients. */
static void test_commit_does_not_write_a_million_receipts(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    files_folder(dir);
    eg_ledger *l, *again;
    ledger_entry *e;
    eg_json *extra = eg_json_object();
    double before = megabytes();
    assert_ok(eg_ledger_open(dir, false, &l));
    for (int64_t c = 0; c < MILLION; c++) {
        assert_ok(eg_ledger_reach(l, c, &e));
        if (c % SPACING != 0)
            *e = (ledger_entry){7, 7, 100000 + c, (uint64_t)c * 0x9e3779b97f4a7c15u};
    }
    double start = now();
    assert_ok(eg_ledger_commit(l, extra));
    print_message("a new file of %d receipts: %.0f ms\n", MILLION, now() - start);
    assert_true(commit_rounds(l, extra, SPACING, MILLION) < 5);
    double grown = megabytes() - before;
    print_message("memory: %.1f MB more\n", grown);
    assert_true(grown < 64);

    snprintf(path, sizeof path, "%s/ledger.txt", dir);
    assert_ok(eg_ledger_new(dir, &again));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    start = now();
    assert_ok(eg_ledger_read(again, f));
    print_message("read again: %.0f ms\n", now() - start);
    fclose(f);
    assert_int_equal(again->n_entries, l->n_entries);
    assert_memory_equal(again->entries, l->entries, l->n_entries * sizeof *l->entries);
    eg_ledger_free(again);
    eg_ledger_free(l);
    eg_json_free(extra);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_does_not_write_a_million_receipts),
        cmocka_unit_test(test_commit_does_not_wait_for_idle_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
