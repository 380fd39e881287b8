/* records.c - records opened, read and put. records_save.c writes them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/records_private.h"

#include <stdlib.h>
#include <string.h>

/* Whether a listed file is needed by the version committed now. The owner was told what was
 * committed when it wrote this version, and since then a commit can only have taken the one it
 * wrote it from, or this one. */
static bool records_pinned(const eg_records *r, const eg_records_head *h,
                           const eg_records_file *f)
{
    if (r->committed == h->version)
        return eg_records_head_refers(h, f->version);
    return r->committed == h->base ? f->based : f->pinned;
}

/* Lists the files that the version opened at has left, and its own. */
static eg_status records_list_files(eg_records *r, const eg_records_head *h)
{
    if (r->committed != h->version && r->committed != h->base && r->committed != h->committed)
        return eg_fail(
            EG_EINVAL,
            "%s: version %lld was made from %lld with %lld committed, so %lld cannot "
            "be the last commit",
            r->dir, (long long)h->version, (long long)h->base, (long long)h->committed,
            (long long)r->committed);
    for (size_t i = 0; i < h->n_files; i++) {
        const eg_records_file *f = &h->files[i];
        EG_TRY(eg_grow(&r->files, r->n_files, &r->cap_files, sizeof *r->files));
        r->files[r->n_files++] = (eg_records_file){f->version, f->size, records_pinned(r, h, f),
                                                   eg_records_head_refers(h, f->version)};
    }
    EG_TRY(eg_grow(&r->files, r->n_files, &r->cap_files, sizeof *r->files));
    r->files[r->n_files++] =
        (eg_records_file){h->version, h->size, r->committed == h->version, true};
    return EG_OK;
}

static eg_status records_take_head(eg_records *r, const eg_records_head *h)
{
    EG_TRY(records_list_files(r, h));
    for (size_t i = 0; i < h->n_places; i++) {
        EG_TRY(eg_grow(&r->items, r->n_items, &r->cap_items, sizeof *r->items));
        r->items[r->n_items++] = (records_item){.place = h->places[i]};
    }
    return EG_OK;
}

static eg_status records_new(const char *dir, int64_t owner, const eg_receipt *at,
                             int64_t committed, eg_records **out)
{
    if (owner < -1 || owner >= EG_MAX_OWNER)
        return eg_fail(EG_EINVAL, "%s: there is no client %lld", dir, (long long)owner);
    EG_TRY(eg_blame(eg_receipt_check(at), "%s: client %lld", dir, (long long)owner));
    if (committed < 0 || committed > at->version)
        return eg_fail(EG_EINVAL,
                       "%s: version %lld of client %lld cannot be committed, it is "
                       "at %lld",
                       dir, (long long)committed, (long long)owner, (long long)at->version);
    eg_records *r = calloc(1, sizeof *r);
    if (!r || !(r->dir = strdup(dir)) || !(r->path = malloc(eg_records_path_size(dir)))) {
        eg_records_free(r);
        return eg_fail(EG_ENOMEM, "%s: no memory for records", dir);
    }
    r->owner = owner;
    r->committed = committed;
    r->base = at->version;
    r->at = *at;
    *out = r;
    return EG_OK;
}

eg_status eg_records_open(const char *dir, int64_t owner, const eg_receipt *at,
                          int64_t committed, eg_records **out)
{
    eg_records_head head = {0};
    eg_records *r = NULL;
    *out = NULL;
    EG_TRY(records_new(dir, owner, at, committed, &r));
    eg_status status = EG_OK;
    if (at->version > 0) {
        eg_records_path(dir, owner, at->version, r->path);
        status = eg_records_file_head(r->path, owner, at, &head);
        if (status == EG_OK)
            status = records_take_head(r, &head);
        eg_records_head_fini(&head);
    }
    if (status == EG_OK)
        *out = r;
    else
        eg_records_free(r);
    return status;
}

void eg_records_free(eg_records *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_items; i++)
        eg_bundle_free(r->items[i].bundle);
    free(r->items);
    free(r->files);
    free(r->path);
    free(r->dir);
    free(r);
}

/* Where a name is, or where it would be put. */
static size_t records_find(const eg_records *r, const char *name, bool *there)
{
    size_t low = 0, high = r->n_items;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(r->items[middle].place.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < r->n_items && strcmp(r->items[low].place.name, name) == 0;
    return low;
}

eg_status eg_records_load(eg_records *r, const eg_records_place *p, unsigned char **out)
{
    int64_t size = 0;
    for (size_t i = 0; i < r->n_files; i++)
        if (r->files[i].version == p->file)
            size = r->files[i].size;
    eg_records_path(r->dir, r->owner, p->file, r->path);
    return eg_records_file_bytes(r->path, size, p, out);
}

eg_status eg_records_get(eg_records *r, const char *name, const eg_bundle **out)
{
    bool there;
    size_t i = records_find(r, name, &there);
    *out = NULL;
    if (!there)
        return EG_OK;
    records_item *item = &r->items[i];
    item->released = false;
    if (!item->bundle) {
        unsigned char *bytes;
        EG_TRY(eg_records_load(r, &item->place, &bytes));
        eg_status status = eg_bundle_unpack(bytes, (size_t)item->place.length, &item->bundle);
        free(bytes);
        EG_TRY(eg_blame(status, "%s: record '%s'", r->path, name));
    }
    *out = item->bundle;
    return EG_OK;
}

static void records_remove(eg_records *r, size_t i)
{
    eg_bundle_free(r->items[i].bundle);
    r->n_items--;
    memmove(&r->items[i], &r->items[i + 1], (r->n_items - i) * sizeof *r->items);
    r->changed = true;
}

/* Makes room for a name that is not there yet. */
static eg_status records_insert(eg_records *r, size_t i, const char *name)
{
    if (!eg_records_name_fits(name))
        return eg_fail(EG_EINVAL, "%s: this is no name for a record", r->dir);
    if (r->n_items == EG_MAX_RECORDS)
        return eg_fail(EG_EINVAL, "%s: client %lld has %d records already", r->dir,
                       (long long)r->owner, EG_MAX_RECORDS);
    EG_TRY(eg_grow(&r->items, r->n_items, &r->cap_items, sizeof *r->items));
    memmove(&r->items[i + 1], &r->items[i], (r->n_items - i) * sizeof *r->items);
    r->n_items++;
    r->items[i] = (records_item){0};
    memcpy(r->items[i].place.name, name, strlen(name) + 1);
    return EG_OK;
}

eg_status eg_records_put(eg_records *r, const char *name, eg_bundle *take)
{
    bool there;
    size_t i = records_find(r, name, &there);
    if (!take) {
        if (there)
            records_remove(r, i);
        return EG_OK;
    }
    eg_status status = there ? EG_OK : records_insert(r, i, name);
    if (status != EG_OK) {
        eg_bundle_free(take);
        return status;
    }
    records_item *item = &r->items[i];
    if (item->bundle != take)
        eg_bundle_free(item->bundle);
    item->bundle = take;
    item->changed = true;
    item->released = false;
    r->changed = true;
    return EG_OK;
}

void eg_records_drop(eg_records *r)
{
    for (size_t i = 0; i < r->n_items; i++) {
        records_item *item = &r->items[i];
        if (!item->released || item->changed)
            continue;
        eg_bundle_free(item->bundle);
        item->bundle = NULL;
        item->released = false;
    }
}

eg_status eg_records_release(eg_records *r, const char *name)
{
    bool there;
    int64_t waiting = 0;
    eg_receipt untold;
    size_t i = records_find(r, name, &there);
    if (!there)
        return EG_OK;
    r->items[i].released = true;
    eg_records_drop(r);
    for (i = 0; i < r->n_items; i++)
        if (r->items[i].released)
            waiting += (int64_t)eg_bundle_bytes(r->items[i].bundle);
    return waiting < EG_RECORDS_WAITING ? EG_OK : eg_records_save(r, &untold);
}

size_t eg_records_n(const eg_records *r)
{
    return r->n_items;
}

const char *eg_records_name(const eg_records *r, size_t i)
{
    EG_ASSERT(i < r->n_items);
    return r->items[i].place.name;
}
