/* engram/memory.h - what a client keeps of the past: rows as they were fed to the network.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client has one memory, shared by all parts that replay. One thread at a time.
 */
#ifndef EG_MEMORY_H
#define EG_MEMORY_H

#include <engram/rng.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_memory_kind {
    EG_MEMORY_NONE,
    EG_MEMORY_RESERVOIR, /* each row ever pushed is kept with the same probability */
    EG_MEMORY_WINDOW,    /* the newest rows */
    EG_MEMORY_RANDOM,    /* a full memory loses a random row for each new one */
} eg_memory_kind;

typedef struct eg_memory eg_memory;

/* What a row is in floats: the sample, its target, and the outputs that the network had for it
 * when it was stored (0: none are kept). */
typedef struct eg_memory_row {
    size_t sample, target, logits;
} eg_memory_row;

/* An empty memory for `size` rows. */
eg_status eg_memory_new(eg_memory_kind kind, int64_t size, eg_memory_row row, eg_memory **out);
void eg_memory_free(eg_memory *m); /* NULL is fine */

/* Rows of a memory, or on their way in or out of it. */
typedef struct eg_memory_rows {
    int64_t n, seen; /* rows here; of a memory's own: rows ever offered */
    size_t sample;
    float *x;      /* [n, sample] */
    float *labels; /* [n, target]: the targets; NULL: not wanted, in a draw */
    float *logits; /* [n, n_logits]; NULL if none are kept or wanted */
} eg_memory_rows;

/* Offers rows; what is kept is drawn from rng. */
void eg_memory_push(eg_memory *m, const eg_memory_rows *rows, eg_rng *rng);

int64_t eg_memory_filled(const eg_memory *m);
int64_t eg_memory_size(const eg_memory *m); /* rows it has room for */

/* Draws to->n different rows (as many as there are, at most) into to's arrays; returns how
 * many. */
int64_t eg_memory_draw(const eg_memory *m, eg_rng *rng, const eg_memory_rows *to);

/* All of it, to be kept elsewhere and put back: rows are borrowed until the next push. */
eg_memory_rows eg_memory_get(const eg_memory *m);
/* EG_ESHAPE: the rows do not fit. An empty set of rows empties the memory. */
eg_status eg_memory_set(eg_memory *m, const eg_memory_rows *rows);

/* Herding (Welling, 2009, as iCaRL uses it): picks m <= n of n rows one after the other, each
 * the one that brings the mean of those picked closest to the mean of all; of equals the first.
 * The best first, so that fewer are a beginning of more. features [n, d], picked [m]. */
eg_status eg_herd(const float *features, int64_t n, int64_t d, int64_t m, int64_t *picked);

/* Of a memory whose targets are classes: makes it one of exemplars, in groups of one label
 * each: those it has, and for each label of the rows given a new one. Each keeps floor(size /
 * groups) rows: an old group its first, a new one those that are herded by features [rows->n,
 * d], best first. */
eg_status eg_memory_herd(eg_memory *m, const eg_memory_rows *rows, const float *features,
                         int64_t d);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
