/* find.h - where the files of a data set are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FIND_H
#define EG_FIND_H

#include <engram/data.h>

#include "base/base.h"

#define EG_PATH_SIZE 1024

/* What is known of a data set's files beside their names. */
typedef struct eg_place {
    const char *folder; /* below the data folder; dashes count as underscores */
    const char *system; /* where a package puts it, looked at last; may be NULL */
    const char *get;    /* how to get it, as the end of a sentence */
} eg_place;

/* Finds the first of the names (NULL-terminated) that exists, plain or with .gz, in
 * <dir>/<folder>, <dir> and place->system. The error lists all of it, and place->get. */
eg_status eg_find(const eg_origin *from, const eg_place *place, const char *const *names,
                  char out[EG_PATH_SIZE]);

/* The full form of a user's path: absolute, or the first that is there of those relative to
 * from->beside, to the working folder and to the data folder. EG_ENOENT names all three. */
eg_status eg_find_root(const eg_origin *from, const char *path, char out[EG_PATH_SIZE]);

/* Whether a relative path is there beside the experiment file or in the working folder: *out is
 * its absolute form then. */
bool eg_find_own(const char *beside, const char *path, char out[EG_PATH_SIZE]);

/* dir/name; a path that is too long is an error. */
eg_status eg_path_join(const char *dir, const char *name, char out[EG_PATH_SIZE]);

#endif
