/* file_test.c - whole files: bounds, errors that name the path, replacement in one step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/engram_file_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    return rmdir(folder);
}

static void test_what_is_written_is_read_back(void **state)
{
    (void)state;
    static unsigned char big[300000];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (unsigned char)(i * 7);
    const eg_bytes parts[] = {{"head", 4}, {NULL, 0}, {big, sizeof big}};
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_file_write(in_folder("a"), parts, 3));
    assert_ok(eg_file_read(in_folder("a"), sizeof big + 4, &bytes, &n));
    assert_int_equal(n, sizeof big + 4);
    assert_memory_equal(bytes, "head", 4);
    assert_memory_equal(bytes + 4, big, sizeof big);
    assert_int_equal(bytes[n], 0);
    free(bytes);
    assert_fails(eg_file_read(in_folder("a"), sizeof big + 3, &bytes, &n), EG_EINVAL,
                 "/a: 300004 bytes, more than 300003");
    assert_null(bytes);
}

static void test_an_empty_file_is_an_empty_text(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_file_write(in_folder("empty"), NULL, 0));
    assert_ok(eg_file_read(in_folder("empty"), 0, &bytes, &n));
    assert_int_equal(n, 0);
    assert_string_equal((char *)bytes, "");
    free(bytes);
}

static void test_a_second_write_replaces_the_first(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    int before = count_files();
    assert_ok(eg_file_write(in_folder("twice"), &(eg_bytes){"a longer text", 13}, 1));
    assert_ok(eg_file_write(in_folder("twice"), &(eg_bytes){"short", 5}, 1));
    assert_ok(eg_file_read(in_folder("twice"), 100, &bytes, &n));
    assert_string_equal((char *)bytes, "short");
    free(bytes);
    assert_int_equal(count_files(), before + 1);
}

static void test_errors_name_the_path(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    assert_fails(eg_file_read("/nowhere/x", 1, &bytes, &n), EG_ENOENT,
                 "/nowhere/x: cannot be opened: No such file");
    assert_fails(eg_file_read("/tmp", 1, &bytes, &n), EG_EIO, "/tmp: cannot be read: Is a dir");
    assert_fails(eg_file_write("/nowhere/x", NULL, 0), EG_ENOENT,
                 "/nowhere/x: cannot be created: No such file");
}

static void test_a_failed_write_leaves_nothing_behind(void **state)
{
    (void)state;
    mkdir(in_folder("taken"), 0777); /* a folder cannot be replaced by a file */
    int before = count_files();
    assert_fails(eg_file_write(in_folder("taken"), &(eg_bytes){"x", 1}, 1), EG_EINVAL,
                 "/taken: is there and is no regular file");
    assert_int_equal(count_files(), before);
    rmdir(in_folder("taken"));
}

static void test_only_regular_files_are_replaced(void **state)
{
    (void)state;
    struct stat about;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_fails(eg_file_write(in_folder("pipe"), &(eg_bytes){"x", 1}, 1), EG_EINVAL,
                 "/pipe: is there and is no regular file");
    assert_int_equal(stat(in_folder("pipe"), &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
    unlink(in_folder("pipe"));

    char target[300];
    snprintf(target, sizeof target, "%s", in_folder("target"));
    assert_ok(eg_file_write(target, &(eg_bytes){"x", 1}, 1));
    assert_int_equal(symlink(target, in_folder("link")), 0); /* /dev/stdout is one, too */
    assert_fails(eg_file_write(in_folder("link"), &(eg_bytes){"y", 1}, 1), EG_EINVAL,
                 "/link: is there and is no regular file");
    assert_int_equal(lstat(in_folder("link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    unlink(in_folder("link"));
    unlink(target);
}

static void test_a_device_is_read_within_the_bound(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_file_read("/dev/null", 0, &bytes, &n)); /* a device has no size */
    free(bytes);
    assert_fails(eg_file_read("/dev/zero", 100000, &bytes, &n), EG_EINVAL,
                 "/dev/zero: more than 100000 bytes");
}

static void test_a_stale_temporary_file_is_no_obstacle(void **state)
{
    (void)state;
    char stale[300];
    snprintf(stale, sizeof stale, "%s.%ld.0.tmp", in_folder("again"), (long)getpid());
    close(open(stale, O_CREAT | O_WRONLY, 0600));
    assert_ok(eg_file_write(in_folder("again"), &(eg_bytes){"x", 1}, 1));
    assert_int_equal(access(stale, F_OK), 0);
}

/* What waits on the disk, and how much of it is copied. */
typedef struct waiting {
    int fd;
    int64_t n;
} waiting;

static eg_status put_waiting(void *context, int fd, const char *path)
{
    const waiting *w = context;
    EG_TRY(eg_file_put(fd, path, (eg_bytes){"head", 4}));
    return eg_file_copy(w->fd, fd, path, w->n);
}

static void test_what_waits_on_the_disk_is_copied(void **state)
{
    (void)state;
    static unsigned char big[3000000];
    unsigned char *bytes;
    size_t n;
    waiting w = {.n = sizeof big};
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (unsigned char)(i * 7 + i / 256);
    int before = count_files();
    assert_ok(eg_file_open_scratch(in_folder("w"), &w.fd));
    assert_int_equal(count_files(), before); /* it has no name */
    assert_ok(eg_file_put(w.fd, "w", (eg_bytes){big, sizeof big}));
    assert_ok(eg_file_write_by(in_folder("w"), put_waiting, &w));
    assert_ok(eg_file_read(in_folder("w"), sizeof big + 4, &bytes, &n));
    assert_int_equal(n, sizeof big + 4);
    assert_memory_equal(bytes + 4, big, sizeof big);
    free(bytes);
    w.n++; /* more than there is */
    assert_fails(eg_file_create_by(in_folder("v"), put_waiting, &w), EG_EIO,
                 "/v: what was gathered for it ends too early");
    assert_int_equal(count_files(), before + 1); /* nothing is left of it */
    close(w.fd);
    assert_fails(eg_file_open_scratch("/nowhere/at/all", &w.fd), EG_ENOENT, "/nowhere/at/all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_an_empty_file_is_an_empty_text),
        cmocka_unit_test(test_a_second_write_replaces_the_first),
        cmocka_unit_test(test_errors_name_the_path),
        cmocka_unit_test(test_a_failed_write_leaves_nothing_behind),
        cmocka_unit_test(test_only_regular_files_are_replaced),
        cmocka_unit_test(test_a_device_is_read_within_the_bound),
        cmocka_unit_test(test_a_stale_temporary_file_is_no_obstacle),
        cmocka_unit_test(test_what_waits_on_the_disk_is_copied),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
