/* store.h - the states of clients in files, brought forward by whole commits.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A state is bytes. A new version goes into a new file, never over an old one; a commit brings
 * the new files to disk and renames one manifest, which says what version of each client is the
 * valid one. So a crash at any moment leaves the last commit as it was. In its folder:
 *
 *     manifest.json       {"version":1,"extra":{...},"clients":[[client, version, bytes,
 * sum],..]} server.7            version 7 of the server's state 3/770.12            version 12
 * of client 770's: 256 clients a folder
 *
 * Only an index is kept in memory. Several threads may get and put at once, each another
 * client; a commit wants to be alone.
 */
#ifndef EG_STORE_H
#define EG_STORE_H

#include "io/json.h"

typedef struct eg_store eg_store;

/* Opens the store in dir, which is made if it is not there. Without resume it must hold no
 * commit (EG_EINVAL). With resume it is as the last commit left it, or empty if there was none:
 * what was put later is removed, and every state is read once and compared with its checksum
 * (EG_EFORMAT, naming the file). Free with eg_store_free. */
eg_status eg_store_open(const char *dir, bool resume, eg_store **out);
void eg_store_free(eg_store *s); /* NULL is fine; what was not committed is lost */

/* The extra of the last commit; NULL if there was none. Borrowed until the next commit. */
const eg_json *eg_store_extra(const eg_store *s);

/* The newest state of a client, or of the server (-1), committed or not; free() *bytes.
 * EG_ENOENT: it has none yet; EG_EFORMAT: its file is damaged or gone. */
eg_status eg_store_get(eg_store *s, int64_t client, unsigned char **bytes, size_t *n);

/* Writes a new version. On failure the one before stays the newest. */
eg_status eg_store_put(eg_store *s, int64_t client, const void *bytes, size_t n);

/* Makes all that was put valid, together with extra, an object which is copied; then deletes
 * the versions before. On failure the last commit stays valid, and it may be tried again. */
eg_status eg_store_commit(eg_store *s, const eg_json *extra);

#endif
