/* ledger.c - receipts in memory, entered and committed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * ledger_write.c and ledger_read.c have the file of them, ledger_open.c opens a ledger again.
 */
#include "run/store/ledger_private.h"

#include "io/disk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEDGER_BATCH 1024 /* paths brought to disk at once */

eg_status eg_ledger_new(const char *dir, eg_ledger **out)
{
    *out = NULL;
    eg_ledger *l = calloc(1, sizeof *l);
    if (!l || !(l->dir = strdup(dir)) || !(l->path = malloc(eg_records_path_size(dir)))) {
        if (l)
            free(l->dir);
        free(l);
        return eg_fail(EG_ENOMEM, "%s: no memory for a ledger", dir);
    }
    pthread_mutex_init(&l->lock, NULL);
    l->fd = -1;
    *out = l;
    return EG_OK;
}

void eg_ledger_free(eg_ledger *l)
{
    if (!l)
        return;
    if (l->fd >= 0)
        close(l->fd);
    pthread_mutex_destroy(&l->lock);
    eg_json_free(l->extra);
    free(l->entries);
    free(l->fresh);
    free(l->path);
    free(l->dir);
    free(l);
}

const eg_json *eg_ledger_extra(const eg_ledger *l)
{
    return l->extra;
}

eg_status eg_ledger_reach(eg_ledger *l, int64_t owner, ledger_entry **out)
{
    size_t wanted = (size_t)(owner + 2);
    while (l->n_entries < wanted) {
        EG_TRY(eg_grow(&l->entries, l->n_entries, &l->cap_entries, sizeof *l->entries));
        size_t to = wanted < l->cap_entries ? wanted : l->cap_entries;
        memset(&l->entries[l->n_entries], 0, (to - l->n_entries) * sizeof *l->entries);
        l->n_entries = to;
    }
    *out = &l->entries[owner + 1];
    return EG_OK;
}

/* Asking changes nothing but the lock. */
static pthread_mutex_t *ledger_lock(const eg_ledger *l)
{
    return &((eg_ledger *)l)->lock;
}

eg_receipt eg_ledger_receipt(const eg_ledger *l, int64_t owner, int64_t *committed)
{
    ledger_entry e = {0};
    pthread_mutex_lock(ledger_lock(l));
    if (owner >= -1 && owner < (int64_t)l->n_entries - 1)
        e = l->entries[owner + 1];
    pthread_mutex_unlock(ledger_lock(l));
    *committed = e.committed;
    return (eg_receipt){e.version, e.bytes, e.digest};
}

eg_status eg_ledger_records(const eg_ledger *l, int64_t owner, eg_records **out)
{
    int64_t committed;
    eg_receipt at = eg_ledger_receipt(l, owner, &committed);
    return eg_records_open(l->dir, owner, &at, committed, out);
}

/* The caller has the lock. */
static eg_status ledger_enter(eg_ledger *l, int64_t owner, const eg_receipt *r)
{
    ledger_entry *e;
    EG_TRY(eg_ledger_reach(l, owner, &e));
    if (r->version < e->version || (r->version == e->version && r->version > 0 &&
                                    (r->bytes != e->bytes || r->digest != e->digest)))
        return eg_fail(EG_EINVAL, "a receipt of version %lld after one of version %lld",
                       (long long)r->version, (long long)e->version);
    if (r->version == e->version)
        return EG_OK;
    if (e->version == e->committed) {
        EG_TRY(eg_grow(&l->fresh, l->n_fresh, &l->cap_fresh, sizeof *l->fresh));
        l->fresh[l->n_fresh++] = owner;
    }
    e->version = (uint32_t)r->version;
    e->bytes = r->bytes;
    e->digest = r->digest;
    return EG_OK;
}

eg_status eg_ledger_enter(eg_ledger *l, int64_t owner, const eg_receipt *r)
{
    if (owner < -1 || owner >= EG_MAX_OWNER)
        return eg_fail(EG_EINVAL, "%s: there is no client %lld", l->dir, (long long)owner);
    eg_status status = eg_receipt_check(r);
    if (status == EG_OK) {
        pthread_mutex_lock(&l->lock);
        status = ledger_enter(l, owner, r);
        pthread_mutex_unlock(&l->lock);
    }
    return eg_blame(status, "%s: client %lld", l->dir, (long long)owner);
}

static int ledger_compare(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Paths that wait to be brought to disk together. */
typedef struct ledger_batch {
    char *paths[LEDGER_BATCH];
    size_t n, size; /* room for n paths of this size is in use */
} ledger_batch;

static eg_status ledger_batch_sync(ledger_batch *b)
{
    size_t n = b->n;
    b->n = 0;
    return n > 0 ? eg_disk_sync(b->paths, n) : EG_OK;
}

/* Room for one more path. */
static eg_status ledger_batch_next(ledger_batch *b, char **out)
{
    *out = NULL;
    if (b->n == LEDGER_BATCH)
        EG_TRY(ledger_batch_sync(b));
    if (!b->paths[b->n] && !(b->paths[b->n] = malloc(b->size)))
        return eg_fail(EG_ENOMEM, "no memory for %zu paths", b->n + 1);
    *out = b->paths[b->n++];
    return EG_OK;
}

/* Adds a file of an owner to those that are brought to disk. */
typedef struct ledger_adding {
    eg_ledger *l;
    ledger_batch *to;
    int64_t owner;
} ledger_adding;

static eg_status ledger_add_file(void *context, int64_t version)
{
    const ledger_adding *a = context;
    char *path;
    EG_TRY(ledger_batch_next(a->to, &path));
    eg_records_path(a->l->dir, a->owner, version, path);
    return EG_OK;
}

/* Adds what an owner has written since the last commit. */
static eg_status ledger_batch_owner(eg_ledger *l, ledger_batch *b, int64_t owner)
{
    const ledger_entry *e = &l->entries[owner + 1];
    const eg_receipt at = {e->version, e->bytes, e->digest};
    return eg_records_fresh(l->dir, owner, &at, e->committed, ledger_add_file,
                            &(ledger_adding){l, b, owner});
}

/* The files of fresh owners, which are sorted, and each of their folders once: a file is on
 * disk when its folder is, too, and a new folder when the ledger's own is. */
static eg_status ledger_batch_all(eg_ledger *l, ledger_batch *b)
{
    char *path;
    int64_t group = -1;
    for (size_t i = 0; i < l->n_fresh; i++) {
        int64_t owner = l->fresh[i];
        if (l->apart && owner >= 0)
            continue; /* a client that answers has its files on a disk of its own */
        EG_TRY(ledger_batch_owner(l, b, owner));
        if (owner < 0 || owner / EG_RECORDS_GROUP == group)
            continue;
        group = owner / EG_RECORDS_GROUP;
        EG_TRY(ledger_batch_next(b, &path));
        eg_records_folder(l->dir, owner, path);
    }
    EG_TRY(ledger_batch_next(b, &path));
    eg_records_folder(l->dir, -1, path);
    return ledger_batch_sync(b);
}

static eg_status ledger_sync(eg_ledger *l)
{
    if (l->n_fresh == 0)
        return EG_OK;
    ledger_batch *b = calloc(1, sizeof *b);
    if (!b)
        return eg_fail(EG_ENOMEM, "%s: no memory for a list of paths", l->dir);
    b->size = eg_records_path_size(l->dir);
    qsort(l->fresh, l->n_fresh, sizeof *l->fresh, ledger_compare);
    eg_status status = ledger_batch_all(l, b);
    for (size_t i = 0; i < LEDGER_BATCH; i++)
        free(b->paths[i]);
    free(b);
    return status;
}

eg_status eg_ledger_commit(eg_ledger *l, const eg_json *extra)
{
    EG_ASSERT(extra && eg_json_kind_of(extra) == EG_JSON_OBJECT);
    char *text;
    size_t n;
    eg_json *copy = NULL;
    EG_TRY(eg_json_print(extra, 0, &text, &n));
    eg_status status = eg_json_parse(text, n, &copy);
    if (status == EG_OK)
        status = ledger_sync(l);
    if (status == EG_OK)
        status = eg_ledger_write(l, text, n);
    free(text);
    if (status != EG_OK) {
        eg_json_free(copy);
        return status;
    }
    eg_json_free(l->extra);
    l->extra = copy;
    for (size_t i = 0; i < l->n_fresh; i++) {
        ledger_entry *e = &l->entries[l->fresh[i] + 1];
        e->committed = e->version;
    }
    l->n_fresh = 0;
    return EG_OK;
}
