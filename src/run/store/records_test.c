/* records_test.c - records put, saved, found again, lost and damaged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

static const eg_receipt nothing;

static eg_records *open_at(const char *dir, int64_t owner, eg_receipt at, int64_t committed)
{
    eg_records *r;
    assert_ok(eg_records_open(dir, owner, &at, committed, &r));
    return r;
}

static void test_records_are_found_again(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_records *r = open_at(dir, 700, nothing, 0);
    keeping_expect_none(r, "model");
    assert_int_equal(keeping_save(r).version, 0); /* nothing was put */
    keeping_put(r, "model", 3, 100);
    keeping_put(r, "memory", 4, 0);
    keeping_put(r, "gone", 5, 7);
    keeping_expect(r, "model", 3, 100);
    eg_receipt first = keeping_save(r);
    assert_int_equal(first.version, 1);
    assert_true(keeping_exists(dir, "2/700.1"));
    assert_memory_equal(&(eg_receipt){0}, &nothing, sizeof nothing);
    eg_receipt again = keeping_save(r);
    assert_memory_equal(&again, &first, sizeof first);
    eg_records_free(r);

    r = open_at(dir, 700, first, 0);
    assert_int_equal(eg_records_n(r), 3);
    assert_string_equal(eg_records_name(r, 0), "gone");
    assert_string_equal(eg_records_name(r, 2), "model");
    keeping_expect(r, "model", 3, 100);
    keeping_expect(r, "memory", 4, 0);
    again = keeping_save(r);
    assert_memory_equal(&again, &first, sizeof first);
    assert_ok(eg_records_put(r, "gone", NULL));
    assert_ok(eg_records_put(r, "never there", NULL));
    keeping_put(r, "model", 6, 50);
    eg_receipt second = keeping_save(r);
    assert_int_equal(second.version, 2);
    assert_true(second.bytes < first.bytes);
    eg_records_free(r);

    r = open_at(dir, 700, second, 2);
    assert_int_equal(eg_records_n(r), 2);
    keeping_expect_none(r, "gone");
    keeping_expect(r, "model", 6, 50);
    keeping_expect(r, "memory", 4, 0);
    keeping_put(r, "model", 7, 1); /* not saved, so it is lost */
    eg_records_free(r);
    r = open_at(dir, 700, second, 2);
    keeping_expect(r, "model", 6, 50);
    eg_records_free(r);
    files_remove(dir);
}

/* Bytes that this process has read from files so far; 0 where the system does not say. */
static long long bytes_read(void)
{
    long long n = 0;
    FILE *f = fopen("/proc/self/io", "r");
    if (f && fscanf(f, "rchar: %lld", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}

static void test_turn_reads_only_what_it_asks_for(void **state)
{
    (void)state;
    enum { LARGE = 500000 };
    char dir[FILES_PATH];
    files_folder(dir);
    eg_records *r = open_at(dir, 3, nothing, 0);
    const eg_bundle *b;
    keeping_put(r, "large", 1, LARGE);
    keeping_put(r, "small", 2, 10);
    eg_receipt at = keeping_save(r);
    eg_records_free(r);

    long long before = bytes_read();
    r = open_at(dir, 3, at, 0);
    keeping_expect(r, "small", 2, 10);
    long long small = bytes_read() - before;
    keeping_expect(r, "large", 1, LARGE);
    before = bytes_read();
    keeping_expect(r, "large", 1, LARGE);
    keeping_expect(r, "small", 2, 10);
    long long again = bytes_read() - before;
    print_message("a small record beside %d bytes: %lld bytes read, again %lld\n", LARGE * 4,
                  small, again);
    assert_true(small < 10000);
    assert_true(again < 2000); /* the counter's own */
    eg_records_free(r);

    size_t n; /* what is not asked for may as well be damaged */
    unsigned char *bytes = keeping_read(dir, "0/3.1", &n);
    bytes[n / 2] ^= 4;
    files_write(dir, "0/3.1", bytes, n);
    free(bytes);
    r = open_at(dir, 3, at, 0);
    keeping_expect(r, "small", 2, 10);
    assert_fails(eg_records_get(r, "large", &b), EG_EFORMAT,
                 "0/3.1: damaged: record 'large' has another checksum");
    assert_null(b);
    eg_records_free(r);
    files_remove(dir);
}

/* What is released is read again; what was put is not lost by it. */
static void test_released_records_leave_memory(void **state)
{
    (void)state;
    enum { LARGE = 500000 };
    char dir[FILES_PATH];
    files_folder(dir);
    eg_records *r = open_at(dir, 3, nothing, 0);
    keeping_put(r, "a", 1, LARGE);
    assert_ok(eg_records_release(r, "a"));
    assert_ok(eg_records_release(r, "never there"));
    assert_int_equal(keeping_count_files(dir), 0); /* it is little, and waits */
    keeping_expect(r, "a", 1, LARGE);
    keeping_put(r, "b", 2, LARGE);
    assert_ok(eg_records_release(r, "b"));
    eg_receipt at = keeping_save(r);
    assert_int_equal(at.version, 1);

    long long before = bytes_read();
    keeping_expect(r, "a", 1, LARGE); /* borrowed before the save, and still there */
    long long kept = bytes_read() - before;
    before = bytes_read();
    keeping_expect(r, "b", 2, LARGE);
    long long read = bytes_read() - before;
    assert_ok(eg_records_release(r, "a"));
    before = bytes_read();
    keeping_expect(r, "a", 1, LARGE);
    assert_true(before == 0 || (kept < 2000 && read > LARGE && bytes_read() - before > LARGE));
    assert_true(keeping_save(r).version == 1); /* nothing was put since */
    eg_records_free(r);
    files_remove(dir);
}

/* A turn that keeps much writes it on its way, as versions that nobody is told of. */
static void test_much_that_is_released_is_written_on_the_way(void **state)
{
    (void)state;
    enum { EACH = 1 << 20, N = 9 }; /* floats: two records are EG_RECORDS_WAITING */
    char dir[FILES_PATH], name[32];
    files_folder(dir);
    eg_records *r = open_at(dir, 1, nothing, 0);
    keeping_put(r, "small", 77, 10);
    eg_receipt first = keeping_save(r);
    eg_records_free(r);
    r = open_at(dir, 1, first, 1);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "large%d", i);
        keeping_put(r, name, i, EACH);
        assert_ok(eg_records_release(r, name));
        assert_int_equal(keeping_count_files(dir), 1 + (i + 1) / 2);
    }
    keeping_put(r, "large2", 100, EACH); /* of a version that nobody knows */
    eg_receipt second = keeping_save(r);
    eg_records_free(r);
    assert_int_equal(second.version, 6);

    r = open_at(dir, 1, first, 1); /* the turn's receipt was lost: it never was */
    keeping_expect(r, "small", 77, 10);
    keeping_expect_none(r, "large0");
    eg_records_free(r);
    r = open_at(dir, 1, second, 1);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "large%d", i);
        keeping_expect(r, name, i == 2 ? 100 : i, EACH);
        assert_ok(eg_records_release(r, name));
    }
    eg_records_free(r);
    files_remove(dir);
}

static void test_put_leaves_other_records_where_they_are(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n_first, n_again, n_second;
    files_folder(dir);
    eg_records *r = open_at(dir, -1, nothing, 0);
    keeping_put(r, "a", 1, 1000);
    keeping_put(r, "b", 2, 1000);
    keeping_put(r, "c", 3, 1000);
    eg_receipt at = keeping_save(r);
    eg_records_free(r);
    unsigned char *first = keeping_read(dir, "server.1", &n_first);
    r = open_at(dir, -1, at, 1);
    keeping_put(r, "b", 4, 1000);
    at = keeping_save(r);
    eg_records_free(r);
    unsigned char *again = keeping_read(dir, "server.1", &n_again);
    unsigned char *second = keeping_read(dir, "server.2", &n_second);
    assert_int_equal(n_again, n_first);
    assert_memory_equal(again, first, n_first);
    assert_true(n_second < 5000);
    r = open_at(dir, -1, at, 2);
    keeping_expect(r, "a", 1, 1000);
    keeping_expect(r, "b", 4, 1000);
    keeping_expect(r, "c", 3, 1000);
    eg_records_free(r);
    free(first);
    free(again);
    free(second);
    files_remove(dir);
}

static void test_old_versions_go_but_for_those_that_count(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_receipt at = nothing;
    for (int64_t v = 1; v <= 6; v++) { /* version 3 is committed after it was saved */
        eg_records *r = open_at(dir, 1, at, v > 3 ? 3 : 0);
        if (v == 1)
            keeping_put(r, "stays", 100, 1000);
        keeping_put(r, "model", v, 1000);
        at = keeping_save(r);
        assert_int_equal(at.version, v);
        eg_records_free(r);
        /* The new one, the one before, the committed one, and the first for what stays. */
        int expected = v <= 3 ? (int)v : v == 4 ? 3 : 4;
        assert_int_equal(keeping_count_files(dir), expected);
        assert_int_equal(keeping_exists(dir, "0/1.3"), v >= 3);
        assert_true(keeping_exists(dir, "0/1.1"));
    }
    eg_records *r = open_at(dir, 1, at, 6);
    assert_ok(eg_records_put(r, "stays", NULL));
    at = keeping_save(r);
    eg_records_free(r);
    assert_int_equal(keeping_count_files(dir), 3); /* 7, 6, and 1, which 6 refers to */
    r = open_at(dir, 1, at, 7);
    keeping_put(r, "model", 8, 1000);
    keeping_save(r);
    keeping_put(r, "model", 9, 1000);
    at = keeping_save(r); /* twice in a turn: 8 was never told to anyone */
    eg_records_free(r);
    assert_int_equal(at.version, 9);
    assert_true(keeping_exists(dir, "0/1.9"));
    assert_false(keeping_exists(dir, "0/1.8"));
    assert_true(keeping_exists(dir, "0/1.7"));
    r = open_at(dir, 1, at, 7);
    keeping_expect(r, "model", 9, 1000);
    eg_records_free(r);
    files_remove(dir);
}

static void test_small_record_does_not_keep_a_large_file(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n;
    files_folder(dir);
    eg_receipt at = nothing;
    for (int64_t v = 1; v <= 5; v++) {
        eg_records *r = open_at(dir, 1, at, at.version);
        if (v == 1)
            keeping_put(r, "small", 77, 10);
        keeping_put(r, "large", v, 100000);
        at = keeping_save(r);
        eg_records_free(r);
    }
    assert_int_equal(keeping_count_files(dir), 2);
    eg_records *r = open_at(dir, 1, at, 5);
    keeping_expect(r, "small", 77, 10);
    keeping_expect(r, "large", 5, 100000);
    keeping_put(r, "small", 78, 10); /* that the large one stands elsewhere costs nothing */
    at = keeping_save(r);
    eg_records_free(r);
    free(keeping_read(dir, "0/1.6", &n));
    assert_true(n < 1000);
    r = open_at(dir, 1, at, 6);
    keeping_expect(r, "large", 5, 100000);
    keeping_expect(r, "small", 78, 10);
    eg_records_free(r);
    files_remove(dir);
}

static void test_turn_whose_receipt_was_lost_never_was(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    files_folder(dir);
    eg_records *r = open_at(dir, 1, nothing, 0);
    keeping_put(r, "a", 1, 100);
    eg_receipt one = keeping_save(r);
    eg_records_free(r);
    r = open_at(dir, 1, one, 0);
    keeping_put(r, "a", 2, 100);
    eg_receipt two = keeping_save(r);
    eg_records_free(r);
    for (int64_t i = 0; i < 3; i++) { /* neither of the three comes back */
        r = open_at(dir, 1, two, 0);
        keeping_expect(r, "a", 2, 100);
        keeping_put(r, "a", 100 + i, 100);
        assert_int_equal(keeping_save(r).version, 3);
        eg_records_free(r);
    }
    r = open_at(dir, 1, two, 0);
    keeping_put(r, "b", 3, 100);
    eg_receipt three = keeping_save(r);
    eg_records_free(r);
    r = open_at(dir, 1, three, 0);
    keeping_expect(r, "a", 2, 100);
    keeping_expect(r, "b", 3, 100);
    eg_records_free(r);
    files_remove(dir);
}

static void test_failed_save_may_be_tried_again(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_receipt at;
    files_folder(dir);
    eg_records *r = open_at(dir, 5, nothing, 0);
    keeping_put(r, "a", 1, 10);
    files_write(dir, "0", "in the folder's place", 21);
    assert_fails(eg_records_save(r, &at), EG_EIO, "/0: the folder cannot be made");
    assert_int_equal(at.version, 0);
    snprintf(path, sizeof path, "%s/0", dir);
    remove(path);
    at = keeping_save(r);
    eg_records_free(r);
    r = open_at(dir, 5, at, 0);
    keeping_expect(r, "a", 1, 10);
    eg_records_free(r);
    files_remove(dir);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2], name[300];
    eg_records *none;
    files_folder(dir);
    static const struct {
        int64_t owner;
        eg_receipt at;
        int64_t committed;
    } wrong[] = {
        {-2, {0, 0, 0}, 0},
        {EG_MAX_OWNER, {0, 0, 0}, 0},
        {1, {-1, 0, 0}, 0},
        {1, {0, 5, 0}, 0},
        {1, {1, -5, 0}, 0},
        {1, {2, 5, 0}, 3},
        {1, {EG_MAX_VERSION + 1, 5, 0}, 0},
        {1, {2, 5, 0}, -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(
            eg_records_open(dir, wrong[i].owner, &wrong[i].at, wrong[i].committed, &none),
            EG_EINVAL, dir);
        assert_null(none);
    }
    eg_records *r = open_at(dir, 1, nothing, 0);
    memset(name, 'x', 201);
    name[201] = 0;
    assert_fails(eg_records_put(r, name, keeping_bundle(1, 1)), EG_EINVAL, "no name for a");
    assert_fails(eg_records_put(r, "", keeping_bundle(1, 1)), EG_EINVAL, "no name for a");
    assert_fails(eg_records_put(r, "a\nb", keeping_bundle(1, 1)), EG_EINVAL, "no name for a");
    name[200] = 0;
    keeping_put(r, name, 1, 1);
    for (int i = 1; i < EG_MAX_RECORDS; i++) {
        snprintf(name, sizeof name, "%d", i);
        keeping_put(r, name, i, 1);
    }
    assert_fails(eg_records_put(r, "one more", keeping_bundle(1, 1)), EG_EINVAL,
                 "has 4096 records already");
    eg_receipt at = keeping_save(r), other = at;
    eg_records_free(r);
    r = open_at(dir, 1, at, 0); /* with a head that one small read does not hold */
    keeping_expect(r, "4095", 4095, 1);
    eg_records_free(r);
    other.digest ^= 1;
    assert_fails(eg_records_open(dir, 1, &other, 0, &none), EG_EFORMAT,
                 "0/1.1: damaged: its head is not that of the receipt");
    other = at;
    other.bytes++;
    assert_fails(eg_records_open(dir, 1, &other, 0, &none), EG_EFORMAT,
                 "0/1.1: damaged: its head is not that of the receipt");
    other.version = 2;
    assert_fails(eg_records_open(dir, 1, &other, 0, &none), EG_EFORMAT,
                 "0/1.2: the file is missing");
    snprintf(path, sizeof path, "%s/0/1.2", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(eg_records_open(dir, 1, &other, 0, &none), EG_EFORMAT, "no regular file");
    files_remove(dir);
}

/* A turn that began before a commit and ended after it. */
static void test_commit_may_come_during_a_turn(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    eg_receipt at[5] = {nothing};
    eg_records *r;
    files_folder(dir);
    for (int64_t v = 1; v <= 3; v++) { /* by then 2 is committed, but 3 was told of 1 */
        r = open_at(dir, 1, at[v - 1], v > 1);
        keeping_put(r, v == 2 ? "b" : "a", v, 100);
        at[v] = keeping_save(r);
        eg_records_free(r);
    }
    r = open_at(dir, 1, at[3], 2);
    keeping_put(r, "a", 4, 100);
    keeping_put(r, "b", 4, 100);
    at[4] = keeping_save(r);
    eg_records_free(r);
    r = open_at(dir, 1, at[2], 2); /* as after a crash: it is all there */
    keeping_expect(r, "a", 1, 100);
    keeping_expect(r, "b", 2, 100);
    eg_records_free(r);
    r = open_at(dir, 1, at[4], 2);
    keeping_expect(r, "a", 4, 100);
    eg_records_free(r);
    files_remove(dir);
}

static void test_commit_that_cannot_be_is_refused(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    eg_receipt at = nothing;
    eg_records *none;
    files_folder(dir);
    for (int64_t v = 1; v <= 4; v++) {
        eg_records *r = open_at(dir, 1, at, v > 1);
        keeping_put(r, "a", v, 10);
        at = keeping_save(r);
        eg_records_free(r);
    }
    assert_fails(eg_records_open(dir, 1, &at, 2, &none), EG_EINVAL,
                 "version 4 was made from 3 with 1 committed, so 2 cannot be the last commit");
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_found_again),
        cmocka_unit_test(test_turn_reads_only_what_it_asks_for),
        cmocka_unit_test(test_released_records_leave_memory),
        cmocka_unit_test(test_much_that_is_released_is_written_on_the_way),
        cmocka_unit_test(test_put_leaves_other_records_where_they_are),
        cmocka_unit_test(test_old_versions_go_but_for_those_that_count),
        cmocka_unit_test(test_small_record_does_not_keep_a_large_file),
        cmocka_unit_test(test_turn_whose_receipt_was_lost_never_was),
        cmocka_unit_test(test_failed_save_may_be_tried_again),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_commit_may_come_during_a_turn),
        cmocka_unit_test(test_commit_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
