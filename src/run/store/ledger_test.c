/* ledger_test.c - receipts entered, committed, killed and found again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

#include <engram/rng.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static eg_ledger *ledger(const char *dir, bool resume)
{
    eg_ledger *l;
    assert_ok(eg_ledger_open(dir, resume, &l));
    return l;
}

/* What a commit notes beside the receipts: the round, and a text of n letters. */
static eg_json *extra(int64_t round, size_t n)
{
    static char text[1 << 16];
    eg_json *e = eg_json_object();
    memset(text, 'x', n);
    text[n] = 0;
    assert_ok(eg_json_set(e, "round", eg_json_of_int(round)));
    assert_ok(eg_json_set(e, "text", eg_json_of_text(text)));
    return e;
}

static int64_t round_of(const eg_ledger *l)
{
    int64_t round = 0;
    if (eg_ledger_extra(l))
        assert_ok(eg_json_int(eg_json_get(eg_ledger_extra(l), "round"), &round));
    return round;
}

static int64_t version_of(const eg_ledger *l, int64_t owner, int64_t *committed)
{
    return eg_ledger_receipt(l, owner, committed).version;
}

static void assert_record(eg_ledger *l, int64_t owner, const char *name, int64_t value,
                          size_t n)
{
    eg_records *r;
    assert_ok(eg_ledger_records(l, owner, &r));
    keeping_expect(r, name, value, n);
    eg_records_free(r);
}

static void assert_nothing(eg_ledger *l, int64_t owner)
{
    int64_t committed;
    assert_int_equal(version_of(l, owner, &committed), 0);
    assert_int_equal(committed, 0);
}

static void test_newest_receipt_counts(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    int64_t committed;
    files_folder(dir);
    eg_ledger *l = ledger(dir, false);
    assert_null(eg_ledger_extra(l));
    assert_nothing(l, 0);
    assert_nothing(l, -1);
    assert_nothing(l, 1000000);
    keeping_turn(l, 700, "a", 1, 10);
    keeping_turn(l, -1, "server", 2, 10);
    keeping_turn(l, 3, "a", 3, 0);
    keeping_commit(l, 1);
    assert_int_equal(version_of(l, 700, &committed), 1);
    assert_int_equal(committed, 1);
    keeping_turn(l, 700, "b", 4, 10);
    keeping_turn(l, 700, "c", 5, 10);
    assert_int_equal(version_of(l, 700, &committed), 3);
    assert_int_equal(committed, 1);
    assert_record(l, 700, "a", 1, 10);
    assert_record(l, 700, "b", 4, 10);
    assert_int_equal(keeping_count_files(dir), 6); /* ledger, server, 3, 700 three times */
    keeping_commit(l, 2);
    assert_int_equal(version_of(l, 700, &committed), 3);
    assert_int_equal(committed, 3);
    assert_int_equal(round_of(l), 2);
    eg_ledger_free(l);
    l = ledger(dir, true);
    assert_int_equal(round_of(l), 2);
    assert_record(l, 700, "a", 1, 10);
    assert_record(l, 700, "b", 4, 10);
    assert_record(l, 700, "c", 5, 10);
    assert_record(l, -1, "server", 2, 10);
    assert_record(l, 3, "a", 3, 0);
    assert_nothing(l, 4);
    eg_ledger_free(l);
    files_remove(dir);
}

static void test_resume_finds_the_last_commit(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    eg_ledger *none;
    files_folder(dir);
    eg_ledger *l = ledger(dir, true); /* nothing to resume is an empty ledger */
    assert_null(eg_ledger_extra(l));
    keeping_turn(l, 1, "a", 100, 10);
    keeping_turn(l, 5000, "a", 100, 10);
    eg_ledger_free(l);
    l = ledger(dir, false);
    assert_nothing(l, 1);
    assert_int_equal(keeping_count_files(dir), 0);
    keeping_turn(l, 1, "a", 1, 10);
    keeping_turn(l, 300, "a", 2, 10);
    keeping_commit(l, 7);
    keeping_turn(l, 1, "a", 100, 10);
    keeping_turn(l, 1, "a", 101, 10);
    keeping_turn(l, 2, "a", 100, 10);
    keeping_turn(l, -1, "a", 100, 10);
    keeping_turn(l, 5000, "a", 100, 10);
    eg_ledger_free(l);
    files_write(dir, "ledger.txt.tmp", "{", 1);
    files_write(dir, "notes.txt", "mine", 4);
    files_write(dir, "0/notes.7", "mine", 4);
    files_write(dir, "0/07.1", "mine", 4);
    files_write(dir, "1/7.1", "mine", 4); /* client 7 does not live there */
    assert_fails(eg_ledger_open(dir, false, &none), EG_EINVAL, "holds a checkpoint already");
    assert_null(none);
    l = ledger(dir, true);
    assert_int_equal(round_of(l), 7);
    assert_record(l, 1, "a", 1, 10);
    assert_record(l, 300, "a", 2, 10);
    assert_nothing(l, 2);
    assert_nothing(l, -1);
    assert_int_equal(keeping_count_files(dir), 7); /* four are not the ledger's */
    keeping_turn(l, 1, "a", 3, 10);
    keeping_commit(l, 8);
    eg_ledger_free(l);
    l = ledger(dir, true);
    assert_record(l, 1, "a", 3, 10);
    eg_ledger_free(l);
    files_remove(dir);
}

static void test_what_cannot_be_is_not_entered(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    int64_t committed;
    files_folder(dir);
    eg_ledger *l = ledger(dir, false);
    keeping_turn(l, 5, "a", 1, 10);
    keeping_turn(l, 5, "a", 2, 10);
    eg_receipt at = eg_ledger_receipt(l, 5, &committed), other;
    assert_ok(eg_ledger_enter(l, 5, &at)); /* a turn that changed nothing */
    assert_ok(eg_ledger_enter(l, 6, &(eg_receipt){0}));
    other = at;
    other.digest++;
    assert_fails(eg_ledger_enter(l, 5, &other), EG_EINVAL,
                 "client 5: a receipt of version 2 after one of version 2");
    other.version = 1;
    assert_fails(eg_ledger_enter(l, 5, &other), EG_EINVAL, "of version 1 after one of");
    assert_fails(eg_ledger_enter(l, 6, &(eg_receipt){0, 7, 0}), EG_EINVAL,
                 "version 0 with 7 bytes");
    assert_fails(eg_ledger_enter(l, 6, &(eg_receipt){-1, 7, 0}), EG_EINVAL, "version -1");
    assert_fails(eg_ledger_enter(l, 6, &(eg_receipt){EG_MAX_VERSION + 1, 7, 0}), EG_EINVAL,
                 "version 1000000000");
    assert_fails(eg_ledger_enter(l, -2, &at), EG_EINVAL, "no client -2");
    assert_fails(eg_ledger_enter(l, EG_MAX_OWNER, &at), EG_EINVAL, "no client 16777216");
    other = eg_ledger_receipt(l, 5, &committed);
    assert_memory_equal(&other, &at, sizeof at);
    eg_ledger_free(l);
    files_remove(dir);
}

static void test_commit_without_the_files_leaves_the_last_one(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    files_folder(dir);
    eg_ledger *l = ledger(dir, false);
    eg_json *e = extra(2, 0);
    keeping_turn(l, 5, "a", 1, 10);
    keeping_commit(l, 1);
    keeping_turn(l, 5, "a", 2, 10);
    snprintf(path, sizeof path, "%s/0/5.2", dir);
    remove(path);
    assert_fails(eg_ledger_commit(l, e), EG_EFORMAT, "0/5.2: the file is missing");
    assert_int_equal(round_of(l), 1);
    eg_ledger_free(l);
    l = ledger(dir, true);
    assert_int_equal(round_of(l), 1);
    assert_record(l, 5, "a", 1, 10);
    assert_ok(eg_ledger_enter(l, 6, &(eg_receipt){1, 100, 7}));
    assert_fails(eg_ledger_commit(l, e), EG_EFORMAT, "0/6.1: the file is missing");
    eg_json_free(e);
    eg_ledger_free(l);
    files_remove(dir);
}

static void test_many_commits_make_a_new_file(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    struct stat info;
    files_folder(dir);
    eg_ledger *l = ledger(dir, false);
    char path[FILES_PATH * 2];
    int64_t largest = 0, n_shrunk = 0, before = 0;
    snprintf(path, sizeof path, "%s/ledger.txt", dir);
    for (int64_t round = 1; round <= 60; round++) {
        eg_json *e = extra(round, 5000);
        if (round % 7 == 1)
            keeping_turn(l, round * 11, "a", round, 10);
        assert_ok(eg_ledger_commit(l, e));
        eg_json_free(e);
        assert_int_equal(stat(path, &info), 0);
        n_shrunk += info.st_size < before;
        before = info.st_size;
        largest = before > largest ? before : largest;
        if (round % 9 == 0) {
            eg_ledger_free(l);
            l = ledger(dir, true);
            assert_int_equal(round_of(l), round);
        }
    }
    assert_true(largest < 90000);
    assert_true(n_shrunk >= 2);
    for (int64_t round = 1; round <= 60; round += 7)
        assert_record(l, round * 11, "a", round, 10);
    eg_ledger_free(l);
    files_remove(dir);
}

/* A file may not grow beyond n bytes; RLIM_INFINITY: any number. */
static void limit_files(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_failed_commit_may_be_tried_again(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    signal(SIGXFSZ, SIG_IGN);
    eg_ledger *l = ledger(dir, false);
    eg_json *long_one = extra(2, 5000);
    keeping_turn(l, 1, "a", 1, 10);
    limit_files(3000);
    assert_fails(eg_ledger_commit(l, long_one), EG_EIO, "ledger.txt: cannot be written");
    keeping_commit(l, 1); /* as the first of its file */
    keeping_turn(l, 1, "a", 2, 10);
    assert_fails(eg_ledger_commit(l, long_one), EG_EIO, "ledger.txt: cannot be written");
    assert_int_equal(round_of(l), 1);
    limit_files(RLIM_INFINITY);
    assert_ok(eg_ledger_commit(l, long_one));
    keeping_turn(l, 1, "a", 3, 10);
    eg_ledger_free(l);
    l = ledger(dir, true);
    assert_int_equal(round_of(l), 2);
    assert_record(l, 1, "a", 2, 10);
    eg_ledger_free(l);
    eg_json_free(long_one);
    files_remove(dir);
}

/* What a child process does with its receipt: nothing of the ledger is its own. */
static _Noreturn void child_turn(const char *dir, int64_t owner, const eg_receipt *at,
                                 int64_t committed, int64_t value, int to)
{
    eg_records *r;
    eg_receipt receipt;
    if (eg_records_open(dir, owner, at, committed, &r) != EG_OK ||
        eg_records_put(r, "a", keeping_bundle(value, 100)) != EG_OK ||
        eg_records_save(r, &receipt) != EG_OK ||
        write(to, &receipt, sizeof receipt) != sizeof receipt)
        _exit(1);
    eg_records_free(r);
    _exit(0);
}

static void test_another_process_keeps_the_records(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_ledger *l = ledger(dir, false);
    for (int64_t round = 1; round <= 5; round++) {
        int ends[2], status;
        eg_receipt receipt;
        int64_t committed;
        const eg_receipt at = eg_ledger_receipt(l, 9, &committed);
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            child_turn(dir, 9, &at, committed, round, ends[1]);
        assert_int_equal(read(ends[0], &receipt, sizeof receipt), sizeof receipt);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(ends[0]);
        close(ends[1]);
        if (round == 3)
            continue; /* its receipt never arrives */
        assert_ok(eg_ledger_enter(l, 9, &receipt));
        if (round != 4)
            keeping_commit(l, round);
        assert_record(l, 9, "a", round, 100);
    }
    eg_ledger_free(l);
    l = ledger(dir, true);
    assert_record(l, 9, "a", 5, 100);
    assert_int_equal(keeping_count_files(dir), 2);
    eg_ledger_free(l);
    files_remove(dir);
}

/* A state as a function of owner and round; whom a round changes. An owner's records "a" and
 * "b" change in turn, so that an older file holds one of them. */
enum { CRASH_CLIENTS = 600, CRASH_PER_ROUND = 6 };

static int64_t crash_owner(int64_t round, int64_t k)
{
    return (round * 101 + k * 89) % (CRASH_CLIENTS + 1) - 1;
}

static size_t crash_size(int64_t owner, int64_t round)
{
    return (size_t)(((owner + 1) * 131 + round * 17) % 1200);
}

static const char *crash_name(int64_t round)
{
    return round % 2 ? "a" : "b";
}

static _Noreturn void crash_child(const char *dir)
{
    eg_ledger *l = ledger(dir, true);
    for (int64_t round = round_of(l) + 1;; round++) {
        for (int64_t k = 0; k < CRASH_PER_ROUND; k++) {
            int64_t owner = crash_owner(round, k);
            eg_records *r;
            eg_receipt at;
            if (eg_ledger_records(l, owner, &r) != EG_OK ||
                eg_records_put(r, crash_name(round),
                               keeping_bundle(round, crash_size(owner, round))) != EG_OK ||
                eg_records_save(r, &at) != EG_OK || eg_ledger_enter(l, owner, &at) != EG_OK)
                _exit(1);
            eg_records_free(r);
        }
        eg_json *e = extra(round, 6000); /* so that now and then the file is written anew */
        if (round % 3 != 1 && eg_ledger_commit(l, e) != EG_OK)
            _exit(2);
        eg_json_free(e);
    }
}

/* The ledger is exactly what rounds 1 to its last made of it. */
static void assert_committed(const char *dir, int64_t *round)
{
    int64_t newest[CRASH_CLIENTS + 1][2] = {{0}};
    eg_ledger *l = ledger(dir, true);
    assert_true(round_of(l) >= *round);
    *round = round_of(l);
    for (int64_t r = 1; r <= *round; r++)
        for (int64_t k = 0; k < CRASH_PER_ROUND; k++)
            newest[crash_owner(r, k) + 1][r % 2] = r;
    int n_records = 0;
    for (int64_t owner = -1; owner < CRASH_CLIENTS; owner++) {
        eg_records *r;
        assert_ok(eg_ledger_records(l, owner, &r));
        n_records += (int)eg_records_n(r);
        for (int odd = 0; odd < 2; odd++) {
            int64_t at = newest[owner + 1][odd];
            if (at > 0)
                keeping_expect(r, odd ? "a" : "b", at, crash_size(owner, at));
            else
                keeping_expect_none(r, odd ? "a" : "b");
        }
        eg_records_free(r);
    }
    assert_true(keeping_count_files(dir) <= n_records + (*round > 0)); /* no version too many */
    eg_ledger_free(l);
}

static void test_killed_ledger_is_one_that_was_committed(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    int64_t round = 0, n_advances = 0;
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            crash_child(dir);
        long us = (long)eg_rng_below(&rng, 120000);
        nanosleep(&(struct timespec){0, us * 1000}, NULL);
        int status;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status)); /* it was at work until then */
        int64_t before = round;
        assert_committed(dir, &round);
        n_advances += round > before;
    }
    print_message("%lld rounds, %lld of 30 lives committed\n", (long long)round,
                  (long long)n_advances);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_receipt_counts),
        cmocka_unit_test(test_resume_finds_the_last_commit),
        cmocka_unit_test(test_what_cannot_be_is_not_entered),
        cmocka_unit_test(test_commit_without_the_files_leaves_the_last_one),
        cmocka_unit_test(test_many_commits_make_a_new_file),
        cmocka_unit_test(test_failed_commit_may_be_tried_again),
        cmocka_unit_test(test_another_process_keeps_the_records),
        cmocka_unit_test(test_killed_ledger_is_one_that_was_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
