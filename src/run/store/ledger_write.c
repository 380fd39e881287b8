/* ledger_write.c - adds blocks to the file of a ledger, and writes it anew when they are many.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/ledger_private.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    eg_ledger_print_row(owner, &l->entries[owner + 1], row);
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
