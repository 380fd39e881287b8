/* records_file.c - reads heads and records from files, and believes none of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/records_file.h"

#include "base/checksum.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_FIRST_READ 4096 /* bytes, which hold most heads */

size_t eg_records_path_size(const char *dir)
{
    return strlen(dir) + 64;
}

void eg_records_folder(const char *dir, int64_t owner, char *out)
{
    if (owner < 0)
        snprintf(out, eg_records_path_size(dir), "%s", dir);
    else
        snprintf(out, eg_records_path_size(dir), "%s/%lld", dir,
                 (long long)(owner / EG_RECORDS_GROUP));
}

void eg_records_path(const char *dir, int64_t owner, int64_t version, char *out)
{
    if (owner < 0)
        snprintf(out, eg_records_path_size(dir), "%s/server.%lld", dir, (long long)version);
    else
        snprintf(out, eg_records_path_size(dir), "%s/%lld/%lld.%lld", dir,
                 (long long)(owner / EG_RECORDS_GROUP), (long long)owner, (long long)version);
}

/* Opens a file for reading; one that is missing is damage. A pipe of that name would let an
 * ordinary open wait for ever. */
static eg_status file_open(const char *path, int *fd, int64_t *size)
{
    struct stat info;
    *size = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return eg_fail(EG_EFORMAT, "%s: the file is missing", path);
    if (*fd < 0)
        return eg_file_fail(path, "cannot be opened");
    eg_status status = EG_OK;
    if (fstat(*fd, &info) != 0)
        status = eg_file_fail(path, "cannot be read");
    else if (!S_ISREG(info.st_mode))
        status = eg_fail(EG_EFORMAT, "%s: is no regular file", path);
    if (status != EG_OK)
        close(*fd);
    else
        *size = (int64_t)info.st_size;
    return status;
}

/* Exactly n bytes from offset on. */
static eg_status file_pread(int fd, const char *path, unsigned char *to, size_t n,
                            int64_t offset)
{
    size_t got;
    EG_TRY(eg_file_get(fd, path, offset, to, n, &got));
    return got == n ? EG_OK : eg_fail(EG_EFORMAT, "%s: damaged: it ends too early", path);
}

/* The bytes of the head; free() *out. */
static eg_status file_read_head(int fd, const char *path, int64_t size, unsigned char **out,
                                size_t *length)
{
    unsigned char first[FILE_FIRST_READ];
    size_t n = size < FILE_FIRST_READ ? (size_t)size : FILE_FIRST_READ;
    EG_TRY(file_pread(fd, path, first, n, 0));
    EG_TRY(eg_blame(eg_records_head_measure(first, n, length), "%s", path));
    if ((int64_t)*length > size)
        return eg_fail(EG_EFORMAT, "%s: damaged: its head is cut short", path);
    EG_TRY(eg_blame(eg_alloc(*length, 1, out), "%s", path));
    size_t have = *length < n ? *length : n;
    memcpy(*out, first, have);
    return file_pread(fd, path, *out + have, *length - have, (int64_t)have);
}

eg_status eg_records_file_head(const char *path, int64_t owner, const eg_receipt *at,
                               eg_records_head *out)
{
    int fd;
    int64_t size;
    unsigned char *head = NULL;
    size_t length = 0;
    *out = (eg_records_head){0};
    EG_TRY(file_open(path, &fd, &size));
    eg_status status = file_read_head(fd, path, size, &head, &length);
    close(fd);
    if (status == EG_OK && eg_checksum(0, head, length) != at->digest)
        status = eg_fail(EG_EFORMAT, "%s: damaged: its head is not that of the receipt", path);
    if (status == EG_OK)
        status = eg_blame(eg_records_head_parse(head, length, out), "%s", path);
    if (status == EG_OK &&
        (out->owner != owner || out->version != at->version || out->bytes != at->bytes))
        status = eg_fail(EG_EFORMAT, "%s: damaged: its head is not that of the receipt", path);
    if (status == EG_OK && out->size != size)
        status = eg_fail(EG_EFORMAT, "%s: damaged: %lld bytes, not %lld", path, (long long)size,
                         (long long)out->size);
    free(head);
    return status;
}

eg_status eg_records_file_bytes(const char *path, int64_t size, const eg_records_place *p,
                                unsigned char **out)
{
    int fd;
    int64_t there;
    *out = NULL;
    EG_TRY(file_open(path, &fd, &there));
    eg_status status = EG_OK;
    if (there != size) /* known before anything is allocated */
        status = eg_fail(EG_EFORMAT, "%s: damaged: %lld bytes, not %lld", path,
                         (long long)there, (long long)size);
    else if (!(*out = malloc(p->length > 0 ? (size_t)p->length : 1)))
        status = eg_fail(EG_ENOMEM, "%s: no memory for %lld bytes", path, (long long)p->length);
    if (status == EG_OK)
        status = file_pread(fd, path, *out, (size_t)p->length, p->offset);
    if (status == EG_OK && eg_checksum(0, *out, (size_t)p->length) != p->sum)
        status =
            eg_fail(EG_EFORMAT, "%s: damaged: record '%s' has another checksum", path, p->name);
    close(fd);
    if (status != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

eg_status eg_records_fresh(const char *dir, int64_t owner, const eg_receipt *at, int64_t older,
                           eg_status (*visit)(void *to, int64_t version), void *to)
{
    eg_records_head head;
    char *path = malloc(eg_records_path_size(dir));
    if (!path)
        return eg_fail(EG_ENOMEM, "%s: no memory for a path", dir);
    eg_records_path(dir, owner, at->version, path);
    eg_status status = eg_records_file_head(path, owner, at, &head);
    free(path);
    if (status == EG_OK)
        status = visit(to, at->version);
    for (size_t i = 0; i < head.n_files && status == EG_OK; i++) {
        int64_t version = head.files[i].version;
        if (version > older && eg_records_head_refers(&head, version))
            status = visit(to, version);
    }
    eg_records_head_fini(&head);
    return status;
}
