/* drawing.c - fractals, drawn when they are needed, as a run's images.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/pretrain/encoder.h"

#include "base/base.h"

#include <stdlib.h>

/* Draws into a table, and brings it to the form of the run's images. */
static eg_status drawing_table(const eg_drawing *d, int64_t first, int64_t count, eg_table *t)
{
    const eg_net_spec *s = eg_net_spec_of(d->of->net);
    EG_TRY(eg_table_alloc_u8(t, count, s->channels, d->size, d->size, s->classes));
    for (int64_t i = 0; i < count; i++) {
        int64_t image = d->order ? d->order[first + i] : first + i;
        t->y[i] = (int32_t)(image % s->classes);
        uint8_t *to = t->u8 + (size_t)i * eg_table_sample(t);
        EG_TRY(s->channels == 1 ? eg_fractals_grey(d->fractals, d->split, image, to)
                                : eg_fractals_image(d->fractals, d->split, image, to));
    }
    return s->height == d->size && s->width == d->size
               ? EG_OK
               : eg_table_resize(t, s->height, s->width);
}

eg_status eg_drawing_fill(void *drawing, int64_t first, int64_t count, float *x, float *labels)
{
    const eg_drawing *d = drawing;
    eg_table t = {0};
    eg_status s = drawing_table(d, first, count, &t);
    if (s == EG_OK)
        eg_recipe_fill(d->recipe, &t, d->rows, (size_t)count, NULL, x);
    for (int64_t i = 0; i < count && s == EG_OK; i++)
        labels[i] = (float)t.y[i];
    eg_table_fini(&t);
    return s;
}

static eg_status drawing_open(eg_drawing *d, int64_t most)
{
    const eg_pretrain_opts *o = d->of->opts;
    eg_table sample = {0};
    EG_TRY(eg_fractals_new(
        &(eg_fractals_opts){.classes = o->classes, .size = d->size, .points = o->points},
        (uint64_t)o->seed, &d->fractals));
    EG_TRY(eg_alloc((size_t)most, sizeof *d->rows, &d->rows));
    for (int64_t i = 0; i < most; i++)
        d->rows[i] = i;
    eg_status s = drawing_table(d, 0, 1, &sample); /* for its shape */
    if (s == EG_OK)
        s = eg_recipe_new(&d->of->norm, &sample, &d->recipe);
    eg_table_fini(&sample);
    return s;
}

eg_status eg_drawing_init(const eg_encoder *of, eg_split split, int64_t most, eg_drawing *out)
{
    const eg_net_spec *s = eg_net_spec_of(of->net);
    int64_t side = s->height > s->width ? s->height : s->width;
    *out = (eg_drawing){.of = of, .split = split, .size = side > 1 ? side : 2};
    eg_status status = drawing_open(out, most);
    if (status != EG_OK)
        eg_drawing_fini(out);
    return status;
}

void eg_drawing_fini(eg_drawing *d)
{
    eg_fractals_free(d->fractals);
    eg_recipe_free(d->recipe);
    free(d->rows);
    *d = (eg_drawing){0};
}
