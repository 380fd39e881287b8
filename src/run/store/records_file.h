/* records_file.h - the files of records: their names, and what is read from them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every error names the file.
 */
#ifndef EG_RECORDS_FILE_H
#define EG_RECORDS_FILE_H

#include "run/store/records_head.h"

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
