/* records_private.h - what the two files of eg_records share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RECORDS_PRIVATE_H
#define EG_RECORDS_PRIVATE_H

#include "run/store/records_file.h"

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

/* The bytes of a record as last saved; free() *out. */
eg_status eg_records_load(eg_records *r, const eg_records_place *p, unsigned char **out);

/* Frees what was released and is saved. */
void eg_records_drop(eg_records *r);

#endif
