/* transform.c - recipes: a batch is one pass over memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rotation and permutation are one precomputed gather, scaling and normalisation one lookup.
 */
#include <engram/transform.h>

#include "base/base.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RECIPE_AHEAD 3    /* samples asked for before their turn */
#define RECIPE_FIRST 4096 /* bytes of each; the rest of a large one the processor foresees */

struct eg_recipe {
    int64_t channels, height, width;
    int32_t *gather;   /* [h w] or NULL: where a pixel comes from; of a zero: pixel 0 */
    int32_t *zeros;    /* [n_zeros]: output pixels that are zero */
    int64_t n_zeros;   /* of the gather */
    float *lookup;     /* [c, 256]: a byte, scaled and normalised */
    float *mean, *std; /* [c], for float samples */
    int64_t pad, cutout;
    bool flip, four, normalised;
};

/* What chance decides for one sample. */
typedef struct recipe_luck {
    int64_t top, left; /* of the crop, from -pad to pad */
    bool flip;
    int64_t cut_y, cut_x;
} recipe_luck;

static double transform_fixed(double v)
{
    return floor(v * 65536 + 0.5);
}

/* The centre of an output pixel is turned back and the input pixel it falls in is taken,
 * in 16.16 fixed point as the usual imaging libraries do, so that ties fall the same way. */
static void transform_turn(int64_t height, int64_t width, double degrees, int32_t *map)
{
    double angle = degrees * 3.141592653589793 / 180, c = eg_real_cos(angle),
           s = eg_real_sin(angle);
    double cx = (double)width / 2, cy = (double)height / 2;
    int64_t xx = (int64_t)transform_fixed(c), xy = (int64_t)transform_fixed(-s);
    int64_t yx = (int64_t)transform_fixed(s), yy = (int64_t)transform_fixed(c);
    int64_t x0 = (int64_t)transform_fixed(cx - c * cx + s * cy + 0.5 * c - 0.5 * s);
    int64_t y0 = (int64_t)transform_fixed(cy - s * cx - c * cy + 0.5 * s + 0.5 * c);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            int64_t fx = x0 + xx * x + xy * y, fy = y0 + yx * x + yy * y;
            bool inside = fx >= 0 && fy >= 0 && fx >> 16 < width && fy >> 16 < height;
            map[y * width + x] = inside ? (int32_t)((fy >> 16) * width + (fx >> 16)) : -1;
        }
}

void eg_rotation_map(int64_t height, int64_t width, double degrees, int32_t *map)
{
    degrees = fmod(degrees, 360);
    if (degrees < 0)
        degrees += 360;
    bool quarter = (degrees == 90 || degrees == 270) && height == width;
    if (degrees != 0 && degrees != 180 && !quarter) {
        transform_turn(height, width, degrees, map);
        return;
    }
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            int64_t fy = y, fx = x;
            if (degrees == 90)
                fy = x, fx = width - 1 - y;
            else if (degrees == 180)
                fy = height - 1 - y, fx = width - 1 - x;
            else if (degrees == 270)
                fy = height - 1 - x, fx = y;
            map[y * width + x] = (int32_t)(fy * width + fx);
        }
}

static eg_status transform_check(const eg_transform *how, const eg_table *t)
{
    int64_t pixels = t->height * t->width;
    if (pixels < 1 || pixels > INT32_MAX || t->channels < 1)
        return eg_fail(EG_EINVAL, "cannot transform samples of %lldx%lldx%lld",
                       (long long)t->channels, (long long)t->height, (long long)t->width);
    if (!isfinite(how->angle))
        return eg_fail(EG_EINVAL, "the angle is not a number");
    for (int64_t i = 0; how->permutation && i < pixels; i++)
        if (how->permutation[i] < 0 || how->permutation[i] >= pixels)
            return eg_fail(EG_EINVAL, "permutation: %d at %lld is outside 0 to %lld",
                           how->permutation[i], (long long)i, (long long)pixels - 1);
    if (how->pad < 0 || how->pad >= t->height || how->pad >= t->width)
        return eg_fail(EG_EINVAL, "a crop with %lld pixels of padding does not fit %lldx%lld",
                       (long long)how->pad, (long long)t->height, (long long)t->width);
    if (how->cutout < 0)
        return eg_fail(EG_EINVAL, "cutout: a side of %lld pixels", (long long)how->cutout);
    for (int64_t k = 0; how->means && k < t->channels; k++)
        if (!isfinite(how->means[k]) || !isfinite(how->stds[k]) || how->stds[k] <= 0)
            return eg_fail(EG_EINVAL, "channel %lld: mean %g and standard deviation %g",
                           (long long)k, how->means[k], how->stds[k]);
    if (how->n_norm > EG_MAX_NORM || (how->n_norm > 1 && how->n_norm != t->channels) ||
        how->n_norm < 0)
        return eg_fail(EG_EINVAL, "means of %lld channels given for samples of %lld",
                       (long long)how->n_norm, (long long)t->channels);
    for (int64_t k = 0; k < how->n_norm; k++)
        if (!isfinite(how->mean[k]) || !isfinite(how->std[k]) || how->std[k] <= 0)
            return eg_fail(EG_EINVAL, "channel %lld: mean %g and standard deviation %g",
                           (long long)k, how->mean[k], how->std[k]);
    if (how->four_rotations && t->height != t->width)
        return eg_fail(EG_EINVAL, "four rotations need square images, not %lldx%lld",
                       (long long)t->height, (long long)t->width);
    return EG_OK;
}

/* Rotation first, then permutation. */
static eg_status recipe_gather(eg_recipe *r, const eg_transform *how)
{
    int64_t pixels = r->height * r->width;
    int32_t *turned;
    EG_TRY(eg_alloc((size_t)pixels, sizeof *turned, &turned));
    eg_status s = eg_alloc((size_t)pixels, sizeof *r->gather, &r->gather);
    if (s == EG_OK)
        s = eg_alloc((size_t)pixels, sizeof *r->zeros, &r->zeros);
    if (s == EG_OK) {
        eg_rotation_map(r->height, r->width, how->angle, turned);
        for (int64_t i = 0; i < pixels; i++) {
            int32_t from = turned[how->permutation ? how->permutation[i] : i];
            r->gather[i] = from < 0 ? 0 : from;
            if (from < 0)
                r->zeros[r->n_zeros++] = (int32_t)i;
        }
    }
    free(turned);
    return s;
}

/* In float and in this order, since that is what the reference pipelines compute. */
static eg_status recipe_values(eg_recipe *r, const eg_transform *how)
{
    size_t n = (size_t)r->channels;
    EG_TRY(eg_alloc(n, sizeof *r->mean, &r->mean));
    EG_TRY(eg_alloc(n, sizeof *r->std, &r->std));
    EG_TRY(eg_alloc(n * 256, sizeof *r->lookup, &r->lookup));
    for (size_t c = 0; c < n; c++) {
        size_t k = how->n_norm > 1 ? c : 0;
        r->mean[c] = how->means ? (float)how->means[c] : how->n_norm ? (float)how->mean[k] : 0;
        r->std[c] = how->means ? (float)how->stds[c] : how->n_norm ? (float)how->std[k] : 1;
        for (int v = 0; v < 256; v++)
            r->lookup[c * 256 + (size_t)v] = ((float)v / 255 - r->mean[c]) / r->std[c];
    }
    return EG_OK;
}

eg_status eg_recipe_new(const eg_transform *how, const eg_table *t, eg_recipe **out)
{
    *out = NULL;
    EG_TRY(transform_check(how, t));
    eg_recipe *r;
    EG_TRY(eg_alloc(1, sizeof *r, &r));
    *r = (eg_recipe){
        .channels = t->channels,
        .height = t->height,
        .width = t->width,
        .pad = how->pad,
        .cutout = how->cutout,
        .flip = how->flip,
        .four = how->four_rotations,
        .normalised = how->normalised,
    };
    eg_status s = recipe_values(r, how);
    if (s == EG_OK && (how->permutation || fmod(how->angle, 360) != 0))
        s = recipe_gather(r, how);
    if (s == EG_OK)
        *out = r;
    else
        eg_recipe_free(r);
    return s;
}

void eg_recipe_free(eg_recipe *r)
{
    if (!r)
        return;
    free(r->gather);
    free(r->zeros);
    free(r->lookup);
    free(r->mean);
    free(r->std);
    free(r);
}

int64_t eg_recipe_fan(const eg_recipe *r)
{
    return r->four ? 4 : 1;
}

bool eg_recipe_is_random(const eg_recipe *r)
{
    return r->pad || r->flip || r->cutout;
}

/* One plane of bytes, rotated or permuted or as it is. Four at a time: the loop's own work
 * would otherwise be half of it. */
static void recipe_bytes(const eg_recipe *r, const uint8_t *restrict from,
                         const float *restrict lookup, float *restrict to)
{
    int64_t pixels = r->height * r->width, i = 0;
    const int32_t *restrict g = r->gather;
    for (; g && i + 4 <= pixels; i += 4) {
        float a = lookup[from[g[i]]], b = lookup[from[g[i + 1]]];
        float c = lookup[from[g[i + 2]]], d = lookup[from[g[i + 3]]];
        to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
    }
    for (; !g && i + 4 <= pixels; i += 4) {
        float a = lookup[from[i]], b = lookup[from[i + 1]];
        float c = lookup[from[i + 2]], d = lookup[from[i + 3]];
        to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
    }
    for (; i < pixels; i++)
        to[i] = lookup[from[g ? g[i] : i]];
    for (i = 0; i < r->n_zeros; i++)
        to[r->zeros[i]] = lookup[0];
}

static void recipe_floats(const eg_recipe *r, const float *from, int64_t c, float *to)
{
    int64_t pixels = r->height * r->width;
    float mean = r->mean[c], std = r->std[c];
    for (int64_t i = 0; i < pixels; i++) {
        float v = from[r->gather ? r->gather[i] : i];
        to[i] = r->normalised ? v : (v - mean) / std;
    }
    for (int64_t i = 0; i < r->n_zeros; i++)
        to[r->zeros[i]] = (0 - mean) / std;
}

/* Crops and flips a plane in place. Rows are walked so that none is overwritten before it is
 * read; zero is what a padded pixel became by normalisation. */
static void recipe_shift(const eg_recipe *r, const recipe_luck *luck, float zero, float *p)
{
    int64_t h = r->height, w = r->width;
    for (int64_t k = 0; k < h; k++) {
        int64_t y = luck->top >= 0 ? k : h - 1 - k, from = y + luck->top;
        float *row = p + y * w;
        int64_t left = luck->left, first = left < 0 ? -left : 0, last = left < 0 ? w : w - left;
        if (from < 0 || from >= h) {
            for (int64_t x = 0; x < w; x++)
                row[x] = zero;
            continue;
        }
        memmove(row + first, p + from * w + first + left, (size_t)(last - first) * sizeof *row);
        for (int64_t x = 0; x < first; x++)
            row[x] = zero;
        for (int64_t x = last; x < w; x++)
            row[x] = zero;
    }
    for (int64_t y = 0; luck->flip && y < h; y++)
        for (int64_t a = y * w, b = a + w - 1; a < b; a++, b--) {
            float v = p[a];
            p[a] = p[b];
            p[b] = v;
        }
}

static void recipe_cut(const eg_recipe *r, const recipe_luck *luck, float *p)
{
    int64_t half = r->cutout / 2;
    int64_t y1 = luck->cut_y - half, y2 = y1 + r->cutout;
    int64_t x1 = luck->cut_x - half, x2 = x1 + r->cutout;
    for (int64_t y = y1 < 0 ? 0 : y1; y < y2 && y < r->height; y++)
        for (int64_t x = x1 < 0 ? 0 : x1; x < x2 && x < r->width; x++)
            p[y * r->width + x] = 0;
}

static recipe_luck recipe_draw(const eg_recipe *r, eg_rng *rng)
{
    recipe_luck luck = {0};
    if (r->pad) {
        luck.top = (int64_t)eg_rng_below(rng, 2 * (uint64_t)r->pad + 1) - r->pad;
        luck.left = (int64_t)eg_rng_below(rng, 2 * (uint64_t)r->pad + 1) - r->pad;
    }
    if (r->flip)
        luck.flip = eg_rng_below(rng, 2);
    if (r->cutout) {
        luck.cut_y = (int64_t)eg_rng_below(rng, (uint64_t)r->height);
        luck.cut_x = (int64_t)eg_rng_below(rng, (uint64_t)r->width);
    }
    return luck;
}

eg_box_move eg_recipe_next(const eg_recipe *r, const eg_rng *rng)
{
    eg_rng ahead = *rng;
    recipe_luck luck = recipe_draw(r, &ahead);
    return (eg_box_move){.left = (double)luck.left / (double)r->width,
                         .top = (double)luck.top / (double)r->height,
                         .flip = luck.flip};
}

/* Three further copies of the sample at x, each a quarter turn after the last. */
static void recipe_turn(const eg_recipe *r, float *x)
{
    int64_t side = r->width, plane = side * side, sample = r->channels * plane;
    for (int64_t k = 1; k < 4; k++)
        for (int64_t c = 0; c < r->channels; c++) {
            const float *from = x + (k - 1) * sample + c * plane;
            float *to = x + k * sample + c * plane;
            for (int64_t i = 0; i < side; i++)
                for (int64_t j = 0; j < side; j++)
                    to[i * side + j] = from[j * side + side - 1 - i];
        }
}

/* Asks for a sample ahead of its turn: rows come in random order, so each would be waited for.
 */
static void recipe_prefetch(const eg_table *t, int64_t row)
{
    size_t bytes = eg_table_sample(t) * (t->u8 ? 1 : sizeof *t->f32);
    const char *p = (t->u8 ? (const char *)t->u8 : (const char *)t->f32) + (size_t)row * bytes;
    for (size_t at = 0; at < bytes && at < RECIPE_FIRST; at += 64)
        __builtin_prefetch(p + at);
}

void eg_recipe_fill(const eg_recipe *r, const eg_table *t, const int64_t *rows, size_t n,
                    eg_rng *rng, float *x)
{
    EG_ASSERT(t->channels == r->channels && t->height == r->height && t->width == r->width);
    EG_ASSERT(rng || !eg_recipe_is_random(r));
    int64_t plane = r->height * r->width;
    for (size_t i = 0; i < n; i++) {
        EG_ASSERT(rows[i] >= 0 && rows[i] < t->n);
        if (i + RECIPE_AHEAD < n)
            recipe_prefetch(t, rows[i + RECIPE_AHEAD]);
        recipe_luck luck = recipe_draw(r, rng);
        for (int64_t c = 0; c < r->channels; c++) {
            size_t at = (size_t)(rows[i] * r->channels + c) * (size_t)plane;
            const float *lookup = r->lookup + c * 256;
            float *to = x + c * plane, zero = t->u8 ? lookup[0] : (0 - r->mean[c]) / r->std[c];
            if (t->u8)
                recipe_bytes(r, t->u8 + at, lookup, to);
            else
                recipe_floats(r, t->f32 + at, c, to);
            if (r->pad || luck.flip)
                recipe_shift(r, &luck, zero, to);
            if (r->cutout)
                recipe_cut(r, &luck, to);
        }
        if (r->four)
            recipe_turn(r, x);
        x += eg_recipe_fan(r) * r->channels * plane;
    }
}
