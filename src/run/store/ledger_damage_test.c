/* ledger_damage_test.c - ledgers with flipped bits, cut short, unwritten at the end and forged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

/* Two clients and the server; five commits, of which the first makes the file. */
enum { N_COMMITS = 5 };

static void make_ledger(const char *dir, size_t ends[N_COMMITS])
{
    char path[FILES_PATH * 2];
    struct stat info;
    eg_ledger *l;
    assert_ok(eg_ledger_open(dir, false, &l));
    snprintf(path, sizeof path, "%s/ledger.txt", dir);
    for (int64_t round = 1; round <= N_COMMITS; round++) {
        for (int64_t owner = -1; owner < 2; owner++)
            if (round <= 2 || round % 3 == owner + 1)
                keeping_turn(l, owner, "a", round, 5);
        keeping_commit(l, round);
        assert_int_equal(stat(path, &info), 0);
        ends[round - 1] = (size_t)info.st_size;
    }
    eg_ledger_free(l);
}

/* Resumes and says at which round; 0 if the ledger's file was found to be damaged, -1 if one of
 * an owner's. */
static int64_t resumed_round(const char *dir)
{
    eg_ledger *l;
    int64_t round = 0;
    eg_status status = eg_ledger_open(dir, true, &l);
    if (status == EG_OK) {
        assert_ok(eg_json_int(eg_json_get(eg_ledger_extra(l), "round"), &round));
        eg_ledger_free(l);
        return round;
    }
    assert_int_equal(status, EG_EFORMAT);
    bool own = strstr(eg_error(), "ledger.txt: damaged") != NULL;
    assert_true(own || strstr(eg_error(), "the file is missing"));
    return own ? 0 : -1;
}

static void test_every_flipped_bit_is_found_and_said(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n, ends[N_COMMITS];
    files_folder(dir);
    make_ledger(dir, ends);
    unsigned char *bytes = keeping_read(dir, "ledger.txt", &n);
    assert_int_equal(n, ends[N_COMMITS - 1]);
    for (size_t i = 0; i < n * 8; i++) {
        unsigned char flipped = (unsigned char)(bytes[i / 8] ^ 1 << i % 8);
        keeping_poke(dir, "ledger.txt", i / 8, &flipped, 1);
        assert_int_equal(resumed_round(dir), 0);
        keeping_poke(dir, "ledger.txt", i / 8, &bytes[i / 8], 1);
    }
    assert_int_equal(resumed_round(dir), N_COMMITS);
    print_message("%zu bits flipped and found\n", n * 8);
    free(bytes);
    files_remove(dir);
}

/* The last commit whose block ends by n. */
static int64_t commits_by(const size_t ends[N_COMMITS], size_t n)
{
    int64_t round = 0;
    while (round < N_COMMITS && ends[round] <= n)
        round++;
    return round;
}

/* Owners' files that an older commit refers to may be gone by then; that is said as well. */
static void expect_round(const char *dir, int64_t round)
{
    int64_t resumed = resumed_round(dir);
    assert_true(resumed == round || (round > 0 && round < N_COMMITS && resumed == -1));
}

static void test_unfinished_block_is_ignored(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n, ends[N_COMMITS];
    files_folder(dir);
    make_ledger(dir, ends);
    unsigned char *bytes = keeping_read(dir, "ledger.txt", &n), *zeros = calloc(n, 1);
    assert_non_null(zeros);
    keeping_cut(dir, "ledger.txt", n - 1);
    assert_int_equal(resumed_round(dir), N_COMMITS - 1);
    for (size_t cut = n; cut-- > 0;) {
        keeping_poke(dir, "ledger.txt", 0, bytes, cut);
        keeping_cut(dir, "ledger.txt", cut);
        expect_round(dir, commits_by(ends, cut));
        keeping_poke(dir, "ledger.txt", 0, bytes, cut);
        keeping_poke(dir, "ledger.txt", cut, zeros, n - cut); /* as without power */
        expect_round(dir, commits_by(ends, cut));
    }
    free(zeros);
    free(bytes);
    files_remove(dir);
}

static void test_commits_go_on_behind_an_unfinished_block(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n, ends[N_COMMITS];
    files_folder(dir);
    make_ledger(dir, ends);
    free(keeping_read(dir, "ledger.txt", &n));
    keeping_poke(dir, "ledger.txt", n, "commit          6 rows  ", 24);
    for (int64_t round = N_COMMITS + 1; round < N_COMMITS + 4; round++) {
        eg_ledger *l;
        assert_ok(eg_ledger_open(dir, true, &l));
        keeping_turn(l, 1, "a", round, 5);
        keeping_commit(l, round);
        eg_ledger_free(l);
        assert_int_equal(resumed_round(dir), round);
    }
    files_remove(dir);
}

static void test_damage_of_an_owners_file_is_found_on_resume(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    size_t n, ends[N_COMMITS];
    eg_ledger *none;
    files_folder(dir);
    make_ledger(dir, ends);
    assert_int_equal(resumed_round(dir), N_COMMITS); /* and removes all but three files */
    assert_int_equal(keeping_count_files(dir), 4);
    unsigned char *bytes = keeping_read(dir, "0/0.3", &n);
    for (size_t i = 0; i < n * 8; i += 3) {
        unsigned char flipped = (unsigned char)(bytes[i / 8] ^ 1 << i % 8);
        keeping_poke(dir, "0/0.3", i / 8, &flipped, 1);
        eg_status status = eg_ledger_open(dir, true, &none);
        assert_true(status == EG_EFORMAT || status == EG_ENOTSUP);
        assert_non_null(strstr(eg_error(), "0/0.3: "));
        keeping_poke(dir, "0/0.3", i / 8, &bytes[i / 8], 1);
    }
    free(bytes);
    assert_int_equal(resumed_round(dir), N_COMMITS);
    keeping_cut(dir, "0/0.3", n - 1);
    assert_fails(eg_ledger_open(dir, true, &none), EG_EFORMAT, "0/0.3: damaged: ");
    snprintf(path, sizeof path, "%s/0/0.3", dir);
    remove(path);
    assert_fails(eg_ledger_open(dir, true, &none), EG_EFORMAT, "0/0.3: the file is missing");
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_is_found_and_said),
        cmocka_unit_test(test_unfinished_block_is_ignored),
        cmocka_unit_test(test_commits_go_on_behind_an_unfinished_block),
        cmocka_unit_test(test_damage_of_an_owners_file_is_found_on_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
