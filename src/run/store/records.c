/* records.c - records opened, read and put; what changed is written as a new version.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/records_file.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_CARRY 8 /* one byte in so many may be carried over */

typedef struct records_item {
    eg_records_place place; /* of the bytes last saved; file 0: none were */
    eg_bundle *bundle;      /* NULL: not asked for yet */
    bool changed;           /* put since the last save */
    bool released;          /* not needed in memory any more */
} records_item;

struct eg_records {
    char *dir;
    char *path; /* room for one */
    int64_t owner, committed;
    int64_t base;        /* the version opened at: it counts until a newer receipt arrives */
    eg_receipt at;       /* of the newest version saved */
    records_item *items; /* [n_items], by rising name */
    size_t n_items, cap_items;
    eg_records_file *files; /* [n_files], all that are there, by rising version */
    size_t n_files, cap_files;
    bool changed; /* something was put or removed since the last save */
};

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

/* The bytes of a record as last saved; free() *out. */
static eg_status records_load(eg_records *r, const eg_records_place *p, unsigned char **out)
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
        EG_TRY(records_load(r, &item->place, &bytes));
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

/* Frees what was released and is saved. */
static void records_drop(eg_records *r)
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
    records_drop(r);
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

/* What is to be written. */
typedef struct records_version {
    eg_bytes *parts; /* [n_items], one a record; of 0 bytes: it stays where it is. Those that
                        are carried over have data, which is owned; the others are packed
                        when they are written, so that memory holds one at a time */
    eg_records_head next; /* the new version's */
    unsigned char *head;  /* its byte form, [n_head] */
    size_t n_head;
} records_version;

static void records_save_measure(const eg_records *r, records_version *s)
{
    for (size_t i = 0; i < r->n_items; i++)
        s->parts[i].n = r->items[i].changed ? eg_bundle_bytes(r->items[i].bundle) : 0;
}

/* Whether a record stays where it is, in this file. */
static bool records_save_stays(const eg_records *r, const records_version *s, size_t i,
                               int64_t file)
{
    return s->parts[i].n == 0 && r->items[i].place.file == file;
}

/* The bytes of a record that is written: *out, which is *owned if it is not carried over. */
static eg_status records_save_bytes(const eg_records *r, const records_version *s, size_t i,
                                    eg_bytes *out, unsigned char **owned)
{
    *out = s->parts[i];
    *owned = NULL;
    if (out->data)
        return EG_OK;
    EG_TRY(eg_bundle_pack(r->items[i].bundle, owned, &out->n));
    out->data = *owned;
    EG_ASSERT(out->n == s->parts[i].n);
    return EG_OK;
}

/* Reads all records that would stay in a file, to be written again. */
static eg_status records_save_carry_file(eg_records *r, records_version *s, int64_t file)
{
    for (size_t i = 0; i < r->n_items; i++) {
        unsigned char *bytes;
        if (!records_save_stays(r, s, i, file))
            continue;
        EG_TRY(records_load(r, &r->items[i].place, &bytes));
        s->parts[i] = (eg_bytes){bytes, (size_t)r->items[i].place.length};
    }
    return EG_OK;
}

/* A file is kept for as long as one of its records is. So that a few numbers do not keep a file
 * of megabytes, records are carried over from files that hold more without use than with, as
 * far as this adds little to what is written anyway. */
static eg_status records_save_carry(eg_records *r, records_version *s)
{
    int64_t room = 0;
    for (size_t i = 0; i < r->n_items; i++)
        room += (int64_t)s->parts[i].n;
    room /= RECORDS_CARRY;
    for (size_t k = 0; k < r->n_files; k++) {
        const eg_records_file *f = &r->files[k];
        int64_t used = 0;
        for (size_t i = 0; i < r->n_items; i++)
            used += records_save_stays(r, s, i, f->version) ? r->items[i].place.length : 0;
        if (used == 0 || used > room || used >= f->size - used)
            continue;
        EG_TRY(records_save_carry_file(r, s, f->version));
        room -= used;
    }
    return EG_OK;
}

static bool records_save_needs(const eg_records *r, const records_version *s,
                               const eg_records_file *f)
{
    bool needs = f->pinned || f->based;
    for (size_t i = 0; i < r->n_items && !needs; i++)
        needs = records_save_stays(r, s, i, f->version);
    return needs;
}

static eg_status records_save_list(const eg_records *r, records_version *s)
{
    eg_records_head *h = &s->next;
    EG_TRY(eg_alloc(r->n_files, sizeof *h->files, &h->files));
    EG_TRY(eg_alloc(r->n_items, sizeof *h->places, &h->places));
    for (size_t i = 0; i < r->n_files; i++) {
        const eg_records_file *f = &r->files[i];
        if (records_save_needs(r, s, f))
            h->files[h->n_files++] = *f;
    }
    h->n_places = r->n_items;
    for (size_t i = 0; i < r->n_items; i++)
        h->places[i] = r->items[i].place;
    return EG_OK;
}

/* A record's place behind what the new file has already. */
static eg_status records_save_place(const eg_records *r, records_version *s, size_t i)
{
    eg_records_head *h = &s->next;
    eg_records_place *p = &h->places[i];
    eg_bytes bytes;
    unsigned char *owned;
    EG_TRY(records_save_bytes(r, s, i, &bytes, &owned));
    p->file = h->version;
    p->offset = h->size;
    p->length = (int64_t)bytes.n;
    p->sum = eg_checksum(0, bytes.data, bytes.n);
    h->size += p->length;
    free(owned);
    return EG_OK;
}

/* Lays out the new file: the head, then the parts in the order of their names. */
static eg_status records_save_lay_out(const eg_records *r, records_version *s)
{
    eg_records_head *h = &s->next;
    h->owner = r->owner;
    h->version = r->at.version + 1;
    h->base = r->base;
    h->committed = r->committed;
    EG_TRY(records_save_list(r, s));
    s->n_head = eg_records_head_length(h);
    h->size = (int64_t)s->n_head;
    for (size_t i = 0; i < r->n_items; i++) {
        if (s->parts[i].n > 0)
            EG_TRY(records_save_place(r, s, i));
        h->bytes += h->places[i].length;
    }
    if (h->version > EG_MAX_VERSION || h->bytes > EG_MAX_STATE_BYTES ||
        h->size > EG_MAX_STATE_BYTES || h->n_files > EG_RECORDS_MAX_FILES)
        return eg_fail(EG_EINVAL,
                       "%s: version %lld with %lld bytes and %zu files is more than "
                       "a client can have",
                       r->path, (long long)h->version, (long long)h->bytes, h->n_files);
    s->head = malloc(s->n_head);
    if (!s->head)
        return eg_fail(EG_ENOMEM, "%s: no memory for its head", r->path);
    eg_records_head_print(h, s->head);
    return EG_OK;
}

typedef struct records_saving {
    const eg_records *r;
    const records_version *s;
} records_saving;

static eg_status records_save_put(void *context, int fd, const char *path)
{
    const records_saving *f = context;
    EG_TRY(eg_file_put(fd, path, (eg_bytes){f->s->head, f->s->n_head}));
    for (size_t i = 0; i < f->r->n_items; i++) {
        eg_bytes bytes;
        unsigned char *owned;
        if (f->s->parts[i].n == 0)
            continue;
        EG_TRY(records_save_bytes(f->r, f->s, i, &bytes, &owned));
        eg_status status = eg_file_put(fd, path, bytes);
        free(owned);
        EG_TRY(status);
    }
    return EG_OK;
}

/* What is there of this version came from a turn whose receipt never arrived. */
static eg_status records_save_write(eg_records *r, const records_version *s)
{
    records_saving file = {r, s};
    unlink(r->path);
    eg_status status = eg_file_create_by(r->path, records_save_put, &file);
    if (status == EG_ENOENT) { /* its folder is not there yet */
        eg_records_folder(r->dir, r->owner, r->path);
        status = eg_disk_make_folder(r->path);
        eg_records_path(r->dir, r->owner, s->next.version, r->path);
        if (status == EG_OK)
            status = eg_file_create_by(r->path, records_save_put, &file);
    }
    return status;
}

/* The new version stands. Its head lists the older files that were to stay; the others go. */
static void records_save_adopt(eg_records *r, const records_version *s)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_files; i++) {
        if (eg_records_head_file(&s->next, r->files[i].version)) {
            r->files[n++] = r->files[i];
            continue;
        }
        eg_records_path(r->dir, r->owner, r->files[i].version, r->path);
        unlink(r->path);
    }
    r->files[n++] = (eg_records_file){s->next.version, s->next.size, false, false};
    r->n_files = n;
    for (size_t i = 0; i < r->n_items; i++) {
        r->items[i].place = s->next.places[i];
        r->items[i].changed = false;
    }
    r->changed = false;
    records_drop(r);
    r->at = (eg_receipt){s->next.version, s->next.bytes, eg_checksum(0, s->head, s->n_head)};
}

eg_status eg_records_save(eg_records *r, eg_receipt *out)
{
    *out = r->at;
    if (!r->changed)
        return EG_OK;
    records_version s = {.parts = calloc(r->n_items + 1, sizeof *s.parts)};
    eg_status status = EG_OK;
    if (!s.parts)
        status = eg_fail(EG_ENOMEM, "%s: no memory for %zu parts", r->dir, r->n_items);
    if (status == EG_OK)
        status = eg_grow(&r->files, r->n_files, &r->cap_files, sizeof *r->files);
    if (status == EG_OK) {
        records_save_measure(r, &s);
        status = records_save_carry(r, &s);
    }
    eg_records_path(r->dir, r->owner, r->at.version + 1, r->path);
    if (status == EG_OK)
        status = records_save_lay_out(r, &s);
    if (status == EG_OK)
        status = records_save_write(r, &s);
    if (status == EG_OK) {
        records_save_adopt(r, &s);
        *out = r->at;
    }
    for (size_t i = 0; s.parts && i < r->n_items; i++)
        free((void *)s.parts[i].data);
    free(s.parts);
    free(s.head);
    eg_records_head_fini(&s.next);
    return status;
}
