/* spool.c - chunks on the heap or in one file without a name, each on pages of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A place in the file is used once: what was read is punched out, so that only what waits takes
 * disk.
 */
#define _GNU_SOURCE /* fallocate */
#include "io/spool.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SPOOL_SMALL = 1 << 16, SPOOL_PATH = 1024 }; /* what is small stays in memory */

struct eg_spool {
    char folder[SPOOL_PATH];
    size_t memory, used;
    pthread_mutex_t lock;
    int file; /* -1: not made yet */
    off_t end;
    int64_t n_filed; /* chunks in it */
};

struct eg_chunk {
    eg_spool *spool;
    size_t n, most;
    unsigned char *bytes; /* [most], or mapped; NULL: in the file */
    bool filed, mapped;
    off_t at;
};

eg_status eg_spool_new(const char *folder, size_t memory, eg_spool **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    snprintf((*out)->folder, SPOOL_PATH, "%s", folder);
    (*out)->memory = memory, (*out)->file = -1;
    pthread_mutex_init(&(*out)->lock, NULL);
    return EG_OK;
}

void eg_spool_free(eg_spool *s)
{
    if (!s)
        return;
    if (s->file >= 0)
        close(s->file);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static eg_status spool_open(eg_spool *s)
{
    char path[SPOOL_PATH + 8];
    if (s->file >= 0)
        return EG_OK;
    snprintf(path, sizeof path, "%s/spool", s->folder);
    eg_status status = eg_file_open_scratch(path, &s->file);
    s->file = status == EG_OK ? s->file : -1;
    return status;
}

/* Under the lock: pages of the file that are the chunk's alone. */
static eg_status spool_place(eg_spool *s, eg_chunk *c)
{
    EG_TRY(spool_open(s));
    if (s->n_filed++ == 0)
        s->end = 0;
    c->at = s->end;
    c->filed = true;
    s->end += (off_t)eg_round_up(c->most, (size_t)sysconf(_SC_PAGESIZE));
    return EG_OK;
}

eg_status eg_chunk_new(eg_spool *s, size_t n, eg_chunk **out)
{
    eg_chunk *c;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    *c = (eg_chunk){.spool = s, .most = n};
    pthread_mutex_lock(&s->lock);
    bool stays = n <= SPOOL_SMALL || s->used + n <= s->memory;
    eg_status status = stays ? EG_OK : spool_place(s, c);
    c->most = status == EG_OK ? n : 0;
    s->used += stays ? n : 0;
    pthread_mutex_unlock(&s->lock);
    if (status == EG_OK && stays && n > 0 && !(c->bytes = malloc(n)))
        status = eg_fail(EG_ENOMEM, "no memory for %zu bytes", n);
    if (status == EG_OK)
        *out = c;
    else
        eg_chunk_free(c);
    return status;
}

eg_status eg_chunk_add(eg_chunk *c, const void *bytes, size_t n)
{
    if (n > c->most - c->n)
        return eg_fail(EG_ESHAPE, "more than %zu bytes", c->most);
    const char *from = bytes;
    if (!c->filed) {
        if (n > 0)
            memcpy(c->bytes + c->n, bytes, n);
        c->n += n;
        return EG_OK;
    }
    while (n > 0) {
        ssize_t put = pwrite(c->spool->file, from, n, c->at + (off_t)c->n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return eg_fail(EG_EIO, "%s: what has come cannot be written: %s", c->spool->folder,
                           strerror(errno));
        from += put, n -= (size_t)put, c->n += (size_t)put;
    }
    return EG_OK;
}

const void *eg_chunk_bytes(eg_chunk *c, size_t *n)
{
    *n = c->n;
    if (c->filed && !c->mapped && c->n > 0) {
        void *at = mmap(NULL, c->n, PROT_READ, MAP_SHARED, c->spool->file, c->at);
        c->mapped = at != MAP_FAILED;
        c->bytes = c->mapped ? at : NULL;
    }
    return c->n ? (const void *)c->bytes : "";
}

void eg_chunk_rest(eg_chunk *c)
{
    if (!c->mapped)
        return;
    munmap(c->bytes, c->n);
    c->bytes = NULL;
    c->mapped = false;
}

void eg_chunk_free(eg_chunk *c)
{
    if (!c)
        return;
    eg_spool *s = c->spool;
    eg_chunk_rest(c);
    free(c->bytes);
    pthread_mutex_lock(&s->lock);
    if (c->filed) {
        (void)fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, c->at,
                        (off_t)eg_round_up(c->most, (size_t)sysconf(_SC_PAGESIZE)));
        s->n_filed--;
    } else {
        s->used -= c->most;
    }
    pthread_mutex_unlock(&s->lock);
    free(c);
}

size_t eg_spool_in_memory(eg_spool *s)
{
    pthread_mutex_lock(&s->lock);
    size_t used = s->used;
    pthread_mutex_unlock(&s->lock);
    return used;
}
