/* resize.c - a separable triangle filter, wider when shrinking, so that no pixel is skipped.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>

#include "world/data/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How one axis is scaled: output i is the weighted sum of n inputs from start[i] on. */
typedef struct resize_axis {
    int64_t from, to, taps;
    int64_t *start; /* [to] */
    float *weight;  /* [to, taps], each row sums to 1 */
} resize_axis;

struct eg_resizer {
    resize_axis y, x;
    float *rows; /* [from_h, to_w]: scaled along x */
    float *line; /* [from_w] */
};

static void resize_axis_fini(resize_axis *a)
{
    free(a->start);
    free(a->weight);
}

static eg_status resize_axis_init(resize_axis *a, int64_t from, int64_t to)
{
    double scale = (double)from / (double)to, reach = scale > 1 ? scale : 1;
    *a = (resize_axis){from, to, (int64_t)ceil(2 * reach) + 1, NULL, NULL};
    if (a->taps > from)
        a->taps = from;
    EG_TRY(eg_alloc((size_t)to, sizeof *a->start, &a->start));
    EG_TRY(eg_alloc((size_t)(to * a->taps), sizeof *a->weight, &a->weight));
    for (int64_t i = 0; i < to; i++) {
        double centre = ((double)i + 0.5) * scale - 0.5, sum = 0;
        int64_t start = (int64_t)ceil(centre - reach);
        start = start < 0 ? 0 : start > from - a->taps ? from - a->taps : start;
        float *w = a->weight + i * a->taps;
        a->start[i] = start;
        for (int64_t k = 0; k < a->taps; k++)
            sum += fmax(0, 1 - fabs((double)(start + k) - centre) / reach);
        for (int64_t k = 0; k < a->taps; k++)
            w[k] = (float)(fmax(0, 1 - fabs((double)(start + k) - centre) / reach) / sum);
    }
    return EG_OK;
}

eg_status eg_resizer_new(int64_t from_h, int64_t from_w, int64_t to_h, int64_t to_w,
                         eg_resizer **out)
{
    *out = NULL;
    if (from_h < 1 || from_w < 1 || to_h < 1 || to_w < 1 || to_h > 1 << 15 || to_w > 1 << 15)
        return eg_fail(EG_EINVAL, "cannot scale %lldx%lld pixels to %lldx%lld",
                       (long long)from_h, (long long)from_w, (long long)to_h, (long long)to_w);
    eg_resizer *r;
    EG_TRY(eg_alloc(1, sizeof *r, &r));
    eg_status s = resize_axis_init(&r->y, from_h, to_h);
    if (s == EG_OK)
        s = resize_axis_init(&r->x, from_w, to_w);
    if (s == EG_OK)
        s = eg_alloc((size_t)(from_h * to_w), sizeof *r->rows, &r->rows);
    if (s == EG_OK)
        s = eg_alloc((size_t)from_w, sizeof *r->line, &r->line);
    if (s == EG_OK)
        *out = r;
    else
        eg_resizer_free(r);
    return s;
}

void eg_resizer_free(eg_resizer *r)
{
    if (!r)
        return;
    resize_axis_fini(&r->y);
    resize_axis_fini(&r->x);
    free(r->rows);
    free(r->line);
    free(r);
}

static void resize_row(eg_resizer *r, int64_t y, const float *line)
{
    for (int64_t i = 0; i < r->x.to; i++) {
        const float *w = r->x.weight + i * r->x.taps, *p = line + r->x.start[i];
        float sum = 0;
        for (int64_t k = 0; k < r->x.taps; k++)
            sum += w[k] * p[k];
        r->rows[y * r->x.to + i] = sum;
    }
}

static float resize_value(const eg_resizer *r, int64_t y, int64_t x)
{
    const float *w = r->y.weight + y * r->y.taps;
    float sum = 0;
    for (int64_t k = 0; k < r->y.taps; k++)
        sum += w[k] * r->rows[(r->y.start[y] + k) * r->x.to + x];
    return sum;
}

void eg_resizer_u8(eg_resizer *r, const uint8_t *from, int64_t step, uint8_t *to)
{
    for (int64_t y = 0; y < r->y.from; y++) {
        for (int64_t x = 0; x < r->x.from; x++)
            r->line[x] = from[(y * r->x.from + x) * step];
        resize_row(r, y, r->line);
    }
    for (int64_t y = 0; y < r->y.to; y++)
        for (int64_t x = 0; x < r->x.to; x++)
            to[y * r->x.to + x] = (uint8_t)fminf(255, fmaxf(0, resize_value(r, y, x) + 0.5f));
}

void eg_resizer_f32(eg_resizer *r, const float *from, float *to)
{
    for (int64_t y = 0; y < r->y.from; y++)
        resize_row(r, y, from + y * r->x.from);
    for (int64_t y = 0; y < r->y.to; y++)
        for (int64_t x = 0; x < r->x.to; x++)
            to[y * r->x.to + x] = resize_value(r, y, x);
}

/* Puts the values of fresh in place of t's, keeping labels, groups and note. */
static void resize_adopt(eg_table *t, eg_table *fresh)
{
    if (!t->borrowed) {
        free(t->u8);
        free(t->f32);
    }
    free(fresh->y);
    t->borrowed = false;
    t->u8 = fresh->u8;
    t->f32 = fresh->f32;
    t->channels = fresh->channels;
    t->height = fresh->height;
    t->width = fresh->width;
}

static eg_status resize_like(const eg_table *t, int64_t c, int64_t h, int64_t w, eg_table *out)
{
    eg_status s = t->u8 ? eg_table_alloc_u8(out, t->n, c, h, w, t->classes)
                        : eg_table_alloc_f32(out, t->n, c, h, w, t->classes);
    if (s != EG_OK)
        eg_table_fini(out);
    return s;
}

/* Planes that do not grow take the place of the old ones, so that no table is there twice. */
static eg_status resize_in_place(eg_table *t, eg_resizer *r, int64_t height, int64_t width)
{
    size_t old = (size_t)(t->height * t->width), plane = (size_t)(height * width);
    size_t each = t->u8 ? sizeof *t->u8 : sizeof *t->f32;
    void *one;
    EG_TRY(eg_alloc(plane, each, &one));
    for (size_t i = 0; i < (size_t)(t->n * t->channels); i++) {
        if (t->u8)
            eg_resizer_u8(r, t->u8 + i * old, 1, one);
        else
            eg_resizer_f32(r, t->f32 + i * old, one);
        memcpy((t->u8 ? (char *)t->u8 : (char *)t->f32) + i * plane * each, one, plane * each);
    }
    free(one);
    t->height = height;
    t->width = width;
    size_t bytes = (size_t)t->n * eg_table_sample(t) * each;
    void *less = realloc(t->u8 ? (void *)t->u8 : t->f32, bytes ? bytes : 1);
    if (less && t->u8)
        t->u8 = less;
    else if (less)
        t->f32 = less;
    return EG_OK; /* what is larger than needed serves as well */
}

eg_status eg_table_resize(eg_table *t, int64_t height, int64_t width)
{
    if (t->height == height && t->width == width)
        return EG_OK;
    if (t->ids)
        return eg_fail(EG_EINVAL, "texts cannot be scaled to %lldx%lld pixels",
                       (long long)height, (long long)width);
    eg_resizer *r;
    eg_table fresh;
    EG_TRY(eg_resizer_new(t->height, t->width, height, width, &r));
    if (!t->borrowed && height * width <= t->height * t->width) {
        eg_status s = resize_in_place(t, r, height, width);
        eg_resizer_free(r);
        return s;
    }
    eg_status s = resize_like(t, t->channels, height, width, &fresh);
    if (s == EG_OK) {
        size_t old = (size_t)(t->height * t->width), plane = (size_t)(height * width);
        for (size_t i = 0; i < (size_t)(t->n * t->channels); i++)
            if (t->u8)
                eg_resizer_u8(r, t->u8 + i * old, 1, fresh.u8 + i * plane);
            else
                eg_resizer_f32(r, t->f32 + i * old, fresh.f32 + i * plane);
        resize_adopt(t, &fresh);
    }
    eg_resizer_free(r);
    return s;
}

eg_status eg_table_set_channels(eg_table *t, int64_t channels)
{
    if (t->channels == channels)
        return EG_OK;
    if (t->ids)
        return eg_fail(EG_EINVAL, "texts have no channels to turn into others");
    if (channels + t->channels != 4 || (channels != 1 && channels != 3))
        return eg_fail(EG_EINVAL, "cannot turn %lld channels into %lld", (long long)t->channels,
                       (long long)channels);
    eg_table fresh;
    EG_TRY(resize_like(t, channels, t->height, t->width, &fresh));
    static const double luma[3] = {0.299, 0.587, 0.114};
    size_t plane = (size_t)(t->height * t->width);
    for (size_t i = 0; i < (size_t)t->n; i++)
        for (size_t p = 0; p < plane; p++) {
            double v = 0;
            for (size_t c = 0; c < (size_t)t->channels; c++) {
                size_t at = (i * (size_t)t->channels + c) * plane + p;
                v +=
                    (t->channels == 3 ? luma[c] : 1) * (t->u8 ? t->u8[at] : (double)t->f32[at]);
            }
            for (size_t c = 0; c < (size_t)channels; c++) {
                size_t at = (i * (size_t)channels + c) * plane + p;
                if (t->u8)
                    fresh.u8[at] = (uint8_t)(v + 0.5);
                else
                    fresh.f32[at] = (float)v;
            }
        }
    resize_adopt(t, &fresh);
    return EG_OK;
}
