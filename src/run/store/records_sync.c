/* records_sync.c - brings one owner's files to disk, for an owner that is alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/records_file.h"

#include "io/disk.h"

#include <stdlib.h>

typedef struct sync_paths {
    const char *dir;
    int64_t owner;
    char **paths; /* [n] */
    size_t n, cap;
} sync_paths;

/* Room for one more path. */
static eg_status sync_next(sync_paths *p, char **out)
{
    EG_TRY(eg_grow(&p->paths, p->n, &p->cap, sizeof *p->paths));
    EG_TRY(eg_alloc(eg_records_path_size(p->dir), 1, out));
    p->paths[p->n++] = *out;
    return EG_OK;
}

static eg_status sync_add(void *to, int64_t version)
{
    sync_paths *p = to;
    char *path;
    EG_TRY(sync_next(p, &path));
    eg_records_path(p->dir, p->owner, version, path);
    return EG_OK;
}

/* The files, the folder they lie in, and the one above it, in which that may be new. */
static eg_status sync_all(sync_paths *p, const eg_receipt *at, int64_t older)
{
    char *path;
    EG_TRY(eg_records_fresh(p->dir, p->owner, at, older, sync_add, p));
    EG_TRY(sync_next(p, &path));
    eg_records_folder(p->dir, p->owner, path);
    EG_TRY(sync_next(p, &path));
    eg_records_folder(p->dir, -1, path);
    return eg_disk_sync(p->paths, p->n);
}

eg_status eg_records_sync(const char *dir, int64_t owner, const eg_receipt *at, int64_t older)
{
    sync_paths p = {.dir = dir, .owner = owner};
    if (at->version == 0)
        return EG_OK; /* it keeps nothing */
    eg_status s = sync_all(&p, at, older);
    for (size_t i = 0; i < p.n; i++)
        free(p.paths[i]);
    free(p.paths);
    return s;
}
