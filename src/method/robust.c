/* robust.c - median, trimmed and clipped means of vectors that wait in a file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/robust.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Floats of all vectors together that are read at once, and the fewest of one vector. */
enum { ROBUST_BLOCK = 1 << 20, ROBUST_LEAST = 64 };

/* One vector: both weights, the one that counts, and what norm-clip makes of it. */
typedef struct robust_vector {
    double weight, spare;
    double counts;
    double length, scale; /* of its change */
} robust_vector;

/* A value with its weight, to be sorted. */
typedef struct robust_value {
    double value, weight;
    size_t from;
} robust_value;

struct eg_robust {
    eg_robust_opts opts;
    size_t n; /* values of a vector */
    char *path;
    int fd;
    size_t n_vectors, cap;
    robust_vector *vectors;
    double total;         /* of the weights that count */
    float *block;         /* [n_vectors, step] */
    robust_value *sorted; /* [n_vectors] */
};

static eg_status robust_open(eg_robust *r, const char *folder)
{
    size_t n = strlen(folder) + sizeof "/uploads.XXXXXX";
    if (!(r->path = malloc(n)))
        return eg_fail(EG_ENOMEM, "no memory for a path");
    snprintf(r->path, n, "%s/uploads.XXXXXX", folder);
    r->fd = mkstemp(r->path);
    if (r->fd < 0)
        return eg_file_fail(r->path, "cannot be made");
    unlink(r->path); /* it goes with this process */
    return fcntl(r->fd, F_SETFD, FD_CLOEXEC) == 0 ? EG_OK
                                                  : eg_file_fail(r->path, "cannot be kept");
}

eg_status eg_robust_new(const eg_robust_opts *opts, size_t n, const char *folder,
                        eg_robust **out)
{
    eg_robust *r;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *r, &r));
    r->opts = *opts, r->n = n, r->fd = -1;
    eg_status s = robust_open(r, folder);
    if (s == EG_OK)
        *out = r;
    else
        eg_robust_free(r);
    return s;
}

void eg_robust_free(eg_robust *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r->vectors);
    free(r->block);
    free(r->sorted);
    free(r);
}

void eg_robust_reset(eg_robust *r)
{
    r->n_vectors = 0;
}

eg_status eg_robust_add(eg_robust *r, const float *values, double weight, double spare)
{
    if (!(weight >= 0) || !isfinite(weight) || !(spare >= 0) || !isfinite(spare))
        return eg_fail(EG_EINVAL, "a weight of %g", weight >= 0 ? spare : weight);
    EG_TRY(eg_grow(&r->vectors, r->n_vectors, &r->cap, sizeof *r->vectors));
    off_t at = (off_t)(r->n_vectors * r->n * sizeof *values);
    if (lseek(r->fd, at, SEEK_SET) != at)
        return eg_file_fail(r->path, "cannot be written");
    EG_TRY(eg_file_put(r->fd, r->path, (eg_bytes){values, r->n * sizeof *values}));
    r->vectors[r->n_vectors++] = (robust_vector){.weight = weight, .spare = spare};
    return EG_OK;
}

/* Which weights count: the spare ones, if the others are all 0. */
static eg_status robust_weigh(eg_robust *r)
{
    double sums[2] = {0};
    for (size_t k = 0; k < r->n_vectors; k++) {
        sums[0] += r->vectors[k].weight;
        sums[1] += r->vectors[k].spare;
    }
    bool spare = !(sums[0] > 0);
    r->total = sums[spare];
    for (size_t k = 0; k < r->n_vectors; k++)
        r->vectors[k].counts = spare ? r->vectors[k].spare : r->vectors[k].weight;
    return r->total > 0 ? EG_OK : eg_fail(EG_EINVAL, "the mean of nothing: all weights are 0");
}

/* How many values of each vector are read at once. */
static size_t robust_step(const eg_robust *r)
{
    size_t step = ROBUST_BLOCK / r->n_vectors;
    step = step < ROBUST_LEAST ? ROBUST_LEAST : step;
    return step < r->n ? step : r->n;
}

/* Reads values [first, first + m) of every vector into the block, [n_vectors, m]. */
static eg_status robust_read(eg_robust *r, size_t first, size_t m)
{
    for (size_t k = 0; k < r->n_vectors; k++) {
        char *to = (char *)(r->block + k * m);
        size_t left = m * sizeof *r->block;
        off_t at = (off_t)((k * r->n + first) * sizeof *r->block);
        while (left > 0) {
            ssize_t got = pread(r->fd, to, left, at);
            if (got < 0 && errno == EINTR)
                continue;
            if (got == 0)
                errno = EIO; /* nobody else knows the file: it cannot have become shorter */
            if (got <= 0)
                return eg_file_fail(r->path, "cannot be read");
            to += got, at += got, left -= (size_t)got;
        }
    }
    return EG_OK;
}

static int robust_order(const void *a, const void *b)
{
    const robust_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Of n sorted values whose weights make total. */
static double robust_median(const robust_value *v, size_t n, double total)
{
    double sum = 0;
    size_t i = 0;
    for (; i + 1 < n && (sum += v[i].weight) < total / 2;)
        i++;
    if (i + 1 == n || sum > total / 2)
        return v[i].value;
    size_t next = i + 1;
    while (next + 1 < n && v[next].weight == 0)
        next++;
    return (v[i].value + v[next].value) / 2;
}

/* Each value stands for a stretch of the weight; what lies outside [low, high] is cut off. */
static double robust_trimmed(const robust_value *v, size_t n, double total, double trim)
{
    double low = trim * total, high = total - low, begin = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double end = begin + v[i].weight;
        double kept = fmin(end, high) - fmax(begin, low);
        if (kept > 0)
            sum += kept * v[i].value;
        begin = end;
    }
    return sum / (high - low);
}

/* The value of place i, of m in the block, by the order of the vectors' values there. */
static double robust_by_order(eg_robust *r, size_t i, size_t m)
{
    for (size_t k = 0; k < r->n_vectors; k++)
        r->sorted[k] = (robust_value){(double)r->block[k * m + i], r->vectors[k].counts, k};
    qsort(r->sorted, r->n_vectors, sizeof *r->sorted, robust_order);
    return r->opts.rule == EG_MEAN_MEDIAN
               ? robust_median(r->sorted, r->n_vectors, r->total)
               : robust_trimmed(r->sorted, r->n_vectors, r->total, r->opts.trim);
}

/* The mean of the changes at place i, scaled as robust_measure found. */
static double robust_by_scale(const eg_robust *r, size_t i, size_t m, double before)
{
    double sum = 0;
    for (size_t k = 0; k < r->n_vectors; k++) {
        const robust_vector *v = &r->vectors[k];
        sum += v->counts * v->scale * ((double)r->block[k * m + i] - before);
    }
    return before + sum / r->total;
}

/* How long each vector's change is, and what it is multiplied by to be no longer than allowed.
 */
static eg_status robust_measure(eg_robust *r, size_t step, const float *before)
{
    for (size_t k = 0; k < r->n_vectors; k++)
        r->vectors[k].length = 0;
    for (size_t first = 0; first < r->n; first += step) {
        size_t m = r->n - first < step ? r->n - first : step;
        EG_TRY(robust_read(r, first, m));
        for (size_t k = 0; k < r->n_vectors; k++)
            for (size_t i = 0; i < m; i++) {
                double d = (double)r->block[k * m + i] - (double)before[first + i];
                r->vectors[k].length += d * d;
            }
    }
    for (size_t k = 0; k < r->n_vectors; k++) {
        r->vectors[k].length = sqrt(r->vectors[k].length);
        r->sorted[k] = (robust_value){r->vectors[k].length, r->vectors[k].counts, k};
    }
    qsort(r->sorted, r->n_vectors, sizeof *r->sorted, robust_order);
    double most =
        r->opts.clip > 0 ? r->opts.clip : robust_median(r->sorted, r->n_vectors, r->total);
    for (size_t k = 0; k < r->n_vectors; k++) {
        robust_vector *v = &r->vectors[k];
        v->scale = v->length > most ? most / v->length : 1;
    }
    return EG_OK;
}

static eg_status robust_compute(eg_robust *r, size_t step, const float *before, float *out)
{
    bool clips = r->opts.rule == EG_MEAN_NORM_CLIP;
    if (clips)
        EG_TRY(robust_measure(r, step, before));
    for (size_t first = 0; first < r->n; first += step) {
        size_t m = r->n - first < step ? r->n - first : step;
        EG_TRY(robust_read(r, first, m));
        for (size_t i = 0; i < m; i++)
            out[first + i] = (float)(clips ? robust_by_scale(r, i, m, (double)before[first + i])
                                           : robust_by_order(r, i, m));
    }
    return EG_OK;
}

eg_status eg_robust_get(eg_robust *r, const float *before, float *out)
{
    EG_TRY(robust_weigh(r));
    size_t step = robust_step(r);
    eg_status s = eg_alloc(r->n_vectors * step, sizeof *r->block, &r->block);
    if (s == EG_OK)
        s = eg_alloc(r->n_vectors, sizeof *r->sorted, &r->sorted);
    if (s == EG_OK)
        s = robust_compute(r, step, before, out);
    free(r->block);
    free(r->sorted);
    r->block = NULL;
    r->sorted = NULL;
    return s;
}
