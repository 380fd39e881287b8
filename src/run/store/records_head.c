/* records_head.c - heads from bytes and back.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing that is read here is believed: a head may come from a device, with right checksums.
 */
#include "run/store/records_head.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MAGIC   "engrecs\n"
#define HEAD_ORDER   0x01020304u
#define HEAD_TURNED  0x04030201u
#define HEAD_FORMAT  1u
#define HEAD_LENGTHS 16 /* where the head's length stands */
#define HEAD_NUMBERS 24 /* where the other numbers begin */
#define HEAD_FILE    24 /* bytes of a listed file */
#define HEAD_PLACE   40 /* bytes of a place without its name */

bool eg_records_name_fits(const char *name)
{
    size_t n = strnlen(name, EG_RECORDS_NAME + 1);
    bool fits = n > 0 && n <= EG_RECORDS_NAME;
    for (size_t i = 0; fits && i < n; i++)
        fits = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\';
    return fits;
}

eg_status eg_receipt_check(const eg_receipt *r)
{
    if (r->version < 0 || r->version > EG_MAX_VERSION || r->bytes < 0 ||
        r->bytes > EG_MAX_STATE_BYTES || (r->version == 0 && r->bytes > 0))
        return eg_fail(EG_EINVAL, "no receipt can say version %lld with %lld bytes",
                       (long long)r->version, (long long)r->bytes);
    return EG_OK;
}

/* The bytes that are still to be read; the caller knows that there are enough. */
typedef struct head_cursor {
    const unsigned char *at;
    size_t left;
} head_cursor;

static int64_t head_take(head_cursor *c)
{
    int64_t number;
    memcpy(&number, c->at, sizeof number);
    c->at += sizeof number;
    c->left -= sizeof number;
    return number;
}

static eg_status head_wrong(const char *what)
{
    return eg_fail(EG_EFORMAT, "damaged: %s", what);
}

eg_status eg_records_head_measure(const void *bytes, size_t n, size_t *length)
{
    const unsigned char *at = bytes;
    uint32_t word[2]; /* mark, format */
    uint64_t size;
    *length = 0;
    if (n < EG_RECORDS_HEAD_MIN || memcmp(at, HEAD_MAGIC, 8) != 0)
        return head_wrong("it does not begin as a file of records does");
    memcpy(word, at + 8, sizeof word);
    if (word[0] == HEAD_TURNED)
        return eg_fail(EG_ENOTSUP, "written by a machine of another byte order");
    if (word[0] != HEAD_ORDER)
        return head_wrong("the mark of its byte order is none");
    if (word[1] != HEAD_FORMAT)
        return eg_fail(EG_ENOTSUP, "version %u of the format is not known", word[1]);
    memcpy(&size, at + HEAD_LENGTHS, sizeof size);
    if (size < EG_RECORDS_HEAD_MIN || size > EG_RECORDS_HEAD_MAX)
        return head_wrong("its head has no possible length");
    *length = (size_t)size;
    return EG_OK;
}

const eg_records_file *eg_records_head_file(const eg_records_head *h, int64_t version)
{
    size_t low = 0, high = h->n_files;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->files[middle].version < version)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->n_files && h->files[low].version == version ? &h->files[low] : NULL;
}

bool eg_records_head_refers(const eg_records_head *h, int64_t version)
{
    for (size_t i = 0; i < h->n_places; i++)
        if (h->places[i].file == version)
            return true;
    return false;
}

/* The numbers before the lists. *n_files and *n_places fit into what is left. */
static eg_status head_parse_numbers(head_cursor *c, eg_records_head *h, int64_t *n_files,
                                    int64_t *n_places)
{
    h->owner = head_take(c);
    h->version = head_take(c);
    h->base = head_take(c);
    h->committed = head_take(c);
    h->size = head_take(c);
    h->bytes = head_take(c);
    *n_files = head_take(c);
    *n_places = head_take(c);
    if (h->owner < -1 || h->owner >= EG_MAX_OWNER)
        return head_wrong("nobody is its owner");
    if (h->version < 1 || h->version > EG_MAX_VERSION || h->base < 0 || h->base >= h->version ||
        h->committed < 0 || h->committed > h->base)
        return head_wrong("its versions are out of range");
    if (h->size < 1 || h->size > EG_MAX_STATE_BYTES || h->bytes < 0 ||
        h->bytes > EG_MAX_STATE_BYTES)
        return head_wrong("its sizes are out of range");
    if (*n_files < 0 || *n_files > EG_RECORDS_MAX_FILES || *n_places < 0 ||
        *n_places > EG_MAX_RECORDS ||
        (size_t)(*n_files * HEAD_FILE + *n_places * (HEAD_PLACE + 1)) > c->left)
        return head_wrong("its lists do not fit into its head");
    return EG_OK;
}

static eg_status head_parse_file(head_cursor *c, eg_records_head *h)
{
    eg_records_file *f = &h->files[h->n_files];
    int64_t before = h->n_files > 0 ? f[-1].version : 0;
    f->version = head_take(c);
    f->size = head_take(c);
    int64_t needed = head_take(c);
    f->pinned = (needed & 1) != 0;
    f->based = (needed & 2) != 0;
    if (f->version <= before || f->version >= h->version || f->size < 1 ||
        f->size > EG_MAX_STATE_BYTES || needed < 0 || needed > 3 ||
        (f->pinned && f->version > h->committed) || (f->based && f->version > h->base))
        return head_wrong("its list of files is wrong");
    h->n_files++;
    return EG_OK;
}

/* Whether the bytes of a place lie within the file that it names. */
static bool head_place_fits(const eg_records_head *h, const eg_records_place *p, size_t length)
{
    const eg_records_file *f = eg_records_head_file(h, p->file);
    bool own = p->file == h->version;
    int64_t size = own ? h->size : f ? f->size : 0;
    return p->length >= 0 && p->length <= size && p->offset <= size - p->length &&
           p->offset >= (own ? (int64_t)length : EG_RECORDS_HEAD_MIN);
}

static eg_status head_parse_place(head_cursor *c, eg_records_head *h, size_t length)
{
    eg_records_place *p = &h->places[h->n_places];
    if (c->left < HEAD_PLACE)
        return head_wrong("its list of records is cut short");
    p->file = head_take(c);
    p->offset = head_take(c);
    p->length = head_take(c);
    p->sum = (uint64_t)head_take(c);
    uint64_t n = (uint64_t)head_take(c);
    if (n > EG_RECORDS_NAME || n > c->left)
        return head_wrong("the name of a record has no possible length");
    memcpy(p->name, c->at, (size_t)n);
    p->name[n] = 0;
    c->at += n;
    c->left -= (size_t)n;
    if (strlen(p->name) != n || !eg_records_name_fits(p->name) ||
        (h->n_places > 0 && strcmp(p[-1].name, p->name) >= 0))
        return head_wrong("the name of a record is none, or out of order");
    if (!head_place_fits(h, p, length))
        return eg_fail(EG_EFORMAT, "damaged: record '%s' lies outside its file", p->name);
    h->n_places++;
    return EG_OK;
}

/* What can be said only when all is read. */
static eg_status head_check(const eg_records_head *h, size_t length)
{
    int64_t bytes = 0, own = (int64_t)length;
    for (size_t i = 0; i < h->n_places; i++) {
        bytes += h->places[i].length; /* at most 2^12 times 2^40 */
        own += h->places[i].file == h->version ? h->places[i].length : 0;
    }
    if (bytes != h->bytes || own != h->size)
        return head_wrong("its records do not add up to its sizes");
    const eg_records_file *committed = eg_records_head_file(h, h->committed);
    const eg_records_file *base = eg_records_head_file(h, h->base);
    if ((h->committed > 0 && !(committed && committed->pinned)) ||
        (h->base > 0 && !(base && base->based)))
        return head_wrong("it gave up a version that still counts");
    return EG_OK;
}

eg_status eg_records_head_parse(const void *bytes, size_t n, eg_records_head *out)
{
    size_t length;
    int64_t n_files, n_places;
    *out = (eg_records_head){0};
    EG_TRY(eg_records_head_measure(bytes, n, &length));
    if (length > n)
        return head_wrong("its head is cut short");
    head_cursor c = {(const unsigned char *)bytes + HEAD_NUMBERS, length - HEAD_NUMBERS};
    EG_TRY(head_parse_numbers(&c, out, &n_files, &n_places));
    EG_TRY(eg_alloc((size_t)n_files, sizeof *out->files, &out->files));
    EG_TRY(eg_alloc((size_t)n_places, sizeof *out->places, &out->places));
    while ((int64_t)out->n_files < n_files)
        EG_TRY(head_parse_file(&c, out));
    while ((int64_t)out->n_places < n_places)
        EG_TRY(head_parse_place(&c, out, length));
    if (c.left > 0)
        return head_wrong("its head is longer than what it lists");
    return head_check(out, length);
}

void eg_records_head_fini(eg_records_head *h)
{
    free(h->files);
    free(h->places);
    *h = (eg_records_head){0};
}

size_t eg_records_head_length(const eg_records_head *h)
{
    size_t n = EG_RECORDS_HEAD_MIN + h->n_files * HEAD_FILE + h->n_places * HEAD_PLACE;
    for (size_t i = 0; i < h->n_places; i++)
        n += strlen(h->places[i].name);
    return n;
}

static unsigned char *head_put(unsigned char *at, const int64_t *numbers, size_t n)
{
    memcpy(at, numbers, n * sizeof *numbers);
    return at + n * sizeof *numbers;
}

void eg_records_head_print(const eg_records_head *h, unsigned char *out)
{
    const uint32_t word[2] = {HEAD_ORDER, HEAD_FORMAT};
    memcpy(out, HEAD_MAGIC, 8);
    memcpy(out + 8, word, sizeof word);
    const int64_t numbers[9] = {(int64_t)eg_records_head_length(h),
                                h->owner,
                                h->version,
                                h->base,
                                h->committed,
                                h->size,
                                h->bytes,
                                (int64_t)h->n_files,
                                (int64_t)h->n_places};
    unsigned char *at = head_put(out + HEAD_LENGTHS, numbers, 9);
    for (size_t i = 0; i < h->n_files; i++) {
        const eg_records_file *f = &h->files[i];
        int64_t needed = (f->pinned ? 1 : 0) + (f->based ? 2 : 0);
        at = head_put(at, (const int64_t[]){f->version, f->size, needed}, 3);
    }
    for (size_t i = 0; i < h->n_places; i++) {
        const eg_records_place *p = &h->places[i];
        size_t n = strlen(p->name);
        const int64_t of[5] = {p->file, p->offset, p->length, (int64_t)p->sum, (int64_t)n};
        at = head_put(at, of, 5);
        memcpy(at, p->name, n);
        at += n;
    }
}
