/* file.h - whole files: read within a bound, written all or not at all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every error names the path. Any thread may use any file.
 */
#ifndef EG_FILE_H
#define EG_FILE_H

#include "base/base.h"

/* A run of bytes; a file is written from a list of them. */
typedef struct eg_bytes {
    const void *data;
    size_t n;
} eg_bytes;

/* Reads all of a file, a pipe or a device. *out is followed by a zero that *n does not count,
 * so that it is also a C string; free() it. EG_ENOENT: there is no such file; EG_EINVAL: it has
 * more than max bytes. */
eg_status eg_file_read(const char *path, size_t max, unsigned char **out, size_t *n);

/* Writes the parts, one after the other, into a new file beside path, brings it to disk and
 * renames it to path: after a crash at any moment path holds the old bytes or the new ones.
 * On failure the old file is untouched and nothing else is left behind. EG_EINVAL: path is a
 * folder, a device, a pipe or a link. */
eg_status eg_file_write(const char *path, const eg_bytes *parts, size_t n_parts);

/* The same for bytes that are not in memory together: put writes them to the open file fd,
 * whose path is for error texts. */
typedef eg_status (*eg_file_putter)(void *context, int fd, const char *path);
eg_status eg_file_write_by(const char *path, eg_file_putter put, void *context);

/* An open file without a name, to be written and read, on the disk of the folder where path is
 * or is to be: for what would fill memory. close() *fd, and it is gone. */
eg_status eg_file_open_scratch(const char *path, int *fd);

/* Reads n bytes of an open file from byte `at` on, or those that are there: *got. */
eg_status eg_file_get(int fd, const char *path, int64_t at, void *to, size_t n, size_t *got);
/* The same of a scratch file, for path; all n must be there. */
eg_status eg_file_get_scratch(int fd, const char *path, int64_t at, void *to, size_t n);

/* Appends n bytes of an open file, from its beginning on, to another. The paths are for error
 * texts. */
eg_status eg_file_copy(int from, int to, const char *path, int64_t n);

/* Writes the parts into a file that must not be there yet, and does not wait for the disk. On
 * failure nothing is left behind. EG_EINVAL: it is there. And the same by a function. */
eg_status eg_file_create(const char *path, const eg_bytes *parts, size_t n_parts);
eg_status eg_file_create_by(const char *path, eg_file_putter put, void *context);

/* Writes all bytes of a part to an open file, whose path is for the error text. */
eg_status eg_file_put(int fd, const char *path, eg_bytes part);

/* Turns errno into a status: "runs/a.json: cannot be opened: Permission denied". */
eg_status eg_file_fail(const char *path, const char *what);

#endif
