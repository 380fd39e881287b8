/* ledger_file.h - a ledger from the inside, and its file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * ledger.txt is lines of text, for it is to be read when something went wrong, and a list of
 * changes, for a commit of ten among a million clients must not write a million rows. Manifests
 * of one JSON value could not be both. Lines but the extra have one width each, so that no bit
 * decides alone how much belongs to a block:
 *
 *   engram ledger 1
 *   commit          1 rows          2 extra         11 head 0d3b3c5b9e2f1a77
 *          -1         1          4711 0123456789abcdef     owner, version, bytes, digest
 *         770        12         88020 fedcba9876543210
 *   {"round":7}
 *   sum 9e3779b97f4a7c15
 *
 * The first block has all receipts and comes by renaming a whole file; a block of what changed
 * is added for each commit, until they are more than the first one. Each checksum goes on from
 * the one before, so that no block can be exchanged or left out between others.
 */
#ifndef EG_LEDGER_FILE_H
#define EG_LEDGER_FILE_H

#include "run/store/ledger.h"

#include "run/store/records_file.h"

#include <pthread.h>
#include <stdio.h>

#define LEDGER_FILE "ledger.txt"
#define LEDGER_TEMP "ledger.txt.tmp"

/* Bytes of each line, with its end. The head's checksum is over the text before it. */
#define LEDGER_TITLE     "engram ledger 1\n"
#define LEDGER_HEAD_TEXT 50
#define LEDGER_HEAD      73
#define LEDGER_ROW       51
#define LEDGER_TAIL      21
#define LEDGER_MAX_EXTRA ((int64_t)1 << 30)

/* 24 bytes per owner, however many there are. */
typedef struct ledger_entry {
    uint32_t version;   /* the newest; 0: none yet */
    uint32_t committed; /* the one that the file names; 0: none */
    int64_t bytes;      /* of the newest, and its digest */
    uint64_t digest;
} ledger_entry;

struct eg_ledger {
    char *dir;
    char *path;           /* scratch; for exclusive callers only */
    bool apart;           /* clients' files are elsewhere */
    pthread_mutex_t lock; /* over entries and fresh */
    eg_json *extra;
    ledger_entry *entries; /* [n_entries], the server's and then one per client */
    size_t n_entries, cap_entries;
    int64_t *fresh; /* [n_fresh], owners entered since the last commit, once each */
    size_t n_fresh, cap_fresh;
    int fd;          /* of the file, to add blocks; -1: the next commit writes it anew */
    int64_t n_bytes; /* of the file, */
    int64_t n_first; /* of these up to the end of the first block */
    int64_t n_commits;
    uint64_t sum; /* of the last block */
};

/* An empty ledger, with nothing read or made; the entry of an owner that is in range, made if
 * it is not there. */
eg_status eg_ledger_new(const char *dir, eg_ledger **out);
eg_status eg_ledger_reach(eg_ledger *l, int64_t owner, ledger_entry **out);

/* What a block's lines must be: the head after a block of this checksum, which *sum goes on
 * from; and the tail. Each ends in a zero, which is not counted above. */
typedef struct ledger_block {
    int64_t commit, n_rows, n_extra;
} ledger_block;
void eg_ledger_print_head(const ledger_block *b, uint64_t *sum, char out[LEDGER_HEAD + 1]);
void eg_ledger_print_tail(uint64_t sum, char out[LEDGER_TAIL + 1]);
int64_t eg_ledger_block_bytes(const ledger_block *b);

/* Reads a ledger from a stream that can seek, into an empty one. What follows the last whole
 * block is the beginning of one that was never finished, and is not counted in n_bytes. */
eg_status eg_ledger_read(eg_ledger *l, FILE *f);

/* Adds a block with the fresh owners' rows and extra, a text of one line; or writes the file
 * anew. On failure the file says what it said before. */
eg_status eg_ledger_write(eg_ledger *l, const char *extra, size_t n_extra);

#endif
