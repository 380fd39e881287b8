/* ledger_open.c - opens a ledger: reads its file, removes what is not in it, checks the rest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/ledger_private.h"

#include "io/disk.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEDGER_EARLIER "manifest.json" /* of versions of engram before the ledger */

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
    size_t size = eg_records_path_size(l->dir);
    EG_TRY(eg_disk_make_folder(l->dir));
    snprintf(l->path, size, "%s/%s", l->dir, LEDGER_EARLIER);
    if (access(l->path, F_OK) == 0)
        return eg_fail(EG_ENOTSUP,
                       "%s: a checkpoint of an earlier version of engram, which "
                       "this one cannot resume",
                       l->path);
    snprintf(l->path, size, "%s/%s", l->dir, LEDGER_FILE);
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
