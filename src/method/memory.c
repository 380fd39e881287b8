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
    eg_memory_row row;
    float *x;       /* [size, row.sample] */
    float *labels;  /* [size, row.target] */
    float *logits;  /* [size, row.logits] */
    int64_t *order; /* [size], for draws */
};

eg_status eg_memory_new(eg_memory_kind kind, int64_t size, eg_memory_row row, eg_memory **out)
{
    *out = NULL;
    eg_memory *m = calloc(1, sizeof *m);
    if (!m)
        return eg_fail(EG_ENOMEM, "no memory for a client's memory");
    m->kind = kind, m->size = size, m->row = row;
    eg_status s = eg_alloc((size_t)size, row.sample * sizeof(float), &m->x);
    if (s == EG_OK)
        s = eg_alloc((size_t)size, row.target * sizeof(float), &m->labels);
    if (s == EG_OK)
        s = eg_alloc((size_t)size, sizeof(int64_t), &m->order);
    if (s == EG_OK && row.logits)
        s = eg_alloc((size_t)size, row.logits * sizeof(float), &m->logits);
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

/* Row `from` of n floats becomes row `to`. */
static void memory_put(float *b, int64_t to, const float *a, int64_t from, size_t n)
{
    memcpy(b + (size_t)to * n, a + (size_t)from * n, n * sizeof *b);
}

/* Copies row `from` of one set to row `to` of another; labels and logits where wanted. */
static void memory_copy(const eg_memory *m, const eg_memory_rows *a, int64_t from,
                        const eg_memory_rows *b, int64_t to)
{
    memory_put(b->x, to, a->x, from, m->row.sample);
    if (b->labels)
        memory_put(b->labels, to, a->labels, from, m->row.target);
    if (a->logits && b->logits)
        memory_put(b->logits, to, a->logits, from, m->row.logits);
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

int64_t eg_memory_size(const eg_memory *m)
{
    return m->size;
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
    return (eg_memory_rows){m->filled, m->seen, m->row.sample, m->x, m->labels, m->logits};
}

eg_status eg_memory_set(eg_memory *m, const eg_memory_rows *rows)
{
    if (rows->n > m->size || rows->seen < rows->n ||
        (rows->n && rows->sample != m->row.sample) ||
        (rows->n && m->row.logits && !rows->logits))
        return eg_fail(EG_ESHAPE, "%lld rows of %zu values do not fit a memory of %lld by %zu",
                       (long long)rows->n, rows->sample, (long long)m->size, m->row.sample);
    m->filled = rows->n;
    m->seen = rows->seen;
    const eg_memory_rows own = eg_memory_get(m);
    for (int64_t i = 0; i < rows->n; i++)
        memory_copy(m, rows, i, &own, i);
    return EG_OK;
}

/* The free row that has the least |(sum + f) / k - mean|^2 = |f + (sum - k mean)|^2 / k^2. gap
 * [d] is sum - k mean. */
static int64_t memory_closest(const float *features, int64_t n, int64_t d, const double *gap,
                              const bool *taken)
{
    int64_t best = -1;
    double least = 0;
    for (int64_t i = 0; i < n; i++) {
        double apart = 0;
        for (int64_t k = 0; k < d && !taken[i]; k++) {
            double x = (double)features[i * d + k] + gap[k];
            apart += x * x;
        }
        if (!taken[i] && (best < 0 || apart < least))
            best = i, least = apart;
    }
    return best;
}

eg_status eg_herd(const float *features, int64_t n, int64_t d, int64_t m, int64_t *picked)
{
    double *mean; /* [2, d]: the mean of all; what is picked so far, minus as many means */
    bool *taken;  /* [n] */
    EG_ASSERT(m <= n);
    EG_TRY(eg_alloc(2 * (size_t)d + 1, sizeof *mean, &mean));
    eg_status s = eg_alloc((size_t)n + 1, sizeof *taken, &taken);
    double *gap = mean + d;
    for (int64_t i = 0; i < n * d && s == EG_OK; i++)
        mean[i % d] += (double)features[i] / (double)n;
    for (int64_t i = 0; i < m && s == EG_OK; i++) {
        for (int64_t k = 0; k < d; k++)
            gap[k] -= mean[k];
        picked[i] = memory_closest(features, n, d, gap, taken);
        taken[picked[i]] = true;
        for (int64_t k = 0; k < d; k++)
            gap[k] += (double)features[picked[i] * d + k];
    }
    free(mean);
    if (s == EG_OK)
        free(taken);
    return s;
}

/* The rows from `at` on that have the label of the first. */
static int64_t memory_run(const float *labels, int64_t at, int64_t n)
{
    int64_t end = at + 1;
    while (end < n && (int64_t)labels[end] == (int64_t)labels[at])
        end++;
    return end - at;
}

/* Numbers of the rows by label, and within one as they come: a sort by counting. order [n]; the
 * number of labels that are there. */
static int64_t memory_sort(const eg_memory_rows *rows, int64_t *order)
{
    int64_t n = 0, groups = 0, most = 0;
    for (int64_t i = 0; i < rows->n; i++)
        most = (int64_t)rows->labels[i] > most ? (int64_t)rows->labels[i] : most;
    for (int64_t y = 0; y <= most && n < rows->n; y++) {
        int64_t before = n;
        for (int64_t i = 0; i < rows->n; i++)
            if ((int64_t)rows->labels[i] == y)
                order[n++] = i;
        groups += n > before;
    }
    return groups;
}

/* Rows to be herded, with scratch for a group of them. */
typedef struct memory_herding {
    const eg_memory_rows *rows;
    const float *features; /* [n, d] */
    int64_t d;
    float *room;     /* [n, d] */
    int64_t *picked; /* [n] */
} memory_herding;

/* A new group: of the n rows that order tells, at most quota, put behind those of m. */
static eg_status memory_herd_group(eg_memory *m, const memory_herding *h, const int64_t *order,
                                   int64_t n, int64_t quota)
{
    const eg_memory_rows own = eg_memory_get(m);
    int64_t keep = n < quota ? n : quota;
    for (int64_t i = 0; i < n; i++)
        memcpy(h->room + i * h->d, h->features + order[i] * h->d,
               (size_t)h->d * sizeof *h->room);
    EG_TRY(eg_herd(h->room, n, h->d, keep, h->picked));
    for (int64_t i = 0; i < keep; i++)
        memory_copy(m, h->rows, order[h->picked[i]], &own, m->filled++);
    return EG_OK;
}

/* The groups there are keep their first rows. */
static void memory_shorten(eg_memory *m, int64_t quota)
{
    const eg_memory_rows own = eg_memory_get(m);
    m->filled = 0;
    for (int64_t at = 0, n; at < own.n; at += n) {
        n = memory_run(m->labels, at, own.n);
        for (int64_t i = 0; i < n && i < quota; i++, m->filled++)
            if (m->filled != at + i)
                memory_copy(m, &own, at + i, &own, m->filled);
    }
}

eg_status eg_memory_herd(eg_memory *m, const eg_memory_rows *rows, const float *features,
                         int64_t d)
{
    int64_t *order;     /* [2, n]: rows by label, and scratch */
    float *room = NULL; /* [n, d] */
    EG_TRY(eg_alloc(2 * (size_t)rows->n + 1, sizeof *order, &order));
    eg_status s = eg_alloc((size_t)rows->n + 1, (size_t)d * sizeof *room, &room);
    const memory_herding h = {rows, features, d, room, order + rows->n};
    int64_t groups = memory_sort(rows, order);
    for (int64_t at = 0; at < m->filled; at += memory_run(m->labels, at, m->filled))
        groups++;
    int64_t quota = groups ? m->size / groups : 0;
    memory_shorten(m, quota);
    for (int64_t at = 0, n; at < rows->n && s == EG_OK; at += n) {
        float y = rows->labels[order[at]];
        for (n = 1; at + n < rows->n && rows->labels[order[at + n]] <= y; n++)
            ;
        s = memory_herd_group(m, &h, order + at, n, quota);
    }
    m->seen += rows->n;
    free(order);
    free(room);
    return s;
}
