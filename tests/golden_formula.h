/* golden_formula.h - the numbers that tools/golden.py and the golden tests both compute.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden.py says which stream t is what. Arrays are flat; element j of a stream depends
 * on t and j alone.
 */
#ifndef EG_GOLDEN_FORMULA_H
#define EG_GOLDEN_FORMULA_H

#include <stddef.h>
#include <stdint.h>

/* First stream of each kind; the step, from 0, is added. */
enum {
    GOLDEN_INPUT = 1000,
    GOLDEN_LABELS = 2000,
    GOLDEN_FIRST_MASK = 3000,
    GOLDEN_SECOND_MASK = 4000,
    GOLDEN_DY = 9000, /* what ops.json weighs an output with */
};

/* Element j of stream t: a whole number below 2^24. */
static inline uint32_t golden_hash(uint32_t t, size_t j)
{
    uint32_t x = (uint32_t)j * 2654435761u + t * 40503u + 12345u;
    x ^= x >> 16;
    x *= 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    x ^= x >> 16;
    return x >> 8;
}

/* base + scale * v with v in [-1, 1), v exact. A stream below 0 is constant. */
static inline float golden_value(int t, size_t j, float base, float scale)
{
    if (t < 0)
        return base;
    float v = (float)((int32_t)golden_hash((uint32_t)t, j) - (1 << 23)) / (float)(1 << 23);
    float product = scale * v; /* rounded on its own, as NumPy does */
    return base + product;
}

static inline void golden_fill(int t, float base, float scale, size_t n, float *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = golden_value(t, j, base, scale);
}

/* Whole numbers below mod, as floats: labels and indices. */
static inline void golden_fill_labels(int t, uint32_t mod, size_t n, float *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (float)(golden_hash((uint32_t)t, j) % mod);
}

/* A dropout mask that drops one in so many. */
static inline void golden_fill_mask(int t, uint32_t one_in, size_t n, float *out)
{
    float kept = (float)((double)one_in / (one_in - 1));
    for (size_t j = 0; j < n; j++)
        out[j] = golden_hash((uint32_t)t, j) % one_in == one_in - 1 ? 0.0f : kept;
}

/* The k-th of the entries a fixture keeps of a tensor of this size: k < golden_n_entries. */
static inline size_t golden_n_entries(size_t size)
{
    return size < 64 ? size : 64;
}

static inline size_t golden_entry(size_t k, size_t size)
{
    return size <= 64 ? k : k * size / 64;
}

#endif
