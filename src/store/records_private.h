/* records_private.h - what the two files of eg_records share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RECORDS_PRIVATE_H
#define EG_RECORDS_PRIVATE_H

#include "store/records_file.h"

typedef struct records_item {
    eg_records_place place; /* of the bytes last saved; file 0: none were */
    eg_bundle *bundle;      /* NULL: not asked for yet */
    bool changed;           /* put since the last save */
} records_item;

/* An older file that is there, and who needs it beside the records as they are now. */
typedef struct records_file {
    int64_t version, size;
    bool pinned; /* the committed version does */
    bool base;   /* the version opened at does, which counts until a newer receipt arrives */
} records_file;

struct eg_records {
    char *dir;
    char *path; /* room for one */
    int64_t owner, committed;
    eg_receipt at;       /* of the newest version saved */
    records_item *items; /* [n_items], by rising name */
    size_t n_items, cap_items;
    records_file *files; /* [n_files], by rising version */
    size_t n_files, cap_files;
    bool changed; /* something was put or removed since the last save */
};

/* The bytes of a record as last saved; free() *out. */
eg_status eg_records_load(eg_records *r, const eg_records_place *p, unsigned char **out);

#endif
