/* file.c - whole files over POSIX calls.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

eg_status eg_file_fail(const char *path, const char *what)
{
    int code = errno;
    char reason[128];
    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", code);
    return eg_fail(code == ENOENT || code == ENOTDIR ? EG_ENOENT : EG_EIO, "%s: %s: %s", path,
                   what, reason);
}

/* Reads until the end or past max. *bytes comes with room for cap and grows when that is
 * little. */
static eg_status file_read_all(int fd, const char *path, size_t max, size_t cap,
                               unsigned char **bytes, size_t *n)
{
    for (;;) {
        if (*n > max)
            return eg_fail(EG_EINVAL, "%s: more than %zu bytes", path, max);
        EG_TRY(eg_grow(bytes, *n + 1, &cap, 1)); /* one more, for the closing zero */
        ssize_t got = read(fd, *bytes + *n, cap - 1 - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return eg_file_fail(path, "cannot be read");
        if (got == 0)
            break;
        *n += (size_t)got;
    }
    (*bytes)[*n] = 0;
    return EG_OK;
}

eg_status eg_file_read(const char *path, size_t max, unsigned char **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return eg_file_fail(path, "cannot be opened");
    unsigned char *bytes = NULL;
    eg_status status = EG_OK;
    struct stat info;
    size_t cap = 0, length = 0;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        size_t size = (size_t)info.st_size; /* a hint: it may change while it is read */
        cap = size + 2;                     /* the closing zero, and room to see the end */
        if (size > max)
            status = eg_fail(EG_EINVAL, "%s: %zu bytes, more than %zu", path, size, max);
        else if (!(bytes = malloc(cap)))
            status = eg_fail(EG_ENOMEM, "%s: cannot allocate %zu bytes", path, cap);
    }
    if (status == EG_OK)
        status = file_read_all(fd, path, max, cap, &bytes, &length);
    close(fd);
    if (status != EG_OK) {
        free(bytes);
        return status;
    }
    *out = bytes;
    *n = length;
    return EG_OK;
}

eg_status eg_file_put(int fd, const char *path, eg_bytes part)
{
    const char *at = part.data;
    while (part.n > 0) {
        ssize_t put = write(fd, at, part.n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return eg_file_fail(path, "cannot be written");
        at += put;
        part.n -= (size_t)put;
    }
    return EG_OK;
}

eg_status eg_file_get(int fd, const char *path, int64_t at, void *to, size_t n, size_t *got)
{
    for (*got = 0; *got < n;) {
        ssize_t more = pread(fd, (char *)to + *got, n - *got, (off_t)(at + (int64_t)*got));
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return eg_file_fail(path, "cannot be read");
        if (more == 0)
            break;
        *got += (size_t)more;
    }
    return EG_OK;
}

eg_status eg_file_get_scratch(int fd, const char *path, int64_t at, void *to, size_t n)
{
    size_t got;
    EG_TRY(eg_file_get(fd, path, at, to, n, &got));
    return got == n ? EG_OK
                    : eg_fail(EG_EIO, "%s: what was gathered for it ends too early", path);
}

/* Makes a new file beside path; temp receives its name. */
static eg_status file_open_temp(const char *path, char *temp, size_t size, int *fd)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(temp, size, "%s.%ld.%d.tmp", path, (long)getpid(), attempt);
        *fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0)
            return EG_OK;
        if (errno != EEXIST) /* another thread's, or what a killed process left behind */
            break;
    }
    return eg_file_fail(path, "cannot be created");
}

/* A rename is on disk when its folder is. Some file systems cannot sync folders; that is no
 * failure, for the file itself is safe. */
static void file_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* A rename would put a file in the place of a device, a pipe or a link, not write to it. */
static eg_status file_check_target(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0 || S_ISREG(about.st_mode))
        return EG_OK;
    return eg_fail(EG_EINVAL, "%s: is there and is no regular file, so it is not replaced",
                   path);
}

eg_status eg_file_open_scratch(const char *path, int *fd)
{
    size_t size = strlen(path) + 64;
    char *temp;
    EG_TRY(eg_blame(eg_alloc(size, 1, &temp), "%s", path));
    eg_status status = file_open_temp(path, temp, size, fd);
    if (status == EG_OK)
        unlink(temp);
    free(temp);
    return status;
}

eg_status eg_file_copy(int from, int to, const char *path, int64_t n)
{
    enum { PIECE = 1 << 20 };
    char *piece;
    eg_status status = eg_blame(eg_alloc(PIECE, 1, &piece), "%s", path);
    for (int64_t at = 0; at < n && status == EG_OK; at += PIECE) {
        size_t size = n - at < PIECE ? (size_t)(n - at) : PIECE;
        status = eg_file_get_scratch(from, path, at, piece, size);
        if (status == EG_OK)
            status = eg_file_put(to, path, (eg_bytes){piece, size});
    }
    free(piece);
    return status;
}

eg_status eg_file_write_by(const char *path, eg_file_putter put, void *context)
{
    int fd;
    EG_TRY(file_check_target(path));
    size_t size = strlen(path) + 64;
    char *temp = malloc(size);
    if (!temp)
        return eg_fail(EG_ENOMEM, "%s: cannot allocate %zu bytes", path, size);
    eg_status status = file_open_temp(path, temp, size, &fd);
    if (status != EG_OK)
        goto done;
    status = put(context, fd, path);
    if (status == EG_OK && fsync(fd) != 0)
        status = eg_file_fail(path, "cannot be brought to disk");
    if (close(fd) != 0 && status == EG_OK)
        status = eg_file_fail(path, "cannot be closed");
    if (status == EG_OK && rename(temp, path) != 0)
        status = eg_file_fail(path, "cannot be replaced");
    if (status == EG_OK)
        file_sync_folder(path);
    else
        unlink(temp);
done:
    free(temp);
    return status;
}

/* Parts that are in memory, for eg_file_write_by. */
typedef struct file_parts {
    const eg_bytes *list;
    size_t n;
} file_parts;

static eg_status file_put_parts(void *context, int fd, const char *path)
{
    const file_parts *parts = context;
    for (size_t i = 0; i < parts->n; i++)
        EG_TRY(eg_file_put(fd, path, parts->list[i]));
    return EG_OK;
}

eg_status eg_file_write(const char *path, const eg_bytes *parts, size_t n_parts)
{
    return eg_file_write_by(path, file_put_parts, &(file_parts){parts, n_parts});
}

eg_status eg_file_create_by(const char *path, eg_file_putter put, void *context)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return eg_fail(EG_EINVAL, "%s: is there already", path);
    if (fd < 0)
        return eg_file_fail(path, "cannot be created");
    eg_status status = put(context, fd, path);
    if (close(fd) != 0 && status == EG_OK)
        status = eg_file_fail(path, "cannot be closed");
    if (status != EG_OK)
        unlink(path);
    return status;
}

eg_status eg_file_create(const char *path, const eg_bytes *parts, size_t n_parts)
{
    return eg_file_create_by(path, file_put_parts, &(file_parts){parts, n_parts});
}
