/* gz_test.c - plain and packed files alike; cut, damaged and oversized ones refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "own_folder.h"

static char path[FILES_PATH + 32];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void test_plain_and_gzip_read_alike(void **state)
{
    (void)state;
    enum { N = 200000 };
    uint8_t *bytes = malloc(N), *out;
    for (int i = 0; i < N; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    files_write(folder, "a", bytes, N);
    files_write_gz(folder, "a.gz", bytes, N);
    const char *names[] = {"a", "a.gz"};
    for (int k = 0; k < 2; k++) {
        size_t n;
        assert_ok(eg_gz_load(at(names[k]), N, &out, &n));
        assert_int_equal(n, N);
        assert_memory_equal(out, bytes, N);
        free(out);
        assert_ok(eg_gz_load_behind(at(names[k]), 16, N, &out, &n));
        assert_int_equal(n, N - 16);
        assert_memory_equal(out, bytes + 16, N - 16);
        free(out);
        assert_fails(eg_gz_load_behind(at(names[k]), 15, N - 1, &out, &n), EG_EFORMAT,
                     "more than the expected 199999 bytes");
        uint8_t head[16];
        assert_ok(eg_gz_peek(at(names[k]), 16, head, &n));
        assert_int_equal(n, 16);
        assert_memory_equal(head, bytes, 16);
    }
    free(bytes);
}

static void test_oversized_file_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[1000] = {0}, *out;
    size_t n;
    files_write(folder, "big", bytes, sizeof bytes);
    files_write_gz(folder, "big.gz", bytes, sizeof bytes);
    assert_fails(eg_gz_load(at("big"), 999, &out, &n), EG_EFORMAT,
                 "big: holds more than the expected 999 bytes");
    assert_fails(eg_gz_load(at("big.gz"), 999, &out, &n), EG_EFORMAT, "more than");
    assert_null(out);
}

static void test_cut_and_damaged_gzip_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[1000], *packed, *out;
    size_t n;
    memset(bytes, 3, sizeof bytes);
    files_write_gz(folder, "whole.gz", bytes, sizeof bytes);
    FILE *f = fopen(at("whole.gz"), "rb");
    packed = malloc(2000);
    size_t size = fread(packed, 1, 2000, f);
    fclose(f);
    files_write(folder, "cut.gz", packed, size - 100);
    assert_fails(eg_gz_load(at("cut.gz"), 5000, &out, &n), EG_EFORMAT, "cut short");
    packed[size - 5] ^= 1; /* in the checksum */
    files_write(folder, "bad.gz", packed, size);
    assert_fails(eg_gz_load(at("bad.gz"), 5000, &out, &n), EG_EFORMAT, "bad.gz: the gzip");
    free(packed);
}

static void test_missing_file_and_folder_are_named(void **state)
{
    (void)state;
    uint8_t *out;
    size_t n;
    assert_fails(eg_gz_load(at("none"), 10, &out, &n), EG_ENOENT, "none: No such file");
    assert_fails(eg_gz_load(folder, 10, &out, &n), EG_EIO, "directory");
}

static void test_empty_file_has_no_bytes(void **state)
{
    (void)state;
    uint8_t *out;
    size_t n = 9;
    files_write(folder, "empty", "", 0);
    assert_ok(eg_gz_load(at("empty"), 10, &out, &n));
    assert_int_equal(n, 0);
    assert_non_null(out);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_gzip_read_alike),
        cmocka_unit_test(test_oversized_file_is_refused),
        cmocka_unit_test(test_cut_and_damaged_gzip_is_refused),
        cmocka_unit_test(test_missing_file_and_folder_are_named),
        cmocka_unit_test(test_empty_file_has_no_bytes),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
