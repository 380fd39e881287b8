/* records.h - what one client, or the server, keeps between turns: named records in files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It lives on its owner's side. A process or a device needs only a folder and the receipt that
 * it is told, which says what version of its state counts; it needs no index and no lock. A
 * version is one file and is never changed:
 *
 *   server.7     version 7 of the server's records (owner -1)
 *   3/770.12     version 12 of client 770's; 256 clients share a folder
 *
 * It begins with a head that lists every record and says which file holds its bytes; behind the
 * head stand the bytes of the records that are new in this version. So a turn reads what it
 * asks for and writes what changed, in several versions if it has much to keep (see
 * eg_records_release): only the last of a turn is told to anyone. A save removes the files that
 * nothing needs any more: the version saved, the one it was opened at (whose receipt counts
 * until the new one has arrived), the last committed one, and what these three refer to stay. A
 * small record that is nearly all that a file is kept for is written once more instead.
 *
 * A file is trusted in nothing; errors are one sentence that names it. One thread at a time per
 * eg_records, and per owner.
 */
#ifndef EG_RECORDS_H
#define EG_RECORDS_H

#include <engram/exchange.h>

/* What the server knows of an owner's state. */
typedef struct eg_receipt {
    int64_t version; /* 0: it keeps nothing yet */
    int64_t bytes;   /* of all records */
    uint64_t digest; /* a checksum of the version's head, which holds those of the records */
} eg_receipt;

#define EG_MAX_VERSION     ((int64_t)999999999)
#define EG_MAX_STATE_BYTES ((int64_t)1 << 40)
#define EG_MAX_OWNER       ((int64_t)1 << 24) /* owners are -1 to EG_MAX_OWNER - 1 */
#define EG_MAX_RECORDS     4096               /* of one owner */
#define EG_RECORDS_WAITING ((int64_t)8 << 20)

typedef struct eg_records eg_records;

/* Opens the state as of the version in *at, in dir, which need not be there yet. committed is
 * the version that the last commit named (0: none): its files stay. EG_EINVAL: no such owner,
 * receipt or commit is possible; EG_EFORMAT: the version's file is damaged or missing. Free
 * with eg_records_free. */
eg_status eg_records_open(const char *dir, int64_t owner, const eg_receipt *at,
                          int64_t committed, eg_records **out);
void eg_records_free(eg_records *r); /* NULL is fine; what was put and not saved is lost */

/* A record, read when it is first asked for; *out is NULL if there is none of this name.
 * Borrowed until it is put again or r is freed. EG_EFORMAT: its file is damaged or missing. */
eg_status eg_records_get(eg_records *r, const char *name, const eg_bundle **out);

/* Replaces a record, or adds it; NULL removes it. The bundle is r's from here on, even on
 * failure. A name is what a tensor in a bundle may be called; EG_EINVAL: it is not, or there
 * are too many records. */
eg_status eg_records_put(eg_records *r, const char *name, eg_bundle *take);

/* Lets go of a record in memory: what was borrowed of it is gone, and it is read again when it
 * is asked for. One that was put waits until it is saved; once EG_RECORDS_WAITING bytes wait
 * so, all that was put is saved. A record that is not there is fine. */
eg_status eg_records_release(eg_records *r, const char *name);

/* Writes what was put as a new version, without waiting for the disk, and gives its receipt;
 * the one before if nothing was put. On failure all is as before, and it may be tried again. */
eg_status eg_records_save(eg_records *r, eg_receipt *out);

/* Brings to disk what a state has beyond an older one that is there (0: none): for an owner
 * with no ledger beside it, before anybody hears of the version. */
eg_status eg_records_sync(const char *dir, int64_t owner, const eg_receipt *at, int64_t older);

/* The names of all records, in alphabetical order; borrowed until the next put. */
size_t eg_records_n(const eg_records *r);
const char *eg_records_name(const eg_records *r, size_t i); /* i < n */

#endif
