/* files.h - a folder of a test's own, and files in it, plain or gzip.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_FILES_H
#define EG_TEST_FILES_H

#include "test.h"

#include "io/gz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_PATH 512

/* Makes an empty folder; remove it with files_remove. */
static inline void files_folder(char out[FILES_PATH])
{
    const char *base = getenv("TMPDIR");
    snprintf(out, FILES_PATH, "%s/engram-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

static inline void files_remove(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[FILES_PATH * 2];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        assert_true(n < (int)sizeof inner);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            files_remove(inner);
    }
    if (d)
        closedir(d);
    remove(path);
}

/* Writes folder/name, making the one folder that name may begin with. */
static inline void files_write(const char *folder, const char *name, const void *bytes,
                               size_t n)
{
    char path[FILES_PATH * 3];
    for (const char *slash = name; (slash = strchr(slash, '/')); slash++) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        mkdir(path, 0777);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline uint8_t *files_put32(uint8_t *p, uint32_t v) /* little-endian */
{
    for (int i = 0; i < 4; i++)
        *p++ = (uint8_t)(v >> 8 * i);
    return p;
}

/* n bytes as a deflate stream of stored blocks; out has room for n + 5 a started 65535. */
static inline size_t files_deflate(const uint8_t *bytes, size_t n, uint8_t *out)
{
    uint8_t *p = out;
    size_t at = 0;
    do {
        size_t take = n - at < 65535 ? n - at : 65535;
        *p++ = at + take == n;
        *p++ = (uint8_t)take;
        *p++ = (uint8_t)(take >> 8);
        *p++ = (uint8_t)~take;
        *p++ = (uint8_t)(~take >> 8);
        memcpy(p, bytes + at, take);
        p += take;
        at += take;
    } while (at < n);
    return (size_t)(p - out);
}

static inline void files_write_gz(const char *folder, const char *name, const void *bytes,
                                  size_t n)
{
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    uint8_t *packed = malloc(n + n / 65535 * 5 + 32);
    assert_non_null(packed);
    memcpy(packed, head, sizeof head);
    uint8_t *end = packed + 10 + files_deflate(bytes, n, packed + 10);
    end = files_put32(end, eg_gz_crc32(bytes, n));
    end = files_put32(end, (uint32_t)n);
    files_write(folder, name, packed, (size_t)(end - packed));
    free(packed);
}

#endif
