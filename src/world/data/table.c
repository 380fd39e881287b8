/* table.c - the arrays of a data set, what is counted of them, and their contact sheet.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>

#include "base/base.h"
#include "base/checksum.h"
#include "io/image.h"
#include "world/data/mark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static eg_status table_shape(eg_table *t, int64_t n, const int64_t shape[3], int64_t classes)
{
    *t = (eg_table){.n = n, .channels = shape[0], .height = shape[1], .width = shape[2]};
    t->classes = classes;
    int64_t left = INT64_MAX / 8;
    for (int i = 0; i < 4; i++) {
        int64_t d = i < 3 ? shape[i] : n;
        if (d < 0 || (d > 0 && left / d < 1))
            return eg_fail(EG_EINVAL, "a table of %lld samples of %lldx%lldx%lld", (long long)n,
                           (long long)shape[0], (long long)shape[1], (long long)shape[2]);
        left /= d ? d : 1;
    }
    return eg_alloc((size_t)n, sizeof *t->y, &t->y);
}

eg_status eg_table_alloc_u8(eg_table *t, int64_t n, int64_t channels, int64_t height,
                            int64_t width, int64_t classes)
{
    EG_TRY(table_shape(t, n, (const int64_t[3]){channels, height, width}, classes));
    return eg_alloc((size_t)n * eg_table_sample(t), sizeof *t->u8, &t->u8);
}

eg_status eg_table_alloc_f32(eg_table *t, int64_t n, int64_t channels, int64_t height,
                             int64_t width, int64_t classes)
{
    EG_TRY(table_shape(t, n, (const int64_t[3]){channels, height, width}, classes));
    return eg_alloc((size_t)n * eg_table_sample(t), sizeof *t->f32, &t->f32);
}

eg_status eg_table_alloc_targets(eg_table *t, int64_t width)
{
    if (width < 1 || (t->n > 0 && width > INT32_MAX / t->n))
        return eg_fail(EG_EINVAL, "%lld samples with %lld numbers each as targets",
                       (long long)t->n, (long long)width);
    t->target_width = width;
    return eg_alloc((size_t)(t->n * width), sizeof *t->target, &t->target);
}

eg_status eg_table_copy(const eg_table *t, eg_table *out)
{
    size_t n = (size_t)t->n, values = n * eg_table_sample(t);
    size_t targets = n * (size_t)t->target_width;
    *out = *t;
    out->u8 = NULL, out->f32 = NULL, out->y = NULL, out->group = NULL, out->target = NULL;
    out->borrowed = false;
    out->names = NULL;
    eg_status s = eg_alloc(n, sizeof *out->y, &out->y);
    if (s == EG_OK && t->names)
        s = eg_table_name_classes(out, (const char *const *)t->names);
    if (s == EG_OK && t->u8)
        s = eg_alloc(values, sizeof *out->u8, &out->u8);
    if (s == EG_OK && t->f32)
        s = eg_alloc(values, sizeof *out->f32, &out->f32);
    if (s == EG_OK && t->group)
        s = eg_alloc(n, sizeof *out->group, &out->group);
    if (s == EG_OK && t->target)
        s = eg_alloc(targets, sizeof *out->target, &out->target);
    if (s != EG_OK) {
        eg_table_fini(out);
        return s;
    }
    if (n == 0)
        return EG_OK;
    memcpy(out->y, t->y, n * sizeof *out->y);
    if (t->u8)
        memcpy(out->u8, t->u8, values * sizeof *out->u8);
    if (t->f32)
        memcpy(out->f32, t->f32, values * sizeof *out->f32);
    if (t->group)
        memcpy(out->group, t->group, n * sizeof *out->group);
    if (t->target)
        memcpy(out->target, t->target, targets * sizeof *out->target);
    return EG_OK;
}

eg_status eg_table_own(eg_table *t)
{
    eg_table copy;
    if (!t->borrowed)
        return EG_OK;
    EG_TRY(eg_table_copy(t, &copy));
    eg_table_fini(t);
    *t = copy;
    return EG_OK;
}

void eg_table_fini(eg_table *t)
{
    if (!t->borrowed) {
        free(t->u8);
        free(t->f32);
    }
    free(t->y);
    free(t->group);
    free(t->names);
    free(t->target);
    *t = (eg_table){0};
}

enum { TABLE_NAME = 60 };

/* Copies a name as far as it has room, characters whole. Returns its bytes, the zero too. */
static size_t table_take_name(const char *name, char out[TABLE_NAME + 1])
{
    size_t n = 0;
    while (*name) {
        size_t whole = eg_plain_character(name);
        if (n + (whole ? whole : 1) > TABLE_NAME)
            break;
        if (whole)
            memcpy(out + n, name, whole);
        else
            out[n] = '?';
        n += whole ? whole : 1;
        name += whole ? whole : 1;
    }
    out[n] = 0;
    return n + 1;
}

eg_status eg_table_name_classes(eg_table *t, const char *const *names)
{
    size_t n = (size_t)t->classes, size = n * sizeof *t->names;
    char one[TABLE_NAME + 1];
    free(t->names);
    t->names = NULL;
    for (size_t k = 0; names && k < n; k++)
        size += table_take_name(names[k], one);
    if (!names || n == 0)
        return EG_OK;
    EG_TRY(eg_alloc(size, 1, &t->names)); /* pointers, then texts: one block */
    char *text = (char *)(t->names + n);
    for (size_t k = 0; k < n; k++) {
        size_t used = table_take_name(names[k], one);
        t->names[k] = memcpy(text, one, used);
        text += used;
    }
    return EG_OK;
}

void eg_table_count(const eg_table *t, int64_t *counts)
{
    memset(counts, 0, (size_t)t->classes * sizeof *counts);
    for (int64_t i = 0; i < t->n; i++)
        counts[t->y[i]]++;
}

/* The bytes of sample i, whatever its type. */
static const uint8_t *table_bytes(const eg_table *t, int64_t i, size_t *n)
{
    *n = eg_table_sample(t) * (t->u8 ? 1 : sizeof *t->f32);
    return (t->u8 ? t->u8 : (const uint8_t *)t->f32) + (size_t)i * *n;
}

void eg_table_digest(const eg_table *t, char out[65])
{
    const int64_t shape[6] = {t->n,     t->channels, t->height,
                              t->width, t->classes,  t->u8 ? 1 : sizeof *t->f32};
    eg_sha256 s;
    uint8_t digest[32];
    size_t n;
    const uint8_t *first = table_bytes(t, 0, &n);
    eg_sha256_init(&s);
    eg_sha256_add(&s, shape, sizeof shape);
    eg_sha256_add(&s, first, n * (size_t)t->n);
    eg_sha256_add(&s, t->y, (size_t)t->n * sizeof *t->y);
    if (t->group)
        eg_sha256_add(&s, t->group, (size_t)t->n * sizeof *t->group);
    if (t->target)
        eg_sha256_add(&s, t->target, (size_t)(t->n * t->target_width) * sizeof *t->target);
    eg_sha256_end(&s, digest);
    eg_sha256_text(digest, out);
}

/* A set of samples: open addressing on a 64-bit hash, the bytes decide. */
typedef struct table_set {
    const eg_table *of;
    int64_t *slots; /* [mask + 1]: index + 1, 0 when free */
    uint64_t mask;
} table_set;

static uint64_t table_hash(const uint8_t *p, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, w;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    for (; n > 0; n--, p++)
        h = (h ^ *p) * 0xff51afd7ed558ccdu;
    return h ^ h >> 29;
}

/* The slot of an equal sample, or the free one where it belongs. */
static int64_t *table_slot(const table_set *s, const uint8_t *sample, size_t n)
{
    uint64_t at = table_hash(sample, n) & s->mask;
    for (;; at = (at + 1) & s->mask) {
        size_t same;
        int64_t i = s->slots[at];
        if (i == 0 || memcmp(table_bytes(s->of, i - 1, &same), sample, n) == 0)
            return &s->slots[at];
    }
}

/* Makes the set of all samples of a; *repeats counts those that were in it already. */
static eg_status table_set_init(table_set *s, const eg_table *a, int64_t *repeats)
{
    *s = (table_set){a, NULL, 1};
    while (s->mask < 2 * (uint64_t)a->n)
        s->mask = s->mask * 2 + 1;
    EG_TRY(eg_alloc(s->mask + 1, sizeof *s->slots, &s->slots));
    for (int64_t i = 0; i < a->n; i++) {
        size_t n;
        const uint8_t *sample = table_bytes(a, i, &n);
        int64_t *slot = table_slot(s, sample, n);
        *repeats += *slot != 0;
        *slot = i + 1;
    }
    return EG_OK;
}

eg_status eg_table_overlap(const eg_table *a, const eg_table *b, int64_t *out)
{
    *out = 0;
    if (eg_table_sample(a) != eg_table_sample(b) || !a->u8 != !b->u8)
        return EG_OK;
    table_set set;
    int64_t repeats = 0;
    EG_TRY(table_set_init(&set, a, &repeats));
    for (int64_t i = 0; i < b->n; i++) {
        size_t n;
        const uint8_t *sample = table_bytes(b, i, &n);
        *out += *table_slot(&set, sample, n) != 0;
    }
    free(set.slots);
    return EG_OK;
}

eg_status eg_table_repeats(const eg_table *t, int64_t *out)
{
    table_set set;
    *out = 0;
    EG_TRY(table_set_init(&set, t, out));
    free(set.slots);
    return EG_OK;
}

/* Value of a sample as a byte; floats are stretched between low and high. */
static uint8_t table_byte(const eg_table *t, size_t at, const float range[2])
{
    if (t->u8)
        return t->u8[at];
    float v = (t->f32[at] - range[0]) / (range[1] > range[0] ? range[1] - range[0] : 1);
    return (uint8_t)lrintf(255 * v);
}

static void table_paste(const eg_table *t, int64_t i, const float range[2], uint8_t *to,
                        int64_t stride)
{
    size_t plane = (size_t)(t->height * t->width);
    size_t from = (size_t)i * eg_table_sample(t);
    for (int64_t y = 0; y < t->height; y++)
        for (int64_t x = 0; x < t->width; x++)
            for (int64_t c = 0; c < 3; c++) {
                size_t k = t->channels >= 3 ? (size_t)c * plane : 0;
                to[(y * stride + x) * 3 + c] =
                    table_byte(t, from + k + (size_t)(y * t->width + x), range);
            }
}

/* The range of the values, for floats. */
static void table_range(const eg_table *t, float range[2])
{
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (size_t i = 0; t->f32 && i < (size_t)t->n * eg_table_sample(t); i++) {
        range[0] = fminf(range[0], t->f32[i]);
        range[1] = fmaxf(range[1], t->f32[i]);
    }
}

/* Draws the boxes of sample i where it was pasted, with the names of their classes. */
static void table_mark(const eg_table *t, int64_t i, eg_image *im, int64_t top, int64_t left)
{
    const eg_mark_area area = {top, left, t->height, t->width};
    const float *target = t->target + i * t->target_width;
    for (int64_t k = 0; k + EG_BOX_SIZE <= t->target_width; k += EG_BOX_SIZE) {
        eg_box b;
        memcpy(&b, target + k, sizeof b);
        int64_t class = b.label <= EG_CROWD ? EG_CROWD - (int64_t)b.label : (int64_t)b.label;
        if (class >= 0 && class < t->classes)
            eg_mark_box(im, &area, &b, 1, t->names ? t->names[class] : NULL);
    }
}

static eg_status table_sheet(const eg_table *t, int64_t per_class, bool boxes, const char *path)
{
    if (t->ids)
        return eg_fail(EG_EINVAL, "a sheet shows pictures, and these are texts");
    const int64_t gap = 2, cell_h = t->height + gap, cell_w = t->width + gap;
    eg_image im = {.channels = 3};
    float range[2];
    int64_t *done = NULL, most = 1;
    table_range(t, range);
    EG_TRY(eg_alloc((size_t)t->classes, sizeof *done, &done));
    eg_table_count(t, done);
    for (int64_t k = 0; k < t->classes; k++)
        most = done[k] > most ? done[k] : most;
    memset(done, 0, (size_t)t->classes * sizeof *done);
    im.height = t->classes * cell_h + gap;
    im.width = (per_class < most ? per_class : most) * cell_w + gap;
    eg_status s = EG_OK;
    if (per_class < 1 || im.height > EG_IMAGE_MAX_PIXELS / im.width)
        s = eg_fail(EG_EINVAL, "%s: %lld classes of %lld images are no sheet", path,
                    (long long)t->classes, (long long)per_class);
    if (s == EG_OK)
        s = eg_alloc((size_t)(im.height * im.width), 3, &im.pixels);
    if (s == EG_OK) {
        memset(im.pixels, 96, (size_t)(im.height * im.width * 3));
        for (int64_t i = 0; i < t->n; i++) {
            int64_t row = gap + t->y[i] * cell_h, column = done[t->y[i]]++;
            int64_t left = gap + column * cell_w;
            if (column < per_class)
                table_paste(t, i, range, im.pixels + 3 * (row * im.width + left), im.width);
            if (column < per_class && boxes)
                table_mark(t, i, &im, row, left);
        }
        s = eg_png_save(path, &im);
    }
    free(done);
    eg_image_fini(&im);
    return s;
}

eg_status eg_table_sheet(const eg_table *t, int64_t per_class, const char *path)
{
    return table_sheet(t, per_class, false, path);
}

eg_status eg_table_sheet_boxes(const eg_table *t, int64_t per_class, const char *path)
{
    if (!t->target || t->target_width % EG_BOX_SIZE != 0)
        return eg_fail(EG_EINVAL, "%s: the samples have no boxes", path);
    return table_sheet(t, per_class, true, path);
}

eg_status eg_table_same_shape(const eg_table *a, const char *name, const eg_table *b,
                              const char *other)
{
    if (a->channels == b->channels && a->height == b->height && a->width == b->width)
        return EG_OK;
    return eg_fail(EG_ESHAPE,
                   "%s is %lldx%lldx%lld and %s %lldx%lldx%lld; set data.size and "
                   "data.channels",
                   name, (long long)a->channels, (long long)a->height, (long long)a->width,
                   other, (long long)b->channels, (long long)b->height, (long long)b->width);
}
