/* ledger.c - receipts in memory: entered and committed, and found again by a run that goes on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/ledger_file.h"

#include "io/disk.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
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

/* A file that the last commit refers to. */
typedef struct ledger_kept {
    int64_t owner, version;
} ledger_kept;

/* A walk through the ledger's folder, or through that of a group. */
typedef struct ledger_sweep {
    eg_ledger *l;
    const char *folder;
    char *path;        /* room for one */
    ledger_kept *kept; /* [n], of the owners that have files here */
    size_t n, cap;
} ledger_sweep;

static eg_status ledger_keep(ledger_sweep *w, int64_t owner, int64_t version)
{
    EG_TRY(eg_grow(&w->kept, w->n, &w->cap, sizeof *w->kept));
    w->kept[w->n++] = (ledger_kept){owner, version};
    return EG_OK;
}

/* Reads every record of an owner once, and notes the files they lie in. */
static eg_status ledger_check_places(ledger_sweep *w, const eg_records_head *h)
{
    for (size_t i = 0; i < h->n_places; i++) {
        const eg_records_place *p = &h->places[i];
        const eg_records_file *f = eg_records_head_file(h, p->file);
        unsigned char *bytes;
        eg_records_path(w->l->dir, h->owner, p->file, w->path);
        EG_TRY(eg_records_file_bytes(w->path, f ? f->size : h->size, p, &bytes));
        free(bytes);
        EG_TRY(ledger_keep(w, h->owner, p->file));
    }
    return ledger_keep(w, h->owner, h->version);
}

static eg_status ledger_check_owner(ledger_sweep *w, int64_t owner)
{
    int64_t committed;
    const eg_receipt at = eg_ledger_receipt(w->l, owner, &committed);
    eg_records_head head = {0};
    if (at.version == 0)
        return EG_OK;
    eg_records_path(w->l->dir, owner, at.version, w->path);
    eg_status status = eg_records_file_head(w->path, owner, &at, &head);
    if (status == EG_OK)
        status = ledger_check_places(w, &head);
    eg_records_head_fini(&head);
    return status;
}

static bool ledger_is_number(const char *text, size_t n)
{
    return n > 0 && n < 16 && strspn(text, "0123456789") >= n;
}

/* Whether name is "<client>.<version>" or "server.<version>", and which. */
static bool ledger_parse_name(const char *name, int64_t *owner, int64_t *version)
{
    const char *dot = strchr(name, '.');
    if (!dot || !ledger_is_number(dot + 1, strlen(dot + 1)))
        return false;
    bool server = strncmp(name, "server.", 7) == 0;
    if (!server && !ledger_is_number(name, (size_t)(dot - name)))
        return false;
    *owner = server ? -1 : strtoll(name, NULL, 10);
    *version = strtoll(dot + 1, NULL, 10);
    return true;
}

/* Owners were noted in order. */
static bool ledger_keeps(const ledger_sweep *w, int64_t owner, int64_t version)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->kept[middle].owner < owner)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->n && w->kept[low].owner == owner; low++)
        if (w->kept[low].version == version)
            return true;
    return false;
}

/* Removes a file that is an owner's, but of no version that counts. A name that no owner's file
 * has in this folder is a stranger's, and stays. */
static eg_status ledger_sweep_file(void *to, const char *name)
{
    const ledger_sweep *w = to;
    int64_t owner, version;
    if (!ledger_parse_name(name, &owner, &version) || ledger_keeps(w, owner, version))
        return EG_OK;
    size_t n = strlen(w->folder);
    eg_records_path(w->l->dir, owner, version, w->path);
    if (strncmp(w->path, w->folder, n) == 0 && w->path[n] == '/' &&
        strcmp(w->path + n + 1, name) == 0)
        unlink(w->path);
    return EG_OK;
}

/* Checks the owners of a group and removes what else is in its folder; -1 is the server's. */
static eg_status ledger_tidy(eg_ledger *l, int64_t group)
{
    size_t size = eg_records_path_size(l->dir);
    int64_t first = group < 0 ? -1 : group * EG_RECORDS_GROUP;
    int64_t n = group < 0 ? 1 : EG_RECORDS_GROUP;
    char *folder = malloc(size), *path = malloc(size);
    ledger_sweep w = {.l = l, .folder = folder, .path = path};
    eg_status status =
        folder && path ? EG_OK : eg_fail(EG_ENOMEM, "%s: no memory for a path", l->dir);
    for (int64_t owner = first; owner < first + n && status == EG_OK; owner++)
        status = ledger_check_owner(&w, owner);
    if (status == EG_OK) {
        eg_records_folder(l->dir, first, folder);
        status = eg_disk_walk(folder, ledger_sweep_file, &w);
        status = status == EG_ENOENT ? EG_OK : status; /* nobody here has kept anything */
    }
    free(w.kept);
    free(folder);
    free(path);
    return status;
}

/* Groups beyond the last owner that the ledger knows: of clients that were never committed. */
static eg_status ledger_tidy_unknown(void *to, const char *name)
{
    eg_ledger *l = to;
    int64_t n_groups = ((int64_t)l->n_entries - 1 + EG_RECORDS_GROUP - 1) / EG_RECORDS_GROUP;
    if (!ledger_is_number(name, strlen(name)))
        return EG_OK;
    int64_t group = strtoll(name, NULL, 10);
    return group >= n_groups && group < EG_MAX_OWNER / EG_RECORDS_GROUP ? ledger_tidy(l, group)
                                                                        : EG_OK;
}

static eg_status ledger_tidy_all(eg_ledger *l)
{
    int64_t n = l->apart ? 0 : (int64_t)l->n_entries - 1; /* clients whose files are here */
    for (int64_t group = -1; group * EG_RECORDS_GROUP < n; group++)
        EG_TRY(ledger_tidy(l, group));
    snprintf(l->path, eg_records_path_size(l->dir), "%s/%s", l->dir, LEDGER_TEMP);
    unlink(l->path);
    return l->apart ? EG_OK : eg_disk_walk(l->dir, ledger_tidy_unknown, l);
}

/* A block that was never finished is cut off. */
static eg_status ledger_load(eg_ledger *l, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return eg_file_fail(path, "cannot be opened");
    eg_status status = eg_blame(eg_ledger_read(l, f), "%s", path);
    fclose(f);
    if (status != EG_OK)
        return status;
    l->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (l->fd < 0 || ftruncate(l->fd, (off_t)l->n_bytes) != 0)
        return eg_file_fail(path, "cannot be written");
    return EG_OK;
}

static eg_status ledger_start(eg_ledger *l, bool resume)
{
    EG_TRY(eg_disk_make_folder(l->dir));
    snprintf(l->path, eg_records_path_size(l->dir), "%s/%s", l->dir, LEDGER_FILE);
    bool committed = access(l->path, F_OK) == 0;
    if (committed && !resume)
        return eg_fail(EG_EINVAL, "%s: holds a checkpoint already", l->dir);
    if (committed)
        EG_TRY(ledger_load(l, l->path));
    return ledger_tidy_all(l);
}

static eg_status ledger_open(const char *dir, bool resume, bool apart, eg_ledger **out)
{
    eg_ledger *l = NULL;
    *out = NULL;
    EG_TRY(eg_ledger_new(dir, &l));
    l->apart = apart;
    eg_status status = ledger_start(l, resume);
    if (status == EG_OK)
        *out = l;
    else
        eg_ledger_free(l);
    return status;
}

eg_status eg_ledger_open(const char *dir, bool resume, eg_ledger **out)
{
    return ledger_open(dir, resume, false, out);
}

eg_status eg_ledger_open_apart(const char *dir, bool resume, eg_ledger **out)
{
    return ledger_open(dir, resume, true, out);
}
