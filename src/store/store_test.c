/* store_test.c - states put, committed, killed and found again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "store/store.h"

#include <engram/rng.h>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static eg_store *store(const char *dir, bool resume)
{
    eg_store *s;
    assert_ok(eg_store_open(dir, resume, &s));
    return s;
}

static eg_json *extra(int64_t round)
{
    eg_json *e = eg_json_object();
    assert_ok(eg_json_set(e, "round", eg_json_of_int(round)));
    return e;
}

static void commit(eg_store *s, int64_t round)
{
    eg_json *e = extra(round);
    assert_ok(eg_store_commit(s, e));
    eg_json_free(e);
}

static int64_t round_of(const eg_store *s)
{
    int64_t round = 0;
    if (eg_store_extra(s))
        assert_ok(eg_json_int(eg_json_get(eg_store_extra(s), "round"), &round));
    return round;
}

static void put(eg_store *s, int64_t client, const char *text)
{
    assert_ok(eg_store_put(s, client, text, strlen(text)));
}

static void assert_state(eg_store *s, int64_t client, const char *text)
{
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_store_get(s, client, &bytes, &n));
    assert_int_equal(n, strlen(text));
    assert_string_equal(bytes, text);
    free(bytes);
}

static void assert_none(eg_store *s, int64_t client)
{
    unsigned char *bytes;
    size_t n;
    assert_fails(eg_store_get(s, client, &bytes, &n), EG_ENOENT, "has no state yet");
}

/* Files below a folder. */
static int count_files(const char *path)
{
    DIR *d = opendir(path);
    int n = d ? 0 : 1;
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[FILES_PATH * 2];
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            n += count_files(inner);
    }
    if (d)
        closedir(d);
    return n;
}

static void test_newest_version_is_read(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_store *s = store(dir, false);
    assert_null(eg_store_extra(s));
    assert_none(s, 0);
    assert_none(s, -1);
    assert_none(s, 1000000);
    put(s, 700, "one");
    put(s, -1, "server");
    put(s, 3, "");
    assert_state(s, 700, "one");
    commit(s, 1);
    put(s, 700, "two");
    put(s, 700, "three");
    assert_state(s, 700, "three");
    assert_int_equal(count_files(dir), 5); /* manifest, server, 3, 700 as committed and new */
    commit(s, 2);
    assert_int_equal(count_files(dir), 4);
    assert_int_equal(round_of(s), 2);
    assert_state(s, 700, "three");
    assert_state(s, -1, "server");
    assert_state(s, 3, "");
    assert_fails(eg_store_put(s, -2, "x", 1), EG_EINVAL, "client -2");
    eg_store_free(s);
    files_remove(dir);
}

static void test_resume_finds_the_last_commit(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_store *s = store(dir, true); /* nothing to resume is an empty store */
    assert_null(eg_store_extra(s));
    put(s, 1, "lost");
    eg_store_free(s);
    s = store(dir, false);
    assert_none(s, 1);
    assert_int_equal(count_files(dir), 0);
    put(s, 1, "a");
    put(s, 300, "b");
    commit(s, 7);
    put(s, 1, "lost");
    put(s, 2, "lost");
    put(s, -1, "lost");
    eg_store_free(s);
    files_write(dir, "manifest.json.12.0.tmp", "{", 1);
    files_write(dir, "notes.txt", "mine", 4);
    eg_store *none;
    assert_fails(eg_store_open(dir, false, &none), EG_EINVAL, "holds a checkpoint already");
    s = store(dir, true);
    assert_int_equal(round_of(s), 7);
    assert_state(s, 1, "a");
    assert_state(s, 300, "b");
    assert_none(s, 2);
    assert_none(s, -1);
    assert_int_equal(count_files(dir), 4); /* with the notes, which are not the store's */
    put(s, 1, "c");
    commit(s, 8);
    eg_store_free(s);
    s = store(dir, true);
    assert_state(s, 1, "c");
    eg_store_free(s);
    files_remove(dir);
}

static void test_damage_names_the_file(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    files_folder(dir);
    eg_store *s = store(dir, false), *none;
    put(s, 5, "a long enough state");
    commit(s, 1);
    eg_store_free(s);
    files_write(dir, "0/5.1", "a long enough stare", 19);
    assert_fails(eg_store_open(dir, true, &none), EG_EFORMAT, "0/5.1: damaged: its checksum");
    assert_null(none);
    files_write(dir, "0/5.1", "short", 5);
    assert_fails(eg_store_open(dir, true, &none), EG_EFORMAT,
                 "0/5.1: damaged: 5 bytes, not 19");
    snprintf(path, sizeof path, "%s/0/5.1", dir);
    remove(path);
    assert_fails(eg_store_open(dir, true, &none), EG_EFORMAT, "0/5.1: the file is missing");
    static const char *const manifests[] = {
        "{",
        "{\"version\":1,\"extra\":{},\"clients\":[[0,1,1,\"0\"]]}",
        "{\"version\":1,\"extra\":{},\"clients\":[[-1,1,1,\"x\"]]}",
        "{\"version\":1,\"extra\":{},\"clients\":[[-1,9999999999,1,\"0\"]]}",
        "{\"version\":1,\"extra\":{},\"clients\":[[-1,1,1]]}",
        "{\"version\":1,\"clients\":[]}",
    };
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        files_write(dir, "manifest.json", manifests[i], strlen(manifests[i]));
        assert_fails(eg_store_open(dir, true, &none), EG_EFORMAT, "manifest.json: ");
    }
    files_remove(dir);
}

/* A state as a function of client and round; which clients a round changes. */
enum { CRASH_CLIENTS = 600, CRASH_PER_ROUND = 6 };

static size_t crash_state(int64_t client, int64_t round, unsigned char out[5000])
{
    size_t n = (size_t)(((client + 1) * 131 + round * 17) % 5000);
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)((size_t)client + (size_t)round * 31 + i);
    return n;
}

static int64_t crash_client(int64_t round, int64_t k)
{
    return (round * 101 + k * 89) % (CRASH_CLIENTS + 1) - 1;
}

static _Noreturn void crash_child(const char *dir)
{
    static unsigned char bytes[5000];
    eg_store *s = store(dir, true);
    for (int64_t round = round_of(s) + 1;; round++) {
        for (int64_t k = 0; k < CRASH_PER_ROUND; k++) {
            size_t n = crash_state(crash_client(round, k), round, bytes);
            if (eg_store_put(s, crash_client(round, k), bytes, n) != EG_OK)
                _exit(1);
        }
        eg_json *e = extra(round);
        if (eg_store_commit(s, e) != EG_OK)
            _exit(2);
        eg_json_free(e);
    }
}

/* The store is exactly what rounds 1 to its last made of it. */
static void assert_committed(const char *dir, int64_t *round)
{
    static unsigned char expected[5000];
    int64_t newest[CRASH_CLIENTS + 1] = {0};
    eg_store *s = store(dir, true);
    assert_true(round_of(s) >= *round);
    *round = round_of(s);
    for (int64_t r = 1; r <= *round; r++)
        for (int64_t k = 0; k < CRASH_PER_ROUND; k++)
            newest[crash_client(r, k) + 1] = r;
    int n_files = *round > 0;
    for (int64_t c = -1; c < CRASH_CLIENTS; c++) {
        unsigned char *bytes;
        size_t n, n_expected = crash_state(c, newest[c + 1], expected);
        if (newest[c + 1] == 0) {
            assert_none(s, c);
            continue;
        }
        assert_ok(eg_store_get(s, c, &bytes, &n));
        assert_int_equal(n, n_expected);
        assert_memory_equal(bytes, expected, n);
        free(bytes);
        n_files++;
    }
    assert_int_equal(count_files(dir), n_files);
    eg_store_free(s);
}

static void test_killed_store_is_one_that_was_committed(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    int64_t round = 0, n_advances = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            crash_child(dir);
        long us = (long)eg_rng_below(&rng, 40000);
        nanosleep(&(struct timespec){0, us * 1000}, NULL);
        int status;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status)); /* it was at work until then */
        int64_t before = round;
        assert_committed(dir, &round);
        n_advances += round > before;
    }
    print_message("%lld rounds, %lld of 20 lives committed\n", (long long)round,
                  (long long)n_advances);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_version_is_read),
        cmocka_unit_test(test_resume_finds_the_last_commit),
        cmocka_unit_test(test_damage_names_the_file),
        cmocka_unit_test(test_killed_store_is_one_that_was_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
