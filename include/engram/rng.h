/* engram/rng.h - random numbers as a function of (seed, client, round, purpose), not a state.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Philox4x32-10 (Salmon et al., 2011). A stream is a 64-bit key; the n-th block of four words
 * is philox(counter = {n low, n high, 0, 0}, key), so any element can be computed alone, in any
 * order and on any machine. An eg_rng is a plain value: copy it, keep it on the stack.
 */
#ifndef EG_RNG_H
#define EG_RNG_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What a stream is for: one number per use, so that no two uses share numbers.
 * Names are stable; numbers never change, since they are part of every result. */
typedef enum eg_purpose {
    EG_FOR_INIT = 1,        /* initial weights */
    EG_FOR_SHUFFLE = 2,     /* order of samples within an epoch */
    EG_FOR_DROPOUT = 3,     /* dropout masks */
    EG_FOR_SELECT = 4,      /* which clients take part */
    EG_FOR_PARTITION = 5,   /* which client gets which sample */
    EG_FOR_TASKS = 6,       /* angles, permutations, schedules */
    EG_FOR_MEMORY = 7,      /* what a memory keeps */
    EG_FOR_REPLAY = 8,      /* what is drawn from a memory */
    EG_FOR_AUGMENT = 9,     /* random crops, flips, cutout */
    EG_FOR_DATA = 10,       /* generated data sets */
    EG_FOR_NOISE = 11,      /* latent codes, prototype noise */
    EG_FOR_TEST = 12,       /* tests and benchmarks */
    EG_FOR_ORDER = 13,      /* orders of classes and tasks */
    EG_FOR_ABSENCE = 14,    /* when clients are away */
    EG_FOR_HOLD_OUT = 15,   /* which samples are held out of training */
    EG_FOR_PART = 16,       /* a method's own, by its name and the round */
    EG_FOR_PART_STAGE = 17, /* by its name and the client's stage */
    EG_FOR_LAYER = 18,      /* weights that nobody trains */
} eg_purpose;

typedef struct eg_rng {
    uint32_t key[2];
    uint64_t block;    /* number of the next block */
    uint32_t words[4]; /* the current block */
    uint32_t left;     /* words of it not yet used */
} eg_rng;

/* The stream of (seed, client, round, purpose). Its key is the first two words of
 * philox(counter = {client, round, purpose, 0}, key = {seed low, seed high}). */
eg_rng eg_rng_at(uint64_t seed, uint32_t client, uint32_t round, eg_purpose purpose);

/* Block n of the stream with this key: four independent uniform 32-bit words. */
void eg_rng_block(const uint32_t key[2], uint64_t n, uint32_t out[4]);

/* Block n of side stream m of the same key: counter {n low, n high, m low, m high}. */
void eg_rng_block_at(const uint32_t key[2], uint64_t n, uint64_t m, uint32_t out[4]);

uint32_t eg_rng_u32(eg_rng *r); /* words of a block in order 0, 1, 2, 3 */
uint64_t eg_rng_u64(eg_rng *r); /* first word drawn is the low half */

/* Uniform in {0, ..., n-1}, without bias; n > 0. One u64 x; if x < 2^64 mod n it is drawn
 * again; the result is x mod n. */
uint64_t eg_rng_below(eg_rng *r, uint64_t n);

/* Uniform in [0, 1): the top 53 bits of a u64, times 2^-53. */
double eg_rng_unit(eg_rng *r);
double eg_rng_uniform(eg_rng *r, double low, double high); /* low + (high - low) * unit */

/* Standard normal by Box-Muller: sqrt(-2 ln(1 - u)) * cos(2 pi v), u drawn before v. */
double eg_rng_normal(eg_rng *r);

/* Gamma(shape, 1), shape > 0, by Marsaglia and Tsang. */
double eg_rng_gamma(eg_rng *r, double shape);

/* A symmetric Dirichlet(a, ..., a): n gammas in order, divided by their sum. All zero sums (a
 * tiny a underflows) give a one-hot vector at below(n). */
void eg_rng_dirichlet(eg_rng *r, double a, size_t n, double *out);

/* Fisher-Yates from the end: for i = n-1 .. 1 swap items i and below(i + 1). */
void eg_rng_shuffle(eg_rng *r, size_t n, int64_t *items);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
