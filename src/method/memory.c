/* memory.c - reservoir, sliding window and random replacement.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/memory.h>

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct eg_memory {
    eg_memory_kind kind;
    int64_t size, filled, seen;
    size_t sample, n_logits;
    float *x;       /* [size, sample] */
    float *labels;  /* [size] */
    float *logits;  /* [size, n_logits] */
    int64_t *order; /* [size], for draws */
};

eg_status eg_memory_new(eg_memory_kind kind, int64_t size, size_t sample, size_t n_logits,
                        eg_memory **out)
{
    *out = NULL;
    eg_memory *m = calloc(1, sizeof *m);
    if (!m)
        return eg_fail(EG_ENOMEM, "no memory for a client's memory");
    m->kind = kind, m->size = size, m->sample = sample, m->n_logits = n_logits;
    eg_status s = eg_alloc((size_t)size, sample * sizeof(float), &m->x);
    if (s == EG_OK)
        s = eg_alloc((size_t)size, sizeof(float), &m->labels);
    if (s == EG_OK)
        s = eg_alloc((size_t)size, sizeof(int64_t), &m->order);
    if (s == EG_OK && n_logits)
        s = eg_alloc((size_t)size, n_logits * sizeof(float), &m->logits);
    if (s != EG_OK) {
        eg_memory_free(m);
        return s;
    }
    *out = m;
    return EG_OK;
}

void eg_memory_free(eg_memory *m)
{
    if (!m)
        return;
    free(m->x);
    free(m->labels);
    free(m->logits);
    free(m->order);
    free(m);
}

/* Where the next row goes; -1: nowhere. n rows have been seen before it. */
static int64_t memory_slot(const eg_memory *m, eg_rng *rng)
{
    if (m->filled < m->size)
        return m->filled;
    switch (m->kind) {
    case EG_MEMORY_WINDOW:
        return m->seen % m->size;
    case EG_MEMORY_RANDOM:
        return (int64_t)eg_rng_below(rng, (uint64_t)m->size);
    default: {
        int64_t r = (int64_t)eg_rng_below(rng, (uint64_t)m->seen + 1);
        return r < m->size ? r : -1;
    }
    }
}

/* Copies row `from` of one set to row `to` of another; labels and logits where wanted. */
static void memory_copy(const eg_memory *m, const eg_memory_rows *a, int64_t from,
                        const eg_memory_rows *b, int64_t to)
{
    memcpy(b->x + (size_t)to * m->sample, a->x + (size_t)from * m->sample,
           m->sample * sizeof *b->x);
    if (b->labels)
        b->labels[to] = a->labels[from];
    if (a->logits && b->logits)
        memcpy(b->logits + (size_t)to * m->n_logits, a->logits + (size_t)from * m->n_logits,
               m->n_logits * sizeof *b->logits);
}

void eg_memory_push(eg_memory *m, const eg_memory_rows *rows, eg_rng *rng)
{
    eg_memory_rows own = eg_memory_get(m);
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t slot = memory_slot(m, rng);
        m->seen++;
        if (slot < 0)
            continue;
        m->filled += slot == m->filled;
        memory_copy(m, rows, i, &own, slot);
    }
}

int64_t eg_memory_filled(const eg_memory *m)
{
    return m->filled;
}

int64_t eg_memory_draw(const eg_memory *m, eg_rng *rng, const eg_memory_rows *to)
{
    eg_memory_rows own = eg_memory_get(m);
    int64_t n = to->n < m->filled ? to->n : m->filled;
    for (int64_t i = 0; i < m->filled; i++)
        m->order[i] = i;
    for (int64_t i = 0; i < n; i++) { /* the first n places of a shuffle */
        int64_t j = i + (int64_t)eg_rng_below(rng, (uint64_t)(m->filled - i));
        int64_t row = m->order[j];
        m->order[j] = m->order[i];
        memory_copy(m, &own, row, to, i);
    }
    return n;
}

eg_memory_rows eg_memory_get(const eg_memory *m)
{
    return (eg_memory_rows){m->filled, m->seen, m->sample, m->x, m->labels, m->logits};
}

eg_status eg_memory_set(eg_memory *m, const eg_memory_rows *rows)
{
    if (rows->n > m->size || rows->seen < rows->n || (rows->n && rows->sample != m->sample) ||
        (rows->n && m->n_logits && !rows->logits))
        return eg_fail(EG_ESHAPE, "%lld rows of %zu values do not fit a memory of %lld by %zu",
                       (long long)rows->n, rows->sample, (long long)m->size, m->sample);
    m->filled = rows->n;
    m->seen = rows->seen;
    if (rows->n) {
        memcpy(m->x, rows->x, (size_t)rows->n * m->sample * sizeof *m->x);
        memcpy(m->labels, rows->labels, (size_t)rows->n * sizeof *m->labels);
        if (m->n_logits)
            memcpy(m->logits, rows->logits, (size_t)rows->n * m->n_logits * sizeof *m->logits);
    }
    return EG_OK;
}
