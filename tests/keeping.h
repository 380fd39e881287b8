/* keeping.h - records that tests put, read back and damage.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_KEEPING_H
#define EG_TEST_KEEPING_H

#include "files.h"

#include "io/file.h"
#include "run/store/ledger.h"

#include <fcntl.h>

/* A bundle of n floats and a number, all of which follow from value. */
static inline eg_bundle *keeping_bundle(int64_t value, size_t n)
{
    eg_bundle *b;
    float *x;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_scalar(b, "value", (double)value));
    assert_ok(eg_bundle_room(b, "x", eg_dims((int64_t)n), &x));
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(value % 1000) + (float)i;
    return b;
}

static inline void keeping_put(eg_records *r, const char *name, int64_t value, size_t n)
{
    assert_ok(eg_records_put(r, name, keeping_bundle(value, n)));
}

/* Whether a bundle is the one that value and n make. */
static inline bool keeping_equal(const eg_bundle *b, int64_t value, size_t n)
{
    double scalar;
    size_t n_x;
    const float *x = eg_bundle_find(b, "x", &n_x);
    bool equal = eg_bundle_scalar_of(b, "value", &scalar) && scalar == (double)value &&
                 n_x == n && eg_bundle_n(b) == 2;
    for (size_t i = 0; equal && i < n; i++)
        equal = x[i] == (float)(value % 1000) + (float)i;
    return equal;
}

static inline void keeping_expect(eg_records *r, const char *name, int64_t value, size_t n)
{
    const eg_bundle *b;
    assert_ok(eg_records_get(r, name, &b));
    assert_non_null(b);
    assert_true(keeping_equal(b, value, n));
}

static inline void keeping_expect_none(eg_records *r, const char *name)
{
    const eg_bundle *b;
    assert_ok(eg_records_get(r, name, &b));
    assert_null(b);
}

static inline eg_receipt keeping_save(eg_records *r)
{
    eg_receipt receipt;
    assert_ok(eg_records_save(r, &receipt));
    return receipt;
}

/* A turn: the owner puts one record, saves, and its receipt is entered. */
static inline void keeping_turn(eg_ledger *l, int64_t owner, const char *name, int64_t value,
                                size_t n)
{
    eg_records *r;
    assert_ok(eg_ledger_records(l, owner, &r));
    keeping_put(r, name, value, n);
    eg_receipt at = keeping_save(r);
    eg_records_free(r);
    assert_ok(eg_ledger_enter(l, owner, &at));
}

/* A commit whose extra says {"round": round}. */
static inline void keeping_commit(eg_ledger *l, int64_t round)
{
    eg_json *extra = eg_json_object();
    assert_ok(eg_json_set(extra, "round", eg_json_of_int(round)));
    assert_ok(eg_ledger_commit(l, extra));
    eg_json_free(extra);
}

/* Files below a folder, of all depths. */
static inline int keeping_count_files(const char *path)
{
    DIR *d = opendir(path);
    int n = d ? 0 : 1;
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[FILES_PATH * 2];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        assert_true(length < (int)sizeof inner);
        if (e->d_name[0] != '.')
            n += keeping_count_files(inner);
    }
    if (d)
        closedir(d);
    return n;
}

static inline bool keeping_exists(const char *dir, const char *name)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static inline unsigned char *keeping_read(const char *dir, const char *name, size_t *n)
{
    char path[FILES_PATH * 2];
    unsigned char *bytes;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_ok(eg_file_read(path, (size_t)1 << 30, &bytes, n));
    return bytes;
}

/* Changes n bytes of a file where they are; to cut it and write it again takes the disk's time.
 */
static inline void keeping_poke(const char *dir, const char *name, size_t at, const void *bytes,
                                size_t n)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), n);
    assert_int_equal(close(fd), 0);
}

static inline void keeping_cut(const char *dir, const char *name, size_t n)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(truncate(path, (off_t)n), 0);
}

#endif
