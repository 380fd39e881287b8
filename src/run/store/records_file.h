/* records_file.h - the files of records: their heads, their names, and what is read from them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every error names the file.
 */
// clang-format off
/* A file begins with a head that says what is where. Its numbers have eight bytes each, in the
 * byte order that the mark after the magic shows:
 *
 *   "engrecs\n"  mark, format (4 bytes each)  length of the head
 *   owner  version  base  committed  size  bytes  number of files  number of places
 *   each file:   version  size  needed (1: by the committed version, 2: by the base, 3: by both)
 *   each place:  file  offset  length  checksum  length of the name  the name
 *
 * There is nothing between these, and nothing between the records behind the head.
 */
// clang-format on
#ifndef EG_RECORDS_FILE_H
#define EG_RECORDS_FILE_H

#include "run/store/records.h"

#include "base/base.h"

#define EG_RECORDS_NAME      200                      /* characters, at most */
#define EG_RECORDS_MAX_FILES (3 * EG_MAX_RECORDS + 3) /* three versions' */
#define EG_RECORDS_HEAD_MIN  88                       /* bytes, the numbers before the lists */
#define EG_RECORDS_HEAD_MAX  ((size_t)1 << 21)

/* Where the bytes of a record are: file is a version, offset counts from that file's start. */
typedef struct eg_records_place {
    char name[EG_RECORDS_NAME + 1];
    int64_t file, offset, length;
    uint64_t sum;
} eg_records_place;

/* An older file that was left when this version was written. */
typedef struct eg_records_file {
    int64_t version, size;
    bool pinned; /* the committed version needs it */
    bool based;  /* the base needs it */
} eg_records_file;

typedef struct eg_records_head {
    int64_t owner, version;
    int64_t base;             /* the version this one was made from, and */
    int64_t committed;        /* the one that the last commit had named then; 0: none */
    int64_t size;             /* of this version's file */
    int64_t bytes;            /* of all records */
    eg_records_file *files;   /* [n_files], by rising version, all below this one */
    eg_records_place *places; /* [n_places], by rising name */
    size_t n_files, n_places;
} eg_records_head;

/* The length of a head, from at least its first EG_RECORDS_HEAD_MIN bytes. EG_EFORMAT: this is
 * no head; EG_ENOTSUP: of another byte order or another version of the format. */
eg_status eg_records_head_measure(const void *bytes, size_t n, size_t *length);

/* Reads a head from a file's first bytes, at least all of the head. What it gives keeps all the
 * rules above: every place lies within its file, which is listed or its own. Free with
 * eg_records_head_fini, also after a failure. */
eg_status eg_records_head_parse(const void *bytes, size_t n, eg_records_head *out);
void eg_records_head_fini(eg_records_head *h);

/* The length of the byte form, and the byte form, into that much room. */
size_t eg_records_head_length(const eg_records_head *h);
void eg_records_head_print(const eg_records_head *h, unsigned char *out);

/* The listed file of a version, or NULL; whether a place points into a version's file. */
const eg_records_file *eg_records_head_file(const eg_records_head *h, int64_t version);
bool eg_records_head_refers(const eg_records_head *h, int64_t version);

bool eg_records_name_fits(const char *name);

/* EG_EINVAL: no owner can have this receipt. A version of 0 has no bytes. */
eg_status eg_receipt_check(const eg_receipt *r);

#define EG_RECORDS_GROUP 256 /* clients a folder */

/* The path of a version's file, and of the folder it lies in, both within dir, into room for
 * eg_records_path_size(dir) characters. */
size_t eg_records_path_size(const char *dir);
void eg_records_path(const char *dir, int64_t owner, int64_t version, char *out);
void eg_records_folder(const char *dir, int64_t owner, char *out);

/* Reads the head of the version that a receipt names, and only that. EG_EFORMAT: it is missing,
 * damaged, or not the one of the receipt. Free with eg_records_head_fini, also after a failure.
 */
eg_status eg_records_file_head(const char *path, int64_t owner, const eg_receipt *at,
                               eg_records_head *out);

/* Reads the bytes of one record from the file it lies in, whose size is known; free() *out.
 * EG_EFORMAT: the file is missing or damaged. */
eg_status eg_records_file_bytes(const char *path, int64_t size, const eg_records_place *p,
                                unsigned char **out);

/* Visits the versions whose files a state has beyond those of an older one that is on disk: its
 * own, and those in between that it refers to. What it refers to up to the older one, that one
 * refers to as well: a record that did not change stays where it is. */
eg_status eg_records_fresh(const char *dir, int64_t owner, const eg_receipt *at, int64_t older,
                           eg_status (*visit)(void *to, int64_t version), void *to);

#endif
