/* torture_preload.c - makes one call of a program fail, or kills the program at it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/torture builds it as a library that is loaded before the program's own (LD_PRELOAD).
 * Calls are counted from the beginning of main, those that change the disk and those that want
 * memory apart. The environment says what happens at which:
 *
 *   TORTURE="disk kill 17"    the 17th call that changes the disk does not come back
 *   TORTURE="disk 28 17"      it fails with errno 28 (ENOSPC), and so do all writes after it
 *   TORTURE="disk once 17"    it alone fails, with EIO
 *   TORTURE="disk short 17"   it writes a part, if it is a write
 *   TORTURE="memory once 17"  the 17th allocation fails
 *   TORTURE="memory all 17"   it and all after it fail
 *   TORTURE_COUNTS=FILE       at the end both counts go there
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DISK, MEMORY };

static atomic_int counting; /* main has begun */
static atomic_long counts[2];
static int kind = -1;
static char action[16];
static long when;

static void read_wishes(void)
{
    const char *wish = getenv("TORTURE");
    char which[16];
    if (wish && sscanf(wish, "%15s %15s %ld", which, action, &when) == 3)
        kind = strcmp(which, "memory") == 0 ? MEMORY : DISK;
}

/* Whether this call is to fail: 0, or the errno it fails with. */
static int torture(int of)
{
    if (!atomic_load(&counting))
        return 0;
    long n = atomic_fetch_add(&counts[of], 1) + 1;
    if (of != kind || n < when)
        return 0;
    if (n == when && strcmp(action, "kill") == 0)
        raise(SIGKILL);
    if (n == when && strcmp(action, "once") == 0)
        return of == MEMORY ? ENOMEM : EIO;
    if (strcmp(action, "all") == 0)
        return ENOMEM;
    return atoi(action); /* 0 of a word */
}

static int is_short(void)
{
    return kind == DISK && strcmp(action, "short") == 0 && atomic_load(&counts[DISK]) == when;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

#define FAIL(of, result)                                                                       \
    do {                                                                                       \
        int fault = torture(of);                                                               \
        if (fault) {                                                                           \
            errno = fault;                                                                     \
            return result;                                                                     \
        }                                                                                      \
    } while (0)

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (fd > 2)
        FAIL(DISK, -1);
    return REAL(write)(fd, bytes, fd > 2 && is_short() && n > 1 ? n / 2 : n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    FAIL(DISK, -1);
    return REAL(pwrite)(fd, bytes, n, at);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (flags & (O_CREAT | O_WRONLY | O_RDWR))
        FAIL(DISK, -1);
    return REAL(open)(path, flags, mode);
}

int fsync(int fd)
{
    FAIL(DISK, -1);
    return REAL(fsync)(fd);
}

int ftruncate(int fd, off_t size)
{
    FAIL(DISK, -1);
    return REAL(ftruncate)(fd, size);
}

int rename(const char *from, const char *to)
{
    FAIL(DISK, -1);
    return REAL(rename)(from, to);
}

/* A full disk does not keep files from being removed. */
int unlink(const char *path)
{
    if (atoi(action) != ENOSPC)
        FAIL(DISK, -1);
    return REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    FAIL(DISK, -1);
    return REAL(mkdir)(path, mode);
}

/* glibc's own names, since dlsym itself allocates. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    FAIL(MEMORY, NULL);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    FAIL(MEMORY, NULL);
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    FAIL(MEMORY, NULL);
    return __libc_realloc(old, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    FAIL(MEMORY, NULL);
    return __libc_memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    int fault = torture(MEMORY);
    if (fault)
        return fault;
    *out = __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}

static int (*real_main)(int argc, char **argv, char **environment);

static void write_counts(void)
{
    const char *path = getenv("TORTURE_COUNTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    atomic_store(&counting, 0);
    if (!f)
        return;
    fprintf(f, "%ld %ld\n", atomic_load(&counts[DISK]), atomic_load(&counts[MEMORY]));
    fclose(f);
}

static int counted_main(int argc, char **argv, char **environment)
{
    read_wishes();
    atomic_store(&counting, 1);
    int code = real_main(argc, argv, environment);
    write_counts();
    return code;
}

int __libc_start_main(int (*begin)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end)
{
    real_main = begin;
    return REAL(__libc_start_main)(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
