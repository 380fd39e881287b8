/* spool.h - bytes that wait for their turn: in memory as long as there is room, then in a file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file has no name, and goes with the process. A chunk is written by one thread and then
 * read by one; different chunks are independent.
 */
#ifndef EG_SPOOL_H
#define EG_SPOOL_H

#include "base/base.h"

typedef struct eg_spool eg_spool;
typedef struct eg_chunk eg_chunk;

/* memory: bytes that may wait there, of all chunks together. folder: where the file is made
 * when it is first needed; copied. */
eg_status eg_spool_new(const char *folder, size_t memory, eg_spool **out);
void eg_spool_free(eg_spool *s); /* after its chunks; NULL is fine */

/* Room for up to n bytes, which come piece by piece. EG_EIO: the file cannot take them. */
eg_status eg_chunk_new(eg_spool *s, size_t n, eg_chunk **out);
eg_status eg_chunk_add(eg_chunk *c, const void *bytes, size_t n); /* EG_ESHAPE: too many */
void eg_chunk_free(eg_chunk *c);                                  /* NULL is fine */

/* All that came, *n bytes, to be read until the chunk rests or is freed; NULL: it cannot be.
 * One on disk takes no memory while it rests. */
const void *eg_chunk_bytes(eg_chunk *c, size_t *n);
void eg_chunk_rest(eg_chunk *c);

size_t eg_spool_in_memory(eg_spool *s); /* bytes, now */

#endif
