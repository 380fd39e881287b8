/* engram/memory.h - what a client keeps of the past: rows as they were fed to the network.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client has one memory, shared by all parts that replay. One thread at a time.
 */
#ifndef EG_MEMORY_H
#define EG_MEMORY_H

#include <engram/rng.h>

#pragma GCC visibility push(default)

typedef enum eg_memory_kind {
    EG_MEMORY_NONE,
    EG_MEMORY_RESERVOIR, /* each row ever pushed is kept with the same probability */
    EG_MEMORY_WINDOW,    /* the newest rows */
    EG_MEMORY_RANDOM,    /* a full memory loses a random row for each new one */
} eg_memory_kind;

typedef struct eg_memory eg_memory;

/* An empty memory for `size` rows of `sample` floats. */
eg_status eg_memory_new(eg_memory_kind kind, int64_t size, size_t sample, eg_memory **out);
void eg_memory_free(eg_memory *m); /* NULL is fine */

/* Offers n rows; what is kept is drawn from rng. */
void eg_memory_push(eg_memory *m, int64_t n, const float *x, const float *labels, eg_rng *rng);

int64_t eg_memory_filled(const eg_memory *m);

/* Draws n different rows (as many as there are, at most) into x and labels; returns how many.
 */
int64_t eg_memory_draw(const eg_memory *m, int64_t n, eg_rng *rng, float *x, float *labels);

/* All of it, to be kept elsewhere and put back: rows are borrowed until the next push. */
typedef struct eg_memory_rows {
    int64_t n, seen; /* rows there, rows ever offered */
    size_t sample;
    const float *x;      /* [n, sample] */
    const float *labels; /* [n] */
} eg_memory_rows;
eg_memory_rows eg_memory_get(const eg_memory *m);
/* EG_ESHAPE: the rows do not fit. An empty set of rows empties the memory. */
eg_status eg_memory_set(eg_memory *m, const eg_memory_rows *rows);

#pragma GCC visibility pop

#endif
