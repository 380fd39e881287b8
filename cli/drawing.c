/* drawing.c - images between -1 and 1 out of data sets, drawings into pictures.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "drawing.h"

#include <engram/transform.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Drops the rows of all other classes. */
static eg_status drawing_keep(eg_table *t, const char *name, int64_t only)
{
    size_t sample = eg_table_sample(t);
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (t->y[i] != only)
            continue;
        if (t->u8)
            memmove(t->u8 + (size_t)n * sample, t->u8 + (size_t)i * sample, sample);
        else
            memmove(t->f32 + (size_t)n * sample, t->f32 + (size_t)i * sample,
                    sample * sizeof *t->f32);
        t->y[n++] = t->y[i];
    }
    t->n = n;
    return n ? EG_OK
             : eg_fail(EG_ENOENT, "%s has no class %lld, but classes 0 to %lld", name,
                       (long long)only, (long long)t->classes - 1);
}

static eg_status drawing_fill(const eg_table *t, const char *name, drawing_images *out)
{
    size_t values = (size_t)t->n * eg_table_sample(t);
    const eg_transform scale = {.n_norm = 1, .mean = {0.5}, .std = {0.5}};
    eg_recipe *recipe;
    EG_TRY(eg_recipe_new(&scale, t, &recipe));
    for (int64_t i = 0; i < t->n; i++) {
        eg_recipe_fill(recipe, t, &i, 1, NULL, out->x + (size_t)i * eg_table_sample(t));
        out->labels[i] = (float)t->y[i];
    }
    eg_recipe_free(recipe);
    for (size_t i = 0; i < values; i++)
        if (!(fabsf(out->x[i]) <= 1.0001f))
            return eg_fail(EG_EINVAL,
                           "%s: a value is %g, and generators learn values between 0 and 1",
                           name, (double)out->x[i] / 2 + 0.5);
    return EG_OK;
}

eg_status drawing_load(const drawing_source *source, drawing_images *out)
{
    const char *name = source->set->component.name;
    eg_table t = {0};
    *out = (drawing_images){0};
    eg_status s =
        eg_dataset_load(source->set, source->options, &source->from, source->split, &t);
    if (s == EG_OK && source->only >= 0)
        s = drawing_keep(&t, name, source->only);
    if (s == EG_OK && source->channels && source->channels != t.channels)
        s = eg_table_set_channels(&t, source->channels);
    if (s == EG_OK && source->side && (source->side != t.height || source->side != t.width))
        s = eg_table_resize(&t, source->side, source->side);
    if (s == EG_OK) {
        out->n = t.n, out->channels = t.channels, out->classes = t.classes;
        out->height = t.height, out->width = t.width;
        out->x = malloc((size_t)t.n * eg_table_sample(&t) * sizeof *out->x);
        out->labels = malloc((size_t)t.n * sizeof *out->labels);
        s = out->x && out->labels
                ? drawing_fill(&t, name, out)
                : eg_fail(EG_ENOMEM, "no memory for %lld images", (long long)t.n);
    }
    eg_table_fini(&t);
    return s;
}

void drawing_fini(drawing_images *d)
{
    free(d->x);
    free(d->labels);
    *d = (drawing_images){0};
}
