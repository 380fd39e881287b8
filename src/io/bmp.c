/* bmp.c - uncompressed BMP pictures: 1, 4 or 8 bits with a palette, 24 or 32 of colour.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file header of 14 bytes, a header of 40 or more, a palette of 4 bytes for a colour, rows
 * from the bottom unless the height is negative, each filled up to 4 bytes.
 */
#include "io/image.h"

#include <stdlib.h>

enum { BMP_HEAD = 54, BMP_PLAIN = 0, BMP_MASKS = 3 };

typedef struct bmp {
    const char *name;
    const uint8_t *bytes, *palette; /* [n_colours, 4], blue first */
    size_t n, at, n_colours;        /* at: where rows begin */
    uint32_t bits;
    bool from_top;
    int64_t height, width;
} bmp;

static uint32_t bmp_u16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t bmp_u32(const uint8_t *p)
{
    return bmp_u16(p) | bmp_u16(p + 2) << 16;
}

bool eg_bmp_known(const uint8_t *bytes, size_t n)
{
    return n >= 18 && bytes[0] == 'B' && bytes[1] == 'M' && bytes[17] == 0 &&
           bmp_u32(bytes + 14) >= 12 && bmp_u32(bytes + 14) <= 256;
}

/* Colours whose masks stand in the file: the usual ones alone. */
static bool bmp_usual_masks(const bmp *b)
{
    return b->bits == 32 && b->n >= BMP_HEAD + 12 && bmp_u32(b->bytes + BMP_HEAD) == 0xff0000 &&
           bmp_u32(b->bytes + BMP_HEAD + 4) == 0xff00 &&
           bmp_u32(b->bytes + BMP_HEAD + 8) == 0xff;
}

static eg_status bmp_head(bmp *b)
{
    const uint8_t *p = b->bytes;
    size_t head = b->n >= BMP_HEAD ? bmp_u32(p + 14) : 0;
    if (b->n >= 18 && bmp_u32(p + 14) < 40)
        return eg_fail(EG_ENOTSUP, "%s: a BMP with a header of before Windows 3", b->name);
    if (head < 40 || head > b->n - 14)
        return eg_fail(EG_EFORMAT, "%s: the BMP is cut short", b->name);
    int64_t height = (int32_t)bmp_u32(p + 22);
    b->width = (int32_t)bmp_u32(p + 18);
    b->height = height < 0 ? -height : height;
    b->from_top = height < 0;
    b->bits = bmp_u16(p + 28);
    uint32_t packing = bmp_u32(p + 30), colours = bmp_u32(p + 46);
    b->at = bmp_u32(p + 10);
    bool palette = b->bits == 1 || b->bits == 4 || b->bits == 8;
    if (packing != BMP_PLAIN && !(packing == BMP_MASKS && bmp_usual_masks(b)))
        return eg_fail(EG_ENOTSUP, "%s: a compressed BMP, or one of unusual colours", b->name);
    if (!palette && b->bits != 24 && b->bits != 32)
        return eg_fail(EG_ENOTSUP, "%s: a BMP of %u bits for a pixel", b->name, b->bits);
    if (b->width < 1 || b->height < 1 || b->width > EG_IMAGE_MAX_PIXELS / b->height)
        return eg_fail(EG_EFORMAT, "%s: a BMP of %lld x %lld pixels", b->name,
                       (long long)b->width, (long long)b->height);
    b->n_colours = !palette ? 0 : colours ? colours : (size_t)1 << b->bits;
    b->palette = p + 14 + head;
    if (b->n_colours > 256 || b->n_colours * 4 > b->n - 14 - head)
        return eg_fail(EG_EFORMAT, "%s: the BMP's palette is cut short", b->name);
    return EG_OK;
}

/* The pixel x of a row; false: its colour is not in the palette. */
static bool bmp_pixel(const bmp *b, const uint8_t *row, int64_t x, uint8_t *rgb)
{
    const uint8_t *bgr = row + (size_t)x * (b->bits / 8);
    if (b->n_colours) {
        size_t bit = (size_t)x * b->bits, shift = 8 - b->bits - bit % 8;
        size_t k = (unsigned)row[bit / 8] >> shift & ((1U << b->bits) - 1);
        if (k >= b->n_colours)
            return false;
        bgr = b->palette + 4 * k;
    }
    rgb[0] = bgr[2], rgb[1] = bgr[1], rgb[2] = bgr[0];
    return true;
}

eg_status eg_bmp_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out)
{
    bmp b = {.name = name, .bytes = bytes, .n = n};
    *out = (eg_image){0};
    EG_TRY(bmp_head(&b));
    size_t stride = ((size_t)b.width * b.bits + 31) / 32 * 4;
    if (b.at > n || (size_t)b.height > (n - b.at) / stride)
        return eg_fail(EG_EFORMAT, "%s: the BMP is cut short", name);
    *out = (eg_image){.height = b.height, .width = b.width, .channels = 3};
    EG_TRY(eg_alloc((size_t)(b.height * b.width), 3, &out->pixels));
    bool known = true;
    for (int64_t y = 0; y < b.height && known; y++) {
        int64_t line = b.from_top ? y : b.height - 1 - y;
        const uint8_t *row = bytes + b.at + (size_t)line * stride;
        for (int64_t x = 0; x < b.width && known; x++)
            known = bmp_pixel(&b, row, x, out->pixels + 3 * (y * b.width + x));
    }
    if (known)
        return EG_OK;
    eg_image_fini(out);
    return eg_fail(EG_EFORMAT, "%s: a pixel of the BMP has a colour beyond its palette", name);
}
