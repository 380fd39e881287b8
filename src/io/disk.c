/* disk.c - folders and synchronisation over POSIX calls.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/disk.h"

#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISK_THREADS 16 /* that wait at once */

static eg_status disk_make_one(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return EG_OK;
    if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return EG_OK;
    return eg_file_fail(path, "the folder cannot be made");
}

eg_status eg_disk_make_folder(const char *path)
{
    char *part = strdup(path);
    if (!part)
        return eg_fail(EG_ENOMEM, "%s: no memory for the path", path);
    eg_status status = EG_OK;
    for (char *at = part + 1; status == EG_OK && *part && (at = strchr(at, '/')); at++) {
        *at = 0;
        status = disk_make_one(part);
        *at = '/';
    }
    if (status == EG_OK)
        status = disk_make_one(path);
    free(part);
    return status;
}

eg_status eg_disk_lock(const char *path, bool make, int *out)
{
    *out = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (make ? O_CREAT : 0), 0666);
    if (fd < 0)
        return eg_file_fail(path, "cannot be opened");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *out = fd;
        return EG_OK;
    }
    eg_status status = errno == EWOULDBLOCK ? EG_OK : eg_file_fail(path, "cannot be locked");
    close(fd);
    return status;
}

typedef struct disk_sync {
    char *const *paths;
    size_t n;
    atomic_size_t next;   /* the first that nobody has taken */
    atomic_size_t failed; /* one that failed; n if none did */
    atomic_int code;      /* its errno */
} disk_sync;

/* Some file systems cannot sync folders, and say EINVAL. */
static bool disk_sync_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fsync(fd) == 0 || errno == EINVAL;
    int code = errno;
    close(fd);
    errno = code;
    return good;
}

static void *disk_sync_some(void *of)
{
    disk_sync *all = of;
    for (size_t i; (i = atomic_fetch_add(&all->next, 1)) < all->n;) {
        size_t none = all->n;
        if (!disk_sync_one(all->paths[i])) {
            int code = errno;
            if (atomic_compare_exchange_strong(&all->failed, &none, i))
                atomic_store(&all->code, code);
        }
    }
    return NULL;
}

eg_status eg_disk_sync(char *const *paths, size_t n)
{
    disk_sync all = {.paths = paths, .n = n, .failed = n};
    pthread_t threads[DISK_THREADS];
    size_t n_threads = 0, wanted = n < DISK_THREADS ? n : DISK_THREADS;
    while (n_threads + 1 < wanted && /* this thread is one of them */
           pthread_create(&threads[n_threads], NULL, disk_sync_some, &all) == 0)
        n_threads++;
    disk_sync_some(&all);
    for (size_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    if (all.failed == n)
        return EG_OK;
    errno = all.code;
    return eg_file_fail(paths[all.failed], "cannot be brought to disk");
}

eg_status eg_disk_walk(const char *path, eg_disk_visit visit, void *to)
{
    DIR *folder = opendir(path);
    if (!folder)
        return eg_file_fail(path, "the folder cannot be opened");
    eg_status status = EG_OK;
    for (struct dirent *e; status == EG_OK && (e = readdir(folder));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            status = visit(to, e->d_name);
    closedir(folder);
    return status;
}
