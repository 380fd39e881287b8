/* disk_test.c - folders, and files brought to disk.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "io/disk.h"
#include "io/file.h"

static void test_folder_is_made_with_those_above(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    files_folder(dir);
    snprintf(path, sizeof path, "%s/a/b/c", dir);
    assert_ok(eg_disk_make_folder(path));
    assert_ok(eg_disk_make_folder(path));
    files_write(dir, "a/b/c/file", "x", 1);
    snprintf(path, sizeof path, "%s/a/b/c/file", dir);
    assert_fails(eg_disk_make_folder(path), EG_EIO, "c/file: the folder cannot be made");
    strcat(path, "/d");
    assert_fails(eg_disk_make_folder(path), EG_EIO, "c/file");
    files_remove(dir);
}

static void test_created_file_is_never_overwritten(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    unsigned char *bytes;
    size_t n;
    files_folder(dir);
    snprintf(path, sizeof path, "%s/x", dir);
    const eg_bytes parts[] = {{"o", 1}, {NULL, 0}, {"ne", 2}};
    assert_ok(eg_file_create(path, parts, 3));
    assert_fails(eg_file_create(path, parts, 1), EG_EINVAL, "x: is there already");
    assert_ok(eg_file_read(path, 100, &bytes, &n));
    assert_string_equal(bytes, "one");
    free(bytes);
    files_remove(dir);
}

static eg_status count(void *to, const char *name)
{
    (void)name;
    ++*(int *)to;
    return EG_OK;
}

static void test_many_files_and_folders_are_synced(void **state)
{
    (void)state;
    enum { N = 150 };
    char dir[FILES_PATH], *paths[N + 1];
    int n = 0;
    files_folder(dir);
    for (int i = 0; i < N; i++) {
        paths[i] = malloc(FILES_PATH * 2);
        snprintf(paths[i], (size_t)FILES_PATH * 2, "%s/%d", dir, i);
        assert_ok(eg_file_create(paths[i], &(eg_bytes){dir, sizeof dir}, 1));
    }
    paths[N] = dir;
    assert_ok(eg_disk_sync(paths, N + 1));
    assert_ok(eg_disk_walk(dir, count, &n));
    assert_int_equal(n, N);
    remove(paths[7]);
    assert_fails(eg_disk_sync(paths, N + 1), EG_ENOENT,
                 "/7: cannot be brought to disk: No such file");
    for (int i = 0; i < N; i++)
        free(paths[i]);
    files_remove(dir);
    assert_fails(eg_disk_walk(dir, count, &n), EG_ENOENT, "the folder cannot be opened");
}

static void test_a_lock_is_for_one(void **state)
{
    (void)state;
    char folder[FILES_PATH], path[FILES_PATH * 2];
    int first, second;
    files_folder(folder);
    snprintf(path, sizeof path, "%s/lock", folder);
    assert_fails(eg_disk_lock(path, false, &first), EG_ENOENT, "cannot be opened");
    assert_ok(eg_disk_lock(path, true, &first));
    assert_true(first >= 0);
    assert_ok(eg_disk_lock(path, true, &second));
    assert_int_equal(second, -1);
    close(first);
    assert_ok(eg_disk_lock(path, false, &second));
    assert_true(second >= 0);
    close(second);
    files_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_is_made_with_those_above),
        cmocka_unit_test(test_created_file_is_never_overwritten),
        cmocka_unit_test(test_many_files_and_folders_are_synced),
        cmocka_unit_test(test_a_lock_is_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
