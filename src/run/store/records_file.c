/* records_file.c - the files of records: heads from bytes and back, bytes from files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing that is read here is believed: a head may come from a device, with right checksums.
 */
#include "run/store/records_file.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
typedef struct file_head_cursor {
    const unsigned char *at;
    size_t left;
} file_head_cursor;

static int64_t file_head_take(file_head_cursor *c)
{
    int64_t number;
    memcpy(&number, c->at, sizeof number);
    c->at += sizeof number;
    c->left -= sizeof number;
    return number;
}

static eg_status file_head_wrong(const char *what)
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
        return file_head_wrong("it does not begin as a file of records does");
    memcpy(word, at + 8, sizeof word);
    if (word[0] == HEAD_TURNED)
        return eg_fail(EG_ENOTSUP, "written by a machine of another byte order");
    if (word[0] != HEAD_ORDER)
        return file_head_wrong("the mark of its byte order is none");
    if (word[1] != HEAD_FORMAT)
        return eg_fail(EG_ENOTSUP, "version %u of the format is not known", word[1]);
    memcpy(&size, at + HEAD_LENGTHS, sizeof size);
    if (size < EG_RECORDS_HEAD_MIN || size > EG_RECORDS_HEAD_MAX)
        return file_head_wrong("its head has no possible length");
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
static eg_status file_head_parse_numbers(file_head_cursor *c, eg_records_head *h,
                                         int64_t *n_files, int64_t *n_places)
{
    h->owner = file_head_take(c);
    h->version = file_head_take(c);
    h->base = file_head_take(c);
    h->committed = file_head_take(c);
    h->size = file_head_take(c);
    h->bytes = file_head_take(c);
    *n_files = file_head_take(c);
    *n_places = file_head_take(c);
    if (h->owner < -1 || h->owner >= EG_MAX_OWNER)
        return file_head_wrong("nobody is its owner");
    if (h->version < 1 || h->version > EG_MAX_VERSION || h->base < 0 || h->base >= h->version ||
        h->committed < 0 || h->committed > h->base)
        return file_head_wrong("its versions are out of range");
    if (h->size < 1 || h->size > EG_MAX_STATE_BYTES || h->bytes < 0 ||
        h->bytes > EG_MAX_STATE_BYTES)
        return file_head_wrong("its sizes are out of range");
    if (*n_files < 0 || *n_files > EG_RECORDS_MAX_FILES || *n_places < 0 ||
        *n_places > EG_MAX_RECORDS ||
        (size_t)(*n_files * HEAD_FILE + *n_places * (HEAD_PLACE + 1)) > c->left)
        return file_head_wrong("its lists do not fit into its head");
    return EG_OK;
}

static eg_status file_head_parse_file(file_head_cursor *c, eg_records_head *h)
{
    eg_records_file *f = &h->files[h->n_files];
    int64_t before = h->n_files > 0 ? f[-1].version : 0;
    f->version = file_head_take(c);
    f->size = file_head_take(c);
    int64_t needed = file_head_take(c);
    f->pinned = (needed & 1) != 0;
    f->based = (needed & 2) != 0;
    if (f->version <= before || f->version >= h->version || f->size < 1 ||
        f->size > EG_MAX_STATE_BYTES || needed < 0 || needed > 3 ||
        (f->pinned && f->version > h->committed) || (f->based && f->version > h->base))
        return file_head_wrong("its list of files is wrong");
    h->n_files++;
    return EG_OK;
}

/* Whether the bytes of a place lie within the file that it names. */
static bool file_head_place_fits(const eg_records_head *h, const eg_records_place *p,
                                 size_t length)
{
    const eg_records_file *f = eg_records_head_file(h, p->file);
    bool own = p->file == h->version;
    int64_t size = own ? h->size : f ? f->size : 0;
    return p->length >= 0 && p->length <= size && p->offset <= size - p->length &&
           p->offset >= (own ? (int64_t)length : EG_RECORDS_HEAD_MIN);
}

static eg_status file_head_parse_place(file_head_cursor *c, eg_records_head *h, size_t length)
{
    eg_records_place *p = &h->places[h->n_places];
    if (c->left < HEAD_PLACE)
        return file_head_wrong("its list of records is cut short");
    p->file = file_head_take(c);
    p->offset = file_head_take(c);
    p->length = file_head_take(c);
    p->sum = (uint64_t)file_head_take(c);
    uint64_t n = (uint64_t)file_head_take(c);
    if (n > EG_RECORDS_NAME || n > c->left)
        return file_head_wrong("the name of a record has no possible length");
    memcpy(p->name, c->at, (size_t)n);
    p->name[n] = 0;
    c->at += n;
    c->left -= (size_t)n;
    if (strlen(p->name) != n || !eg_records_name_fits(p->name) ||
        (h->n_places > 0 && strcmp(p[-1].name, p->name) >= 0))
        return file_head_wrong("the name of a record is none, or out of order");
    if (!file_head_place_fits(h, p, length))
        return eg_fail(EG_EFORMAT, "damaged: record '%s' lies outside its file", p->name);
    h->n_places++;
    return EG_OK;
}

/* What can be said only when all is read. */
static eg_status file_head_check(const eg_records_head *h, size_t length)
{
    int64_t bytes = 0, own = (int64_t)length;
    for (size_t i = 0; i < h->n_places; i++) {
        bytes += h->places[i].length; /* at most 2^12 times 2^40 */
        own += h->places[i].file == h->version ? h->places[i].length : 0;
    }
    if (bytes != h->bytes || own != h->size)
        return file_head_wrong("its records do not add up to its sizes");
    const eg_records_file *committed = eg_records_head_file(h, h->committed);
    const eg_records_file *base = eg_records_head_file(h, h->base);
    if ((h->committed > 0 && !(committed && committed->pinned)) ||
        (h->base > 0 && !(base && base->based)))
        return file_head_wrong("it gave up a version that still counts");
    return EG_OK;
}

eg_status eg_records_head_parse(const void *bytes, size_t n, eg_records_head *out)
{
    size_t length;
    int64_t n_files, n_places;
    *out = (eg_records_head){0};
    EG_TRY(eg_records_head_measure(bytes, n, &length));
    if (length > n)
        return file_head_wrong("its head is cut short");
    file_head_cursor c = {(const unsigned char *)bytes + HEAD_NUMBERS, length - HEAD_NUMBERS};
    EG_TRY(file_head_parse_numbers(&c, out, &n_files, &n_places));
    EG_TRY(eg_alloc((size_t)n_files, sizeof *out->files, &out->files));
    EG_TRY(eg_alloc((size_t)n_places, sizeof *out->places, &out->places));
    while ((int64_t)out->n_files < n_files)
        EG_TRY(file_head_parse_file(&c, out));
    while ((int64_t)out->n_places < n_places)
        EG_TRY(file_head_parse_place(&c, out, length));
    if (c.left > 0)
        return file_head_wrong("its head is longer than what it lists");
    return file_head_check(out, length);
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

static unsigned char *file_head_put(unsigned char *at, const int64_t *numbers, size_t n)
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
    unsigned char *at = file_head_put(out + HEAD_LENGTHS, numbers, 9);
    for (size_t i = 0; i < h->n_files; i++) {
        const eg_records_file *f = &h->files[i];
        int64_t needed = (f->pinned ? 1 : 0) + (f->based ? 2 : 0);
        at = file_head_put(at, (const int64_t[]){f->version, f->size, needed}, 3);
    }
    for (size_t i = 0; i < h->n_places; i++) {
        const eg_records_place *p = &h->places[i];
        size_t n = strlen(p->name);
        const int64_t of[5] = {p->file, p->offset, p->length, (int64_t)p->sum, (int64_t)n};
        at = file_head_put(at, of, 5);
        memcpy(at, p->name, n);
        at += n;
    }
}

#define FILE_FIRST_READ 4096 /* bytes, which hold most heads */

size_t eg_records_path_size(const char *dir)
{
    return strlen(dir) + 64;
}

void eg_records_folder(const char *dir, int64_t owner, char *out)
{
    if (owner < 0)
        snprintf(out, eg_records_path_size(dir), "%s", dir);
    else
        snprintf(out, eg_records_path_size(dir), "%s/%lld", dir,
                 (long long)(owner / EG_RECORDS_GROUP));
}

void eg_records_path(const char *dir, int64_t owner, int64_t version, char *out)
{
    if (owner < 0)
        snprintf(out, eg_records_path_size(dir), "%s/server.%lld", dir, (long long)version);
    else
        snprintf(out, eg_records_path_size(dir), "%s/%lld/%lld.%lld", dir,
                 (long long)(owner / EG_RECORDS_GROUP), (long long)owner, (long long)version);
}

/* Opens a file for reading; one that is missing is damage. A pipe of that name would let an
 * ordinary open wait for ever. */
static eg_status file_open(const char *path, int *fd, int64_t *size)
{
    struct stat info;
    *size = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return eg_fail(EG_EFORMAT, "%s: the file is missing", path);
    if (*fd < 0)
        return eg_file_fail(path, "cannot be opened");
    eg_status status = EG_OK;
    if (fstat(*fd, &info) != 0)
        status = eg_file_fail(path, "cannot be read");
    else if (!S_ISREG(info.st_mode))
        status = eg_fail(EG_EFORMAT, "%s: is no regular file", path);
    if (status != EG_OK)
        close(*fd);
    else
        *size = (int64_t)info.st_size;
    return status;
}

/* Exactly n bytes from offset on. */
static eg_status file_pread(int fd, const char *path, unsigned char *to, size_t n,
                            int64_t offset)
{
    size_t got;
    EG_TRY(eg_file_get(fd, path, offset, to, n, &got));
    return got == n ? EG_OK : eg_fail(EG_EFORMAT, "%s: damaged: it ends too early", path);
}

/* The bytes of the head; free() *out. */
static eg_status file_read_head(int fd, const char *path, int64_t size, unsigned char **out,
                                size_t *length)
{
    unsigned char first[FILE_FIRST_READ];
    size_t n = size < FILE_FIRST_READ ? (size_t)size : FILE_FIRST_READ;
    EG_TRY(file_pread(fd, path, first, n, 0));
    EG_TRY(eg_blame(eg_records_head_measure(first, n, length), "%s", path));
    if ((int64_t)*length > size)
        return eg_fail(EG_EFORMAT, "%s: damaged: its head is cut short", path);
    EG_TRY(eg_blame(eg_alloc(*length, 1, out), "%s", path));
    size_t have = *length < n ? *length : n;
    memcpy(*out, first, have);
    return file_pread(fd, path, *out + have, *length - have, (int64_t)have);
}

eg_status eg_records_file_head(const char *path, int64_t owner, const eg_receipt *at,
                               eg_records_head *out)
{
    int fd;
    int64_t size;
    unsigned char *head = NULL;
    size_t length = 0;
    *out = (eg_records_head){0};
    EG_TRY(file_open(path, &fd, &size));
    eg_status status = file_read_head(fd, path, size, &head, &length);
    close(fd);
    if (status == EG_OK && eg_checksum(0, head, length) != at->digest)
        status = eg_fail(EG_EFORMAT, "%s: damaged: its head is not that of the receipt", path);
    if (status == EG_OK)
        status = eg_blame(eg_records_head_parse(head, length, out), "%s", path);
    if (status == EG_OK &&
        (out->owner != owner || out->version != at->version || out->bytes != at->bytes))
        status = eg_fail(EG_EFORMAT, "%s: damaged: its head is not that of the receipt", path);
    if (status == EG_OK && out->size != size)
        status = eg_fail(EG_EFORMAT, "%s: damaged: %lld bytes, not %lld", path, (long long)size,
                         (long long)out->size);
    free(head);
    return status;
}

eg_status eg_records_file_bytes(const char *path, int64_t size, const eg_records_place *p,
                                unsigned char **out)
{
    int fd;
    int64_t there;
    *out = NULL;
    EG_TRY(file_open(path, &fd, &there));
    eg_status status = EG_OK;
    if (there != size) /* known before anything is allocated */
        status = eg_fail(EG_EFORMAT, "%s: damaged: %lld bytes, not %lld", path,
                         (long long)there, (long long)size);
    else if (!(*out = malloc(p->length > 0 ? (size_t)p->length : 1)))
        status = eg_fail(EG_ENOMEM, "%s: no memory for %lld bytes", path, (long long)p->length);
    if (status == EG_OK)
        status = file_pread(fd, path, *out, (size_t)p->length, p->offset);
    if (status == EG_OK && eg_checksum(0, *out, (size_t)p->length) != p->sum)
        status =
            eg_fail(EG_EFORMAT, "%s: damaged: record '%s' has another checksum", path, p->name);
    close(fd);
    if (status != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

eg_status eg_records_fresh(const char *dir, int64_t owner, const eg_receipt *at, int64_t older,
                           eg_status (*visit)(void *to, int64_t version), void *to)
{
    eg_records_head head;
    char *path = malloc(eg_records_path_size(dir));
    if (!path)
        return eg_fail(EG_ENOMEM, "%s: no memory for a path", dir);
    eg_records_path(dir, owner, at->version, path);
    eg_status status = eg_records_file_head(path, owner, at, &head);
    free(path);
    if (status == EG_OK)
        status = visit(to, at->version);
    for (size_t i = 0; i < head.n_files && status == EG_OK; i++) {
        int64_t version = head.files[i].version;
        if (version > older && eg_records_head_refers(&head, version))
            status = visit(to, version);
    }
    eg_records_head_fini(&head);
    return status;
}

typedef struct file_sync_paths {
    const char *dir;
    int64_t owner;
    char **paths; /* [n] */
    size_t n, cap;
} file_sync_paths;

/* Room for one more path. */
static eg_status file_sync_next(file_sync_paths *p, char **out)
{
    EG_TRY(eg_grow(&p->paths, p->n, &p->cap, sizeof *p->paths));
    EG_TRY(eg_alloc(eg_records_path_size(p->dir), 1, out));
    p->paths[p->n++] = *out;
    return EG_OK;
}

static eg_status file_sync_add(void *to, int64_t version)
{
    file_sync_paths *p = to;
    char *path;
    EG_TRY(file_sync_next(p, &path));
    eg_records_path(p->dir, p->owner, version, path);
    return EG_OK;
}

/* The files, the folder they lie in, and the one above it, in which that may be new. */
static eg_status file_sync_all(file_sync_paths *p, const eg_receipt *at, int64_t older)
{
    char *path;
    EG_TRY(eg_records_fresh(p->dir, p->owner, at, older, file_sync_add, p));
    EG_TRY(file_sync_next(p, &path));
    eg_records_folder(p->dir, p->owner, path);
    EG_TRY(file_sync_next(p, &path));
    eg_records_folder(p->dir, -1, path);
    return eg_disk_sync(p->paths, p->n);
}

eg_status eg_records_sync(const char *dir, int64_t owner, const eg_receipt *at, int64_t older)
{
    file_sync_paths p = {.dir = dir, .owner = owner};
    if (at->version == 0)
        return EG_OK; /* it keeps nothing */
    eg_status s = file_sync_all(&p, at, older);
    for (size_t i = 0; i < p.n; i++)
        free(p.paths[i]);
    free(p.paths);
    return s;
}
