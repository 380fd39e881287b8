/* hidden.c - a client's answer as one vector of whole numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/hidden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_PIECE = 1024 };                       /* values at a time */
enum { HIDDEN_WEIGHT, HIDDEN_LOSS, HIDDEN_COUNTS }; /* where counts of entries begin */
#define HIDDEN_MOST_LOSS 64.0

static eg_fixed hidden_loss_of(const eg_hidden *h)
{
    return eg_fixed_of(HIDDEN_MOST_LOSS, h->is.n_summands);
}

/* Whether a vector was short enough: a half more or less than nothing. */
static eg_fixed hidden_bit_of(const eg_hidden *h)
{
    return eg_fixed_of(1, h->is.n_summands);
}

size_t eg_hidden_first_value(const eg_hidden *h)
{
    if (h->is.is_private)
        return h->is.adapts ? 1 : 0;
    return HIDDEN_COUNTS + 2 * h->n_entries; /* who has it; how much of it was clipped */
}

static void hidden_add(eg_hidden *h, const char *name, eg_shape shape, size_t n, double range)
{
    double most = h->is.is_private ? h->is.clip : range;
    h->entries[h->n_entries++] =
        (eg_hidden_entry){name, shape, h->length, n, eg_fixed_of(most, h->is.n_summands)};
    h->length += n;
}

eg_status eg_hidden_init(eg_hidden *h, const eg_hidden_spec *spec)
{
    size_t n_sums = eg_bundle_n(spec->sums);
    *h = (eg_hidden){.is = *spec};
    if (spec->most_weight > eg_fixed_of(1, spec->n_summands).most)
        return eg_fail(EG_EINVAL,
                       "weights up to %.0f of %zu clients cannot be summed: set "
                       "secure.samples lower",
                       spec->most_weight, spec->n_summands);
    EG_TRY(eg_alloc(2 + n_sums, sizeof *h->entries, &h->entries));
    if (spec->n_params)
        hidden_add(h, "param", eg_dims((int64_t)spec->n_params), spec->n_params, spec->range);
    if (spec->n_state)
        hidden_add(h, "state", eg_dims((int64_t)spec->n_state), spec->n_state,
                   spec->statistics);
    h->n_model = h->n_entries;
    for (size_t i = 0; i < n_sums; i++) {
        eg_bundle_entry e;
        eg_bundle_at(spec->sums, i, &e);
        EG_ASSERT(!e.is_scalar && e.values);
        hidden_add(h, e.name, e.shape, e.n, e.n && e.values[0] > 0 ? e.values[0] : spec->range);
    }
    size_t first = eg_hidden_first_value(h);
    for (size_t i = 0; i < h->n_entries; i++)
        h->entries[i].at += first;
    h->length += first;
    return EG_OK;
}

void eg_hidden_fini(eg_hidden *h)
{
    free(h->entries);
    *h = (eg_hidden){0};
}

/* The values of an entry as they are told, from `at` on, times `scale`. */
static void hidden_values(const eg_hidden_of *of, const eg_hidden_entry *e, size_t at, size_t n,
                          double scale, double *out)
{
    const float *x = eg_bundle_find(of->up, e->name, NULL);
    const float *from = NULL;
    if (strcmp(e->name, "param") == 0)
        from = of->global;
    else if (strcmp(e->name, "state") == 0)
        from = of->global_state;
    for (size_t i = 0; i < n; i++)
        out[i] = scale * ((double)x[at + i] - (from ? (double)from[at + i] : 0));
}

/* Every tensor is declared, with its length; of the model all are there. */
static eg_status hidden_check(const eg_hidden *h, const eg_bundle *up)
{
    size_t known = 0, n;
    for (size_t i = 0; i < h->n_entries; i++) {
        const eg_hidden_entry *e = &h->entries[i];
        const float *x = eg_bundle_find(up, e->name, &n);
        known += x != NULL;
        if (x ? n != e->n : i < h->n_model)
            return eg_fail(EG_ESHAPE, "'%s' has %zu values, not %zu", e->name, n, e->n);
    }
    for (size_t i = 0; i < eg_bundle_n(up); i++) {
        eg_bundle_entry e;
        eg_bundle_at(up, i, &e);
        bool model = strcmp(e.name, "param") == 0 || strcmp(e.name, "state") == 0;
        bool count = strcmp(e.name, "samples") == 0 || strcmp(e.name, "loss") == 0;
        bool found = model || count;
        for (size_t k = h->n_model; k < h->n_entries && !found; k++)
            found = strcmp(h->entries[k].name, e.name) == 0;
        if (!found)
            return eg_fail(EG_EINVAL, "'%s' was not declared, so no sum can hold it", e.name);
    }
    return EG_OK;
}

static double hidden_length(const eg_hidden *h, const eg_hidden_of *of)
{
    double piece[HIDDEN_PIECE], squared = 0;
    for (size_t k = 0; k < h->n_entries; k++) {
        const eg_hidden_entry *e = &h->entries[k];
        for (size_t at = 0; at < e->n && eg_bundle_find(of->up, e->name, NULL);
             at += HIDDEN_PIECE) {
            size_t n = e->n - at < HIDDEN_PIECE ? e->n - at : HIDDEN_PIECE;
            hidden_values(of, e, at, n, 1, piece);
            for (size_t i = 0; i < n; i++)
                squared += piece[i] * piece[i];
        }
    }
    return sqrt(squared);
}

/* Rounding moves each value by half a step at most: so much the length is kept below. */
static double hidden_scale(const eg_hidden *h, const eg_hidden_of *of, double length)
{
    if (!h->is.is_private)
        return of->weight / h->is.most_weight;
    double step = eg_fixed_of(h->is.clip, h->is.n_summands).step;
    double most = h->is.clip - step / 2 * sqrt((double)h->length);
    return length > most ? fmax(most, 0) / length : 1;
}

static eg_status hidden_put_entry(const eg_hidden *h, const eg_hidden_of *of, size_t k,
                                  double scale, uint32_t *y)
{
    const eg_hidden_entry *e = &h->entries[k];
    double piece[HIDDEN_PIECE];
    uint64_t clipped = 0;
    for (size_t at = 0; at < e->n; at += HIDDEN_PIECE) {
        size_t n = e->n - at < HIDDEN_PIECE ? e->n - at : HIDDEN_PIECE;
        hidden_values(of, e, at, n, scale, piece);
        EG_TRY(eg_blame(eg_fixed_put(e->fixed, piece, n, y + e->at + at, &clipped), "'%s'",
                        e->name));
    }
    if (!h->is.is_private) {
        y[HIDDEN_COUNTS + k] = 1;
        uint64_t most = (uint64_t)e->fixed.most;
        y[HIDDEN_COUNTS + h->n_entries + k] = (uint32_t)(clipped < most ? clipped : most);
    }
    return EG_OK;
}

eg_status eg_hidden_put(const eg_hidden *h, const eg_hidden_of *of, uint32_t *y)
{
    uint64_t none = 0;
    memset(y, 0, h->length * sizeof *y);
    EG_TRY(hidden_check(h, of->up));
    double length = h->is.is_private ? hidden_length(h, of) : 0;
    if (!isfinite(length))
        return eg_fail(EG_EINVAL, "a value is not finite");
    double scale = hidden_scale(h, of, length);
    if (h->is.is_private && h->is.adapts) {
        double bit = length <= h->is.clip ? 0.5 : -0.5;
        EG_TRY(eg_fixed_put(hidden_bit_of(h), &bit, 1, y, &none));
    }
    if (!h->is.is_private) {
        double loss = of->loss * scale;
        y[HIDDEN_WEIGHT] = (uint32_t)of->weight;
        EG_TRY(eg_blame(eg_fixed_put(hidden_loss_of(h), &loss, 1, y + HIDDEN_LOSS, &none),
                        "the loss"));
    }
    for (size_t k = 0; k < h->n_entries; k++)
        if (eg_bundle_find(of->up, h->entries[k].name, NULL)) {
            double by = h->is.is_private || k < h->n_model ? scale : 1;
            EG_TRY(hidden_put_entry(h, of, k, by, y));
        }
    return EG_OK;
}

void eg_hidden_take(const eg_hidden *h, const uint32_t *sum, double *x)
{
    for (size_t i = 0; i < eg_hidden_first_value(h); i++)
        x[i] = (double)(int32_t)sum[i];
    if (h->is.adapts)
        x[0] = eg_fixed_get(hidden_bit_of(h), sum[0]);
    else if (!h->is.is_private)
        x[HIDDEN_LOSS] = eg_fixed_get(hidden_loss_of(h), sum[HIDDEN_LOSS]);
    for (size_t k = 0; k < h->n_entries; k++) {
        const eg_hidden_entry *e = &h->entries[k];
        for (size_t i = 0; i < e->n; i++)
            x[e->at + i] = eg_fixed_get(e->fixed, sum[e->at + i]);
    }
}

double eg_hidden_weight(const eg_hidden *h, const double *x)
{
    return h->is.is_private ? 0 : x[HIDDEN_WEIGHT];
}

double eg_hidden_loss(const eg_hidden *h, const double *x)
{
    double weight = eg_hidden_weight(h, x);
    return weight > 0 ? x[HIDDEN_LOSS] * h->is.most_weight / weight : NAN;
}

double eg_hidden_clipped(const eg_hidden *h, const double *x)
{
    double n = 0;
    for (size_t k = 0; k < h->n_entries && !h->is.is_private; k++)
        n += x[HIDDEN_COUNTS + h->n_entries + k];
    return n;
}

bool eg_hidden_mean(const eg_hidden *h, const double *x, double by, float *param, float *state)
{
    double over = by > 0 ? by : eg_hidden_weight(h, x) / h->is.most_weight;
    if (!(over > 0))
        return false;
    for (size_t k = 0; k < h->n_model; k++) {
        const eg_hidden_entry *e = &h->entries[k];
        float *to = strcmp(e->name, "param") == 0 ? param : state;
        for (size_t i = 0; i < e->n; i++)
            to[i] = (float)((double)to[i] + x[e->at + i] / over);
    }
    return true;
}

eg_status eg_hidden_parts(const eg_hidden *h, const double *x, double by, eg_bundle *to)
{
    for (size_t k = h->n_model; k < h->n_entries; k++) {
        const eg_hidden_entry *e = &h->entries[k];
        double over = by > 0 ? by : x[HIDDEN_COUNTS + k];
        float *values;
        if (!(over > 0))
            continue;
        EG_TRY(eg_bundle_room(to, e->name, e->shape, &values));
        for (size_t i = 0; i < e->n; i++)
            values[i] = (float)(x[e->at + i] / over);
    }
    return EG_OK;
}

bool eg_hidden_is_short(const eg_hidden *h, const uint32_t *y)
{
    double squared = 0;
    for (size_t k = 0; k < h->n_entries; k++) {
        const eg_hidden_entry *e = &h->entries[k];
        for (size_t i = 0; i < e->n; i++) {
            double value = eg_fixed_get(e->fixed, y[e->at + i]);
            squared += value * value;
        }
    }
    return sqrt(squared) <= h->is.clip;
}
