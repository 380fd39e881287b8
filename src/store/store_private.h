/* store_private.h - what the two files of the store share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_STORE_PRIVATE_H
#define EG_STORE_PRIVATE_H

#include "store/store.h"

#include <pthread.h>

#define STORE_MANIFEST "manifest.json"
#define STORE_GROUP    256 /* clients a folder */
#define STORE_ROW      56  /* bytes of "[client,version,bytes,"sum"],\n", padded with spaces */

/* What a row has room for. */
#define STORE_MAX_CLIENT  ((int64_t)1 << 28)
#define STORE_MAX_VERSION ((int64_t)999999999)
#define STORE_MAX_STATE   ((int64_t)1 << 40)

typedef struct store_entry {
    int64_t version;   /* the newest, from 1 on; 0: none yet */
    int64_t committed; /* the one the manifest on disk names; 0: none */
    size_t n;          /* of the newest: bytes and checksum */
    uint64_t sum;
} store_entry;

struct eg_store {
    char *dir;
    size_t path_size;     /* room that every path in dir needs */
    pthread_mutex_t lock; /* over all below */
    eg_json *extra;
    store_entry *entries; /* [n_entries], the server's and then one a client */
    size_t n_entries, cap_entries;
    char *rows; /* [n_entries, STORE_ROW], the manifest's */
    size_t cap_rows;
    int64_t *fresh; /* [n_fresh], clients put since the last commit */
    size_t n_fresh, cap_fresh;
};

uint64_t eg_store_sum(const void *bytes, size_t n);

/* Room for a path, to be freed; and the path of a version. */
eg_status eg_store_path_new(const eg_store *s, char **out);
void eg_store_path(const eg_store *s, int64_t client, int64_t version, char *out);

/* Makes entries up to that of client; prints the row of its entry. The caller has the lock. */
eg_status eg_store_reach(eg_store *s, int64_t client);
void eg_store_print_row(eg_store *s, int64_t client);

#endif
