/* disk.h - folders, and bringing many files to disk at once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every error names the path. Any thread may use any of these.
 */
#ifndef EG_DISK_H
#define EG_DISK_H

#include "base/base.h"

/* Makes a folder and those above it; one that is there is fine. */
eg_status eg_disk_make_folder(const char *path);

/* Locks a file against other processes, until *out is closed or this process ends; make: a file
 * that is not there is made. *out is -1 if another process has the lock. */
eg_status eg_disk_lock(const char *path, bool make, int *out);

/* Waits until files and folders are on disk, for many of them at once: ten files take as long
 * as one, where one after the other they took 5 to 20 times as long. */
eg_status eg_disk_sync(char *const *paths, size_t n);

/* Calls visit with the name of everything in a folder, in no certain order; a failure of visit
 * ends the walk and is returned. EG_ENOENT: no such folder. */
typedef eg_status (*eg_disk_visit)(void *to, const char *name);
eg_status eg_disk_walk(const char *path, eg_disk_visit visit, void *to);

#endif
