/* ridge.c - sums of rows, packed, judged and added; the solution.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/ridge.h"

#include "base/base.h"
#include "io/lapack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RIDGE_PARTS = 3 }; /* floats whose sum is any double */

typedef struct ridge_name {
    char text[64];
} ridge_name;

/* "afcl.gram.0" */
static ridge_name ridge_part(const char *prefix, const char *what, int part)
{
    ridge_name name;
    snprintf(name.text, sizeof name.text, "%s.%s.%d", prefix, what, part);
    return name;
}

static ridge_name ridge_counts(const char *prefix)
{
    ridge_name name;
    snprintf(name.text, sizeof name.text, "%s.counts", prefix);
    return name;
}

static int64_t ridge_half(int64_t d)
{
    return d * (d + 1) / 2;
}

eg_status eg_ridge_init(eg_ridge *r, int64_t d, int64_t k)
{
    *r = (eg_ridge){.d = d, .k = k};
    EG_TRY(eg_alloc((size_t)(d * d), sizeof *r->gram, &r->gram));
    EG_TRY(eg_alloc((size_t)(d * k), sizeof *r->cross, &r->cross));
    return eg_alloc((size_t)k, sizeof *r->counts, &r->counts);
}

void eg_ridge_fini(eg_ridge *r)
{
    free(r->gram);
    free(r->cross);
    free(r->counts);
    *r = (eg_ridge){0};
}

eg_status eg_ridge_rows(eg_ridge *r, const float *f, const float *labels, int64_t n)
{
    double *rows; /* [n, d] */
    EG_TRY(eg_alloc((size_t)(n * r->d), sizeof *rows, &rows));
    for (int64_t i = 0; i < n * r->d; i++)
        rows[i] = (double)f[i];
    const eg_gemm how = {r->d, r->d, n, .ta = true, .alpha = 1, .beta = 1};
    eg_status s = eg_matrix_product(&how, rows, rows, r->gram);
    for (int64_t i = 0; i < n && s == EG_OK; i++) {
        int64_t y = (int64_t)labels[i];
        EG_ASSERT(y >= 0 && y < r->k);
        r->counts[y]++;
        for (int64_t j = 0; j < r->d; j++)
            r->cross[j * r->k + y] += rows[i * r->d + j];
    }
    free(rows);
    return s;
}

/* Adds the numbers of a matrix, or of its lower half, as one tensor per part. */
static eg_status ridge_pack(const double *from, int64_t rows, int64_t columns, bool half,
                            const char *prefix, const char *what, int parts, eg_bundle *to)
{
    int64_t n = half ? ridge_half(rows) : rows * columns, at;
    float *out[RIDGE_PARTS];
    for (int p = 0; p < parts; p++)
        EG_TRY(eg_bundle_room(to, ridge_part(prefix, what, p).text, eg_dims(n), &out[p]));
    at = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < (half ? i + 1 : columns); j++, at++) {
            double left = from[i * columns + j];
            for (int p = 0; p < parts; p++) {
                out[p][at] = (float)left;
                left -= (double)out[p][at];
            }
        }
    return EG_OK;
}

eg_status eg_ridge_put(const eg_ridge *r, const char *prefix, bool exactly, eg_bundle *to)
{
    int parts = exactly ? RIDGE_PARTS : 1;
    EG_TRY(eg_bundle_add_flat(to, ridge_counts(prefix).text, r->counts, (size_t)r->k));
    EG_TRY(ridge_pack(r->gram, r->d, r->d, true, prefix, "gram", parts, to));
    return ridge_pack(r->cross, r->d, r->k, false, prefix, "cross", parts, to);
}

/* |sum a b| <= sqrt(sum a a) sqrt(sum b b), but for what single precision rounds off. */
static bool ridge_bears(float entry, float aa, float bb)
{
    return fabs((double)entry) <= sqrt((double)aa) * sqrt((double)bb) * (1 + 1e-4) + 1e-30;
}

eg_status eg_ridge_judge(const eg_ridge *r, const char *prefix, const eg_bundle *from)
{
    const float *gram, *cross, *counts;
    EG_TRY(eg_bundle_need(from, ridge_part(prefix, "gram", 0).text, (size_t)ridge_half(r->d),
                          &gram));
    EG_TRY(eg_bundle_need(from, ridge_part(prefix, "cross", 0).text, (size_t)(r->d * r->k),
                          &cross));
    EG_TRY(
        eg_bundle_need_counts(from, ridge_counts(prefix).text, (size_t)r->k, 1 << 24, &counts));
    for (int64_t i = 0; i < r->d; i++) {
        float own = gram[ridge_half(i) + i];
        bool fits = own >= 0;
        for (int64_t j = 0; j < i && fits; j++)
            fits = ridge_bears(gram[ridge_half(i) + j], own, gram[ridge_half(j) + j]);
        for (int64_t j = 0; j < r->k && fits; j++)
            fits = ridge_bears(cross[i * r->k + j], own, counts[j]);
        if (!fits)
            return eg_fail(EG_EINVAL, "the sums of feature %lld are of no rows there can be",
                           (long long)i);
    }
    return EG_OK;
}

/* Adds what ridge_pack wrote. */
static eg_status ridge_unpack(double *to, int64_t rows, int64_t columns, bool half,
                              const char *prefix, const char *what, int parts,
                              const eg_bundle *from)
{
    int64_t n = half ? ridge_half(rows) : rows * columns, at = 0;
    const float *in[RIDGE_PARTS] = {NULL};
    EG_ASSERT(parts > 0 && parts <= RIDGE_PARTS);
    for (int p = 0; p < parts; p++)
        EG_TRY(eg_bundle_need(from, ridge_part(prefix, what, p).text, (size_t)n, &in[p]));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < (half ? i + 1 : columns); j++, at++) {
            double value = 0;
            for (int p = parts - 1; p >= 0; p--)
                value += (double)in[p][at];
            to[i * columns + j] += value;
            if (half && j < i)
                to[j * columns + i] += value;
        }
    return EG_OK;
}

eg_status eg_ridge_add(eg_ridge *r, const char *prefix, bool exactly, const eg_bundle *from)
{
    int parts = exactly ? RIDGE_PARTS : 1;
    const float *counts;
    EG_TRY(eg_bundle_need(from, ridge_counts(prefix).text, (size_t)r->k, &counts));
    EG_TRY(ridge_unpack(r->gram, r->d, r->d, true, prefix, "gram", parts, from));
    EG_TRY(ridge_unpack(r->cross, r->d, r->k, false, prefix, "cross", parts, from));
    for (int64_t j = 0; j < r->k; j++)
        r->counts[j] += counts[j];
    return EG_OK;
}

eg_status eg_ridge_solve(const eg_ridge *r, double gamma, double *w)
{
    double *a; /* [d, d] */
    EG_TRY(eg_alloc((size_t)(r->d * r->d), sizeof *a, &a));
    memcpy(a, r->gram, (size_t)(r->d * r->d) * sizeof *a);
    for (int64_t i = 0; i < r->d; i++)
        a[i * r->d + i] += gamma;
    memcpy(w, r->cross, (size_t)(r->d * r->k) * sizeof *w);
    eg_status s = eg_matrix_solve(r->d, a, r->k, w);
    free(a);
    return s;
}
