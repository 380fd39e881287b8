/* scale.c - keeps a share of a table's rows and of a scenario's rounds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a scenario counts in samples shrinks with the rows, so that a split that was possible
 * stays so: a stream has as many takes as before, each smaller.
 */
#include "run/experiment/scale.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many of the first i rows of a class stay. The tiny part makes 20 rows of 0.05 one row,
 * although neither number is exact. */
static int64_t scale_rows(int64_t i, double share)
{
    return (int64_t)ceil((double)i * share - 1e-9);
}

static void scale_move(eg_table *t, int64_t from, int64_t to)
{
    size_t n = eg_table_sample(t);
    if (t->u8)
        memmove(t->u8 + (size_t)to * n, t->u8 + (size_t)from * n, n);
    if (t->f32)
        memmove(t->f32 + (size_t)to * n, t->f32 + (size_t)from * n, n * sizeof *t->f32);
    if (t->group)
        t->group[to] = t->group[from];
    t->y[to] = t->y[from];
}

eg_status eg_scale_table(eg_table *t, double share)
{
    if (share >= 1)
        return EG_OK;
    int64_t *met, kept = 0; /* met: [classes], rows so far */
    EG_TRY(eg_alloc((size_t)t->classes, sizeof *met, &met));
    for (int64_t i = 0; i < t->n; i++) {
        int64_t k = met[t->y[i]]++;
        if (scale_rows(k + 1, share) > scale_rows(k, share))
            scale_move(t, i, kept++);
    }
    t->n = kept;
    free(met);
    return EG_OK;
}

typedef struct scale_copy {
    eg_spec *to;
    double share;
    bool by_data; /* the rounds follow from the data */
    eg_status status;
} scale_copy;

static void scale_row(void *to, const char *name, const char *value)
{
    static const char *const counts[] = {"rounds", "take", "samples", "test", "partition.min"};
    scale_copy *c = to;
    char scaled[64];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(name, counts[i]) == 0) {
            double n = strtod(value, NULL), less = floor(n * c->share + 1e-9);
            c->by_data |= i == 0 && n == 0;
            /* 0 has a meaning of its own. */
            snprintf(scaled, sizeof scaled, "%.0f", n == 0 ? 0 : fmax(less, 1));
            value = scaled;
        }
    if (c->status == EG_OK)
        c->status = eg_spec_set(c->to, name, value);
}

/* Rounds that follow from the data are known once the scenario is there. */
static eg_status scale_rounds(const scale_copy *c, const eg_labels *sources, size_t n_sources)
{
    eg_scenario *s;
    char rounds[64];
    EG_TRY(eg_scenario_new(c->to, 0, sources, n_sources, &s));
    double less = floor((double)eg_scenario_n_rounds(s) * c->share + 1e-9);
    snprintf(rounds, sizeof rounds, "%.0f", fmax(less, 1));
    eg_scenario_free(s);
    return eg_spec_set(c->to, "rounds", rounds);
}

eg_status eg_scale_spec(const eg_spec *spec, double share, const eg_labels *sources,
                        size_t n_sources, eg_spec **out)
{
    scale_copy c = {.share = share};
    *out = NULL;
    EG_TRY(eg_spec_new(&c.to));
    eg_spec_each(spec, scale_row, &c);
    if (c.status == EG_OK)
        c.status = eg_spec_hold_out(c.to, eg_spec_validation(spec));
    if (c.status == EG_OK && c.by_data)
        c.status = scale_rounds(&c, sources, n_sources);
    if (c.status == EG_OK)
        *out = c.to;
    else
        eg_spec_free(c.to);
    return c.status;
}
