/* mean.c - weighted means of vectors, and means of bundles entry by entry.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/mean.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_mean_init(eg_weighted_mean *m, size_t n)
{
    *m = (eg_weighted_mean){.n = n};
    return eg_alloc(n, sizeof *m->sum, &m->sum);
}

void eg_mean_fini(eg_weighted_mean *m)
{
    free(m->sum);
    *m = (eg_weighted_mean){0};
}

void eg_mean_reset(eg_weighted_mean *m)
{
    if (m->n > 0)
        memset(m->sum, 0, m->n * sizeof *m->sum);
    m->weight = 0;
}

eg_status eg_mean_add(eg_weighted_mean *m, const float *values, double weight)
{
    if (!(weight >= 0) || !isfinite(weight))
        return eg_fail(EG_EINVAL, "a weight of %g", weight);
    m->weight += weight;
    for (size_t i = 0; i < m->n; i++)
        m->sum[i] += weight * (double)values[i];
    return EG_OK;
}

eg_status eg_mean_get(const eg_weighted_mean *m, float *out)
{
    if (!(m->weight > 0))
        return eg_fail(EG_EINVAL, "the mean of nothing: all weights are 0");
    for (size_t i = 0; i < m->n; i++)
        out[i] = (float)(m->sum[i] / m->weight);
    return EG_OK;
}

enum { BUNDLE_MEAN_BITS = 64 };

struct eg_bundle_mean_entry {
    char *name;
    bool is_scalar;
    eg_shape shape;
    eg_weighted_mean tensor; /* of a tensor */
    double sum, weight;      /* of a scalar */
    double small;            /* the sum of 2^-BUNDLE_MEAN_BITS of each */
};

void eg_bundle_mean_fini(eg_bundle_mean *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->entries[i].name);
        eg_mean_fini(&m->entries[i].tensor);
    }
    free(m->entries);
    *m = (eg_bundle_mean){0};
}

static eg_bundle_mean_entry *bundle_mean_find(const eg_bundle_mean *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->entries[i].name, name) == 0)
            return &m->entries[i];
    return NULL;
}

static eg_status bundle_mean_check(const eg_bundle_mean *m, const eg_bundle *b)
{
    eg_bundle_entry e;
    for (size_t i = 0; i < eg_bundle_n(b); i++) {
        eg_bundle_at(b, i, &e);
        if (!e.is_scalar && !e.values)
            return eg_fail(EG_ESHAPE, "'%s' is not of floats", e.name);
        const eg_bundle_mean_entry *there = bundle_mean_find(m, e.name);
        if (there && (there->is_scalar != e.is_scalar ||
                      (!e.is_scalar && !eg_shape_equal(there->shape, e.shape))))
            return eg_fail(EG_ESHAPE, "'%s' has another shape than before", e.name);
    }
    return EG_OK;
}

static eg_status bundle_mean_new(eg_bundle_mean *m, const eg_bundle_entry *e)
{
    EG_TRY(eg_grow(&m->entries, m->n, &m->cap, sizeof *m->entries));
    eg_bundle_mean_entry *made = &m->entries[m->n];
    *made = (eg_bundle_mean_entry){
        .name = strdup(e->name), .is_scalar = e->is_scalar, .shape = e->shape};
    if (!made->name)
        return eg_fail(EG_ENOMEM, "no memory for the name '%s'", e->name);
    m->n++;
    return e->is_scalar ? EG_OK : eg_mean_init(&made->tensor, e->n);
}

static void bundle_mean_add_scalar(eg_bundle_mean_entry *into, double scalar)
{
    into->sum += scalar;
    into->small += ldexp(scalar, -BUNDLE_MEAN_BITS);
    into->weight++;
}

/* The mean of finite numbers is finite even where their sum is more than a double holds. */
static double bundle_mean_scalar(const eg_bundle_mean_entry *e)
{
    if (!isinf(e->sum) || isinf(e->small))
        return e->sum / e->weight;
    double mean = ldexp(e->small / e->weight, BUNDLE_MEAN_BITS);
    return isinf(mean) ? copysign(DBL_MAX, mean) : mean; /* rounded up beyond all of them */
}

eg_status eg_bundle_mean_add(eg_bundle_mean *m, const eg_bundle *b)
{
    eg_bundle_entry e;
    EG_TRY(bundle_mean_check(m, b));
    for (size_t i = 0; i < eg_bundle_n(b); i++) {
        eg_bundle_at(b, i, &e);
        if (!bundle_mean_find(m, e.name))
            EG_TRY(bundle_mean_new(m, &e));
        eg_bundle_mean_entry *into = bundle_mean_find(m, e.name);
        if (e.is_scalar)
            bundle_mean_add_scalar(into, e.scalar);
        else
            EG_TRY(eg_mean_add(&into->tensor, e.values, 1));
    }
    return EG_OK;
}

eg_status eg_bundle_mean_get(const eg_bundle_mean *m, eg_bundle *to)
{
    for (size_t i = 0; i < m->n; i++) {
        const eg_bundle_mean_entry *e = &m->entries[i];
        float *values;
        if (e->is_scalar) {
            EG_TRY(eg_bundle_scalar(to, e->name, bundle_mean_scalar(e)));
            continue;
        }
        EG_TRY(eg_bundle_room(to, e->name, e->shape, &values));
        EG_TRY(eg_mean_get(&e->tensor, values));
    }
    return EG_OK;
}
