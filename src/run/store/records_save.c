/* records_save.c - writes what changed as a new version, and removes what nothing needs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/records_private.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAVE_CARRY 8 /* one byte in so many may be carried over */

/* What is to be written. */
typedef struct save {
    eg_bytes *parts; /* [n_items], one a record; of 0 bytes: it stays where it is. Those that
                        are carried over have data, which is owned; the others are packed
                        when they are written, so that memory holds one at a time */
    eg_records_head next; /* the new version's */
    unsigned char *head;  /* its byte form, [n_head] */
    size_t n_head;
} save;

static void save_measure(const eg_records *r, save *s)
{
    for (size_t i = 0; i < r->n_items; i++)
        s->parts[i].n = r->items[i].changed ? eg_bundle_bytes(r->items[i].bundle) : 0;
}

/* Whether a record stays where it is, in this file. */
static bool save_stays(const eg_records *r, const save *s, size_t i, int64_t file)
{
    return s->parts[i].n == 0 && r->items[i].place.file == file;
}

/* The bytes of a record that is written: *out, which is *owned if it is not carried over. */
static eg_status save_bytes(const eg_records *r, const save *s, size_t i, eg_bytes *out,
                            unsigned char **owned)
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
static eg_status save_carry_file(eg_records *r, save *s, int64_t file)
{
    for (size_t i = 0; i < r->n_items; i++) {
        unsigned char *bytes;
        if (!save_stays(r, s, i, file))
            continue;
        EG_TRY(eg_records_load(r, &r->items[i].place, &bytes));
        s->parts[i] = (eg_bytes){bytes, (size_t)r->items[i].place.length};
    }
    return EG_OK;
}

/* A file is kept for as long as one of its records is. So that a few numbers do not keep a file
 * of megabytes, records are carried over from files that hold more without use than with, as
 * far as this adds little to what is written anyway. */
static eg_status save_carry(eg_records *r, save *s)
{
    int64_t room = 0;
    for (size_t i = 0; i < r->n_items; i++)
        room += (int64_t)s->parts[i].n;
    room /= SAVE_CARRY;
    for (size_t k = 0; k < r->n_files; k++) {
        const eg_records_file *f = &r->files[k];
        int64_t used = 0;
        for (size_t i = 0; i < r->n_items; i++)
            used += save_stays(r, s, i, f->version) ? r->items[i].place.length : 0;
        if (used == 0 || used > room || used >= f->size - used)
            continue;
        EG_TRY(save_carry_file(r, s, f->version));
        room -= used;
    }
    return EG_OK;
}

static bool save_needs(const eg_records *r, const save *s, const eg_records_file *f)
{
    bool needs = f->pinned || f->based;
    for (size_t i = 0; i < r->n_items && !needs; i++)
        needs = save_stays(r, s, i, f->version);
    return needs;
}

static eg_status save_list(const eg_records *r, save *s)
{
    eg_records_head *h = &s->next;
    EG_TRY(eg_alloc(r->n_files, sizeof *h->files, &h->files));
    EG_TRY(eg_alloc(r->n_items, sizeof *h->places, &h->places));
    for (size_t i = 0; i < r->n_files; i++) {
        const eg_records_file *f = &r->files[i];
        if (save_needs(r, s, f))
            h->files[h->n_files++] = *f;
    }
    h->n_places = r->n_items;
    for (size_t i = 0; i < r->n_items; i++)
        h->places[i] = r->items[i].place;
    return EG_OK;
}

/* A record's place behind what the new file has already. */
static eg_status save_place(const eg_records *r, save *s, size_t i)
{
    eg_records_head *h = &s->next;
    eg_records_place *p = &h->places[i];
    eg_bytes bytes;
    unsigned char *owned;
    EG_TRY(save_bytes(r, s, i, &bytes, &owned));
    p->file = h->version;
    p->offset = h->size;
    p->length = (int64_t)bytes.n;
    p->sum = eg_checksum(0, bytes.data, bytes.n);
    h->size += p->length;
    free(owned);
    return EG_OK;
}

/* Lays out the new file: the head, then the parts in the order of their names. */
static eg_status save_lay_out(const eg_records *r, save *s)
{
    eg_records_head *h = &s->next;
    h->owner = r->owner;
    h->version = r->at.version + 1;
    h->base = r->base;
    h->committed = r->committed;
    EG_TRY(save_list(r, s));
    s->n_head = eg_records_head_length(h);
    h->size = (int64_t)s->n_head;
    for (size_t i = 0; i < r->n_items; i++) {
        if (s->parts[i].n > 0)
            EG_TRY(save_place(r, s, i));
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

typedef struct save_file {
    const eg_records *r;
    const save *s;
} save_file;

static eg_status save_put(void *context, int fd, const char *path)
{
    const save_file *f = context;
    EG_TRY(eg_file_put(fd, path, (eg_bytes){f->s->head, f->s->n_head}));
    for (size_t i = 0; i < f->r->n_items; i++) {
        eg_bytes bytes;
        unsigned char *owned;
        if (f->s->parts[i].n == 0)
            continue;
        EG_TRY(save_bytes(f->r, f->s, i, &bytes, &owned));
        eg_status status = eg_file_put(fd, path, bytes);
        free(owned);
        EG_TRY(status);
    }
    return EG_OK;
}

/* What is there of this version came from a turn whose receipt never arrived. */
static eg_status save_write(eg_records *r, const save *s)
{
    save_file file = {r, s};
    unlink(r->path);
    eg_status status = eg_file_create_by(r->path, save_put, &file);
    if (status == EG_ENOENT) { /* its folder is not there yet */
        eg_records_folder(r->dir, r->owner, r->path);
        status = eg_disk_make_folder(r->path);
        eg_records_path(r->dir, r->owner, s->next.version, r->path);
        if (status == EG_OK)
            status = eg_file_create_by(r->path, save_put, &file);
    }
    return status;
}

/* The new version stands. Its head lists the older files that were to stay; the others go. */
static void save_adopt(eg_records *r, const save *s)
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
    eg_records_drop(r);
    r->at = (eg_receipt){s->next.version, s->next.bytes, eg_checksum(0, s->head, s->n_head)};
}

eg_status eg_records_save(eg_records *r, eg_receipt *out)
{
    *out = r->at;
    if (!r->changed)
        return EG_OK;
    save s = {.parts = calloc(r->n_items + 1, sizeof *s.parts)};
    eg_status status = EG_OK;
    if (!s.parts)
        status = eg_fail(EG_ENOMEM, "%s: no memory for %zu parts", r->dir, r->n_items);
    if (status == EG_OK)
        status = eg_grow(&r->files, r->n_files, &r->cap_files, sizeof *r->files);
    if (status == EG_OK) {
        save_measure(r, &s);
        status = save_carry(r, &s);
    }
    eg_records_path(r->dir, r->owner, r->at.version + 1, r->path);
    if (status == EG_OK)
        status = save_lay_out(r, &s);
    if (status == EG_OK)
        status = save_write(r, &s);
    if (status == EG_OK) {
        save_adopt(r, &s);
        *out = r->at;
    }
    for (size_t i = 0; s.parts && i < r->n_items; i++)
        free((void *)s.parts[i].data);
    free(s.parts);
    free(s.head);
    eg_records_head_fini(&s.next);
    return status;
}
