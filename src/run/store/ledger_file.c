/* ledger_file.c - the file of a ledger: read without belief, added to, written anew.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line is parsed loosely, printed again and compared: so what is read is what would be
 * written, to the byte.
 */
#include "run/store/ledger_file.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void eg_ledger_print_head(const ledger_block *b, uint64_t *sum, char out[LEDGER_HEAD + 1])
{
    int n = snprintf(out, LEDGER_HEAD + 1, "commit %10lld rows %10lld extra %10lld",
                     (long long)b->commit, (long long)b->n_rows, (long long)b->n_extra);
    EG_ASSERT(n == LEDGER_HEAD_TEXT);
    *sum = eg_checksum(*sum, out, LEDGER_HEAD_TEXT);
    snprintf(out + n, LEDGER_HEAD + 1 - LEDGER_HEAD_TEXT, " head %016llx\n",
             (unsigned long long)*sum);
}

static void ledger_print_row(int64_t owner, const ledger_entry *e, char out[LEDGER_ROW + 1])
{
    int n =
        snprintf(out, LEDGER_ROW + 1, "%9lld %9lu %13lld %016llx\n", (long long)owner,
                 (unsigned long)e->version, (long long)e->bytes, (unsigned long long)e->digest);
    EG_ASSERT(n == LEDGER_ROW);
}

void eg_ledger_print_tail(uint64_t sum, char out[LEDGER_TAIL + 1])
{
    snprintf(out, LEDGER_TAIL + 1, "sum %016llx\n", (unsigned long long)sum);
}

int64_t eg_ledger_block_bytes(const ledger_block *b)
{
    return LEDGER_HEAD + b->n_rows * LEDGER_ROW + b->n_extra + 1 + LEDGER_TAIL;
}

typedef struct ledger_in {
    FILE *f;
    int64_t left; /* bytes not read yet */
    uint64_t sum; /* of what was read */
} ledger_in;

static eg_status ledger_damaged(const eg_ledger *l, const char *what)
{
    return eg_fail(EG_EFORMAT, "damaged: %s of commit %lld", what,
                   (long long)(l->n_commits + 1));
}

static eg_status ledger_get(ledger_in *in, char *to, size_t n)
{
    if (fread(to, 1, n, in->f) != n)
        return eg_fail(EG_EIO, "cannot be read");
    in->left -= (int64_t)n;
    return EG_OK;
}

/* Reads a line and compares it with what it must be. */
static eg_status ledger_expect(eg_ledger *l, ledger_in *in, const char *line, const char *what)
{
    char read[LEDGER_HEAD + 1];
    size_t n = strlen(line);
    EG_TRY(ledger_get(in, read, n));
    return memcmp(read, line, n) == 0 ? EG_OK : ledger_damaged(l, what);
}

/* *b is what follows; *whole is false if the file ends before it does. */
static eg_status ledger_read_head(eg_ledger *l, ledger_in *in, ledger_block *b, bool *whole)
{
    char line[LEDGER_HEAD + 1], again[LEDGER_HEAD + 1];
    *whole = false;
    if (in->left < LEDGER_HEAD)
        return EG_OK;
    EG_TRY(ledger_get(in, line, LEDGER_HEAD));
    line[LEDGER_HEAD] = 0;
    *b = (ledger_block){
        strtoll(line + sizeof "commit", NULL, 10),
        strtoll(line + sizeof "commit 0123456789 rows", NULL, 10),
        strtoll(line + sizeof "commit 0123456789 rows 0123456789 extra", NULL, 10)};
    if (b->commit < 1 || b->commit > 9999999999 || b->n_rows < 0 ||
        b->n_rows > EG_MAX_OWNER + 1 || b->n_extra < 0 || b->n_extra > LEDGER_MAX_EXTRA)
        return ledger_damaged(l, "the head");
    eg_ledger_print_head(b, &in->sum, again);
    if (memcmp(line, again, LEDGER_HEAD) != 0 ||
        (l->n_commits > 0 && b->commit != l->n_commits + 1))
        return ledger_damaged(l, "the head");
    *whole = in->left >= eg_ledger_block_bytes(b) - LEDGER_HEAD;
    return EG_OK;
}

/* A row changes an owner's receipt for a newer one; owners come in order. */
static eg_status ledger_read_row(eg_ledger *l, ledger_in *in, int64_t *owner)
{
    char line[LEDGER_ROW + 1], again[LEDGER_ROW + 1], *at;
    ledger_entry *e;
    EG_TRY(ledger_get(in, line, LEDGER_ROW));
    line[LEDGER_ROW] = 0;
    in->sum = eg_checksum(in->sum, line, LEDGER_ROW);
    int64_t before = *owner;
    *owner = strtoll(line, &at, 10);
    eg_receipt r; /* one statement each: those of one initialiser have no order */
    r.version = strtoll(at, &at, 10);
    r.bytes = strtoll(at, &at, 10);
    r.digest = strtoull(at, &at, 16);
    if (*owner <= before || *owner >= EG_MAX_OWNER || r.version < 1 ||
        eg_receipt_check(&r) != EG_OK)
        return ledger_damaged(l, "a row");
    EG_TRY(eg_ledger_reach(l, *owner, &e));
    if (r.version <= e->version)
        return ledger_damaged(l, "a row");
    *e = (ledger_entry){(uint32_t)r.version, (uint32_t)r.version, r.bytes, r.digest};
    ledger_print_row(*owner, e, again);
    return memcmp(line, again, LEDGER_ROW) == 0 ? EG_OK : ledger_damaged(l, "a row");
}

static eg_status ledger_read_extra(eg_ledger *l, ledger_in *in, size_t n)
{
    char *text = malloc(n + 1);
    eg_json *extra = NULL;
    if (!text)
        return eg_fail(EG_ENOMEM, "no memory for an extra of %zu bytes", n);
    eg_status status = ledger_get(in, text, n);
    if (status == EG_OK) {
        in->sum = eg_checksum(in->sum, text, n);
        status = eg_json_parse(text, n, &extra);
    }
    free(text);
    if (status == EG_ENOMEM || status == EG_EIO)
        return status;
    if (status != EG_OK || eg_json_kind_of(extra) != EG_JSON_OBJECT) {
        eg_json_free(extra);
        return ledger_damaged(l, "the extra");
    }
    eg_json_free(l->extra);
    l->extra = extra;
    return EG_OK;
}

static eg_status ledger_read_block(eg_ledger *l, ledger_in *in, bool *whole)
{
    ledger_block b;
    int64_t owner = -2;
    char tail[LEDGER_TAIL + 1];
    EG_TRY(ledger_read_head(l, in, &b, whole));
    if (!*whole)
        return EG_OK;
    for (int64_t i = 0; i < b.n_rows; i++)
        EG_TRY(ledger_read_row(l, in, &owner));
    EG_TRY(ledger_read_extra(l, in, (size_t)b.n_extra));
    EG_TRY(ledger_expect(l, in, "\n", "the extra"));
    eg_ledger_print_tail(in->sum, tail);
    EG_TRY(ledger_expect(l, in, tail, "the checksum"));
    l->n_commits = b.commit;
    l->n_bytes += eg_ledger_block_bytes(&b);
    l->sum = in->sum;
    return EG_OK;
}

/* The bytes of the file without the zeros at its end: what a machine that lost its power had
 * not written yet. No single bit makes a zero of a line's end. */
static eg_status ledger_measure(FILE *f, int64_t *n)
{
    char piece[4096];
    if (fseeko(f, 0, SEEK_END) != 0 || (*n = (int64_t)ftello(f)) < 0)
        return eg_fail(EG_EIO, "cannot be read");
    for (bool zeros = true; zeros && *n > 0;) {
        size_t take = *n < (int64_t)sizeof piece ? (size_t)*n : sizeof piece;
        if (fseeko(f, (off_t)(*n - (int64_t)take), SEEK_SET) != 0 ||
            fread(piece, 1, take, f) != take)
            return eg_fail(EG_EIO, "cannot be read");
        for (; take > 0 && piece[take - 1] == 0; take--)
            --*n;
        zeros = take == 0;
    }
    return fseeko(f, 0, SEEK_SET) == 0 ? EG_OK : eg_fail(EG_EIO, "cannot be read");
}

eg_status eg_ledger_read(eg_ledger *l, FILE *f)
{
    static const char title[] = LEDGER_TITLE;
    char read[sizeof title];
    ledger_in in = {.f = f, .sum = eg_checksum(0, title, sizeof title - 1)};
    EG_TRY(ledger_measure(f, &in.left));
    if (in.left < (int64_t)sizeof title - 1)
        return eg_fail(EG_EFORMAT, "damaged: it ends before its first line does");
    EG_TRY(ledger_get(&in, read, sizeof title - 1));
    if (memcmp(read, title, sizeof title - 1) != 0)
        return eg_fail(EG_EFORMAT,
                       "damaged, or of another version: it does not begin with "
                       "'%.*s'",
                       (int)sizeof title - 2, title);
    l->n_bytes = (int64_t)sizeof title - 1;
    bool whole;
    EG_TRY(ledger_read_block(l, &in, &whole));
    if (!whole) /* it comes with the file, all at once */
        return eg_fail(EG_EFORMAT, "damaged: it ends before its first commit does");
    l->n_first = l->n_bytes;
    while (whole)
        EG_TRY(ledger_read_block(l, &in, &whole));
    return EG_OK;
}

#define LEDGER_SLACK  (64 << 10) /* bytes of blocks that are never worth a new file */
#define LEDGER_BUFFER (64 << 10)

/* A file being written, in pieces of the buffer's size. */
typedef struct ledger_out {
    int fd;
    const char *path;
    size_t n;
    char buffer[LEDGER_BUFFER];
} ledger_out;

static eg_status ledger_flush(ledger_out *o)
{
    size_t n = o->n;
    o->n = 0;
    return eg_file_put(o->fd, o->path, (eg_bytes){o->buffer, n});
}

static eg_status ledger_put(ledger_out *o, const char *text, size_t n)
{
    if (n > LEDGER_BUFFER - o->n)
        EG_TRY(ledger_flush(o));
    if (n > LEDGER_BUFFER)
        return eg_file_put(o->fd, o->path, (eg_bytes){text, n});
    memcpy(o->buffer + o->n, text, n);
    o->n += n;
    return EG_OK;
}

static eg_status ledger_put_row(ledger_out *o, const eg_ledger *l, int64_t owner, uint64_t *sum)
{
    char row[LEDGER_ROW + 1];
    ledger_print_row(owner, &l->entries[owner + 1], row);
    *sum = eg_checksum(*sum, row, LEDGER_ROW);
    return ledger_put(o, row, LEDGER_ROW);
}

/* A block with all rows, or with those of fresh owners. */
static eg_status ledger_put_block(ledger_out *o, const eg_ledger *l, bool all,
                                  const ledger_block *b, const char *extra, uint64_t *sum)
{
    char line[LEDGER_HEAD + 1];
    eg_ledger_print_head(b, sum, line);
    EG_TRY(ledger_put(o, line, LEDGER_HEAD));
    for (size_t i = 0; all && i < l->n_entries; i++)
        if (l->entries[i].version > 0)
            EG_TRY(ledger_put_row(o, l, (int64_t)i - 1, sum));
    for (size_t i = 0; !all && i < l->n_fresh; i++)
        EG_TRY(ledger_put_row(o, l, l->fresh[i], sum));
    *sum = eg_checksum(*sum, extra, (size_t)b->n_extra);
    EG_TRY(ledger_put(o, extra, (size_t)b->n_extra));
    EG_TRY(ledger_put(o, "\n", 1));
    eg_ledger_print_tail(*sum, line);
    EG_TRY(ledger_put(o, line, LEDGER_TAIL));
    return ledger_flush(o);
}

static eg_status ledger_to_disk(ledger_out *o)
{
    return fsync(o->fd) == 0 ? EG_OK : eg_file_fail(o->path, "cannot be brought to disk");
}

/* After a failure the next commit writes the file anew. */
static void ledger_give_up(eg_ledger *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* A block of which a part was written is cut off. Should that fail, or what is on disk be
 * unknown, the next file takes this one's place. */
static eg_status ledger_add(eg_ledger *l, ledger_out *o, const ledger_block *b,
                            const char *extra)
{
    uint64_t sum = l->sum;
    o->fd = l->fd;
    eg_status status = ledger_put_block(o, l, false, b, extra, &sum);
    if (status != EG_OK) {
        if (ftruncate(l->fd, (off_t)l->n_bytes) != 0)
            ledger_give_up(l);
        return status;
    }
    status = ledger_to_disk(o);
    if (status != EG_OK) {
        (void)!ftruncate(l->fd, (off_t)l->n_bytes);
        ledger_give_up(l);
        return status;
    }
    l->sum = sum;
    l->n_bytes += eg_ledger_block_bytes(b);
    return EG_OK;
}

/* Writes the whole file beside the old one and renames it. */
static eg_status ledger_replace(eg_ledger *l, ledger_out *o, const ledger_block *b,
                                const char *extra, const char *temp)
{
    static const char title[] = LEDGER_TITLE;
    uint64_t sum = eg_checksum(0, title, sizeof title - 1);
    o->fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (o->fd < 0)
        return eg_file_fail(o->path, "cannot be created");
    eg_status status = ledger_put(o, title, sizeof title - 1);
    if (status == EG_OK)
        status = ledger_put_block(o, l, true, b, extra, &sum);
    if (status == EG_OK)
        status = ledger_to_disk(o);
    if (status != EG_OK) {
        close(o->fd);
        unlink(temp);
        return status;
    }
    ledger_give_up(l); /* from here on the old file may be no longer there */
    status = rename(temp, o->path) == 0 ? EG_OK : eg_file_fail(o->path, "cannot be replaced");
    if (status == EG_OK)
        status = eg_disk_sync(&l->dir, 1);
    if (status != EG_OK) {
        close(o->fd);
        unlink(temp);
        return status;
    }
    l->fd = o->fd;
    l->sum = sum;
    l->n_first = (int64_t)sizeof title - 1 + eg_ledger_block_bytes(b);
    l->n_bytes = l->n_first;
    return EG_OK;
}

static int64_t ledger_count(const eg_ledger *l)
{
    int64_t n = 0;
    for (size_t i = 0; i < l->n_entries; i++)
        n += l->entries[i].version > 0;
    return n;
}

eg_status eg_ledger_write(eg_ledger *l, const char *extra, size_t n_extra)
{
    if (n_extra > LEDGER_MAX_EXTRA)
        return eg_fail(EG_EINVAL, "%s: no commit can have an extra of %zu bytes", l->dir,
                       n_extra);
    ledger_block b = {l->n_commits + 1, (int64_t)l->n_fresh, (int64_t)n_extra};
    bool all = l->fd < 0 ||
               l->n_bytes - l->n_first + eg_ledger_block_bytes(&b) > l->n_first + LEDGER_SLACK;
    ledger_out *o = malloc(sizeof *o);
    char *temp = malloc(eg_records_path_size(l->dir));
    eg_status status = EG_OK;
    if (!o || !temp)
        status = eg_fail(EG_ENOMEM, "%s: no memory for a commit", l->dir);
    if (status == EG_OK) {
        snprintf(temp, eg_records_path_size(l->dir), "%s/%s", l->dir, LEDGER_TEMP);
        snprintf(l->path, eg_records_path_size(l->dir), "%s/%s", l->dir, LEDGER_FILE);
        o->path = l->path;
        o->n = 0;
        if (all)
            b.n_rows = ledger_count(l);
        status = all ? ledger_replace(l, o, &b, extra, temp) : ledger_add(l, o, &b, extra);
    }
    if (status == EG_OK)
        l->n_commits++;
    free(temp);
    free(o);
    return status;
}
