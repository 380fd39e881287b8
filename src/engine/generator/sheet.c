/* sheet.c - drawings in rows, and the picture they make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>
#include <engram/gallery.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_sheet_init(eg_sheet *s, const eg_generator *like, int64_t n_rows, int64_t per_row)
{
    *s = (eg_sheet){.n_rows = n_rows,
                    .per_row = per_row,
                    .channels = like->channels,
                    .height = like->height,
                    .width = like->width};
    EG_TRY(eg_alloc((size_t)(n_rows * per_row * like->pixels) + 1, sizeof *s->x, &s->x));
    return eg_alloc((size_t)n_rows + 1, sizeof *s->labels, &s->labels);
}

void eg_sheet_fini(eg_sheet *s)
{
    free(s->x);
    free(s->labels);
    *s = (eg_sheet){0};
}

eg_status eg_sheet_draw(eg_sheet *s, eg_generator *m, int64_t row, int64_t label, uint64_t seed)
{
    eg_rng rng = eg_rng_at(seed, (uint32_t)row, 0, EG_FOR_NOISE);
    s->labels[row] = (float)label;
    return eg_generator_draw_class(m, label, s->per_row, &rng,
                                   s->x + row * s->per_row * m->pixels);
}

/* 0 to 255; a network that has diverged may draw what is no number. */
static uint8_t sheet_shade(float x)
{
    float shade = 127.5f * (x + 1);
    return shade > 0 ? (uint8_t)lrintf(shade < 255 ? shade : 255) : 0;
}

static eg_status sheet_save_numbers(const eg_sheet *s, const char *path)
{
    const eg_stored tensors[] = {
        {.name = "images",
         .type = EG_STORED_F32,
         .rank = 5,
         .dims = {s->n_rows, s->per_row, s->channels, s->height, s->width},
         .bytes = s->x},
        {.name = "labels",
         .type = EG_STORED_F32,
         .rank = 1,
         .dims = {s->n_rows},
         .bytes = s->labels},
    };
    return eg_safetensors_save(path, tensors, 2, NULL, 0);
}

eg_status eg_sheet_save(const eg_sheet *s, const char *path)
{
    const char *end = strrchr(path, '.');
    if (end && strcmp(end, ".safetensors") == 0)
        return sheet_save_numbers(s, path);
    int64_t n = s->n_rows * s->per_row;
    int64_t wide = s->n_rows > 1 ? s->per_row : (int64_t)ceil(sqrt((double)n));
    if (wide < 1)
        return eg_fail(EG_EINVAL, "there is nothing to draw");
    eg_table t = {0};
    eg_status status =
        eg_table_alloc_u8(&t, n, s->channels, s->height, s->width, (n + wide - 1) / wide);
    for (size_t i = 0; status == EG_OK && i < (size_t)n * eg_table_sample(&t); i++)
        t.u8[i] = sheet_shade(s->x[i]);
    for (int64_t i = 0; status == EG_OK && i < n; i++)
        t.y[i] = (int32_t)(i / wide);
    if (status == EG_OK)
        status = eg_table_sheet(&t, wide, path);
    eg_table_fini(&t);
    return status;
}
