/* mark.c - boxes and their names on pictures, with letters of three by five dots.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/mark.h"

#include <math.h>
#include <string.h>

enum { MARK_HIGH = 5, MARK_WIDE = 3, MARK_STEP = 4 };

/* The dots of a letter, row by row from the top, the first in the highest of 15 bits. */
// clang-format off
static const uint16_t mark_digits[] = {0x7b6f, 0x2c97, 0x62a7, 0x628e, 0x5bc9, 0x798e, 0x39ef, 0x7292, 0x7bef, 0x7bce};
static const uint16_t mark_letters[] = {
    0x2bed, 0x6bae, 0x3923, 0x6b6e, 0x79a7, 0x79a4, 0x396b, 0x5bed, 0x7497, 0x126a, 0x5bad, 0x4927, 0x5fed,
    0x6b6d, 0x2b6a, 0x6ba4, 0x2b73, 0x6bad, 0x388e, 0x7492, 0x5b6f, 0x5b6a, 0x5bfd, 0x5aad, 0x5a92, 0x72a7};
// clang-format on
static const struct {
    char sign;
    uint16_t dots;
} mark_signs[] = {{'.', 0x0002}, {'%', 0x52a5}, {'-', 0x01c0}, {'_', 0x0007},
                  {':', 0x0410}, {'/', 0x12a4}, {'?', 0x6282}};

static uint16_t mark_dots(char c)
{
    if (c >= '0' && c <= '9')
        return mark_digits[c - '0'];
    if (c >= 'a' && c <= 'z')
        return mark_letters[c - 'a'];
    if (c >= 'A' && c <= 'Z')
        return mark_letters[c - 'A'];
    for (size_t i = 0; i < sizeof mark_signs / sizeof *mark_signs; i++)
        if (mark_signs[i].sign == c)
            return mark_signs[i].dots;
    return 0;
}

/* Eight colours that are told apart on light and dark pictures. */
static const uint8_t mark_colours[][3] = {{255, 99, 71},  {64, 224, 160},  {90, 170, 255},
                                          {255, 214, 64}, {230, 110, 240}, {80, 230, 240},
                                          {255, 160, 60}, {190, 235, 80}};

/* A filled rectangle, as far as it is within an area. */
static void mark_fill(eg_image *im, const eg_mark_area *in, const int64_t at[4],
                      const uint8_t colour[3])
{
    for (int64_t y = at[1]; y < at[3]; y++)
        for (int64_t x = at[0]; x < at[2]; x++)
            if (y >= in->top && y < in->top + in->height && x >= in->left &&
                x < in->left + in->width)
                memcpy(im->pixels + 3 * (y * im->width + x), colour, 3);
}

/* A text of dots of `size` pixels on a ground of its own. */
static void mark_text(eg_image *im, const eg_mark_area *in, int64_t x, int64_t y, int64_t size,
                      const char *text, const uint8_t colour[3])
{
    static const uint8_t ink[3] = {12, 14, 18};
    int64_t n = (int64_t)strlen(text);
    const int64_t ground[4] = {x, y, x + (n * MARK_STEP + 1) * size,
                               y + (MARK_HIGH + 2) * size};
    mark_fill(im, in, ground, colour);
    for (int64_t i = 0; i < n * MARK_HIGH * MARK_WIDE; i++) {
        int64_t letter = i / (MARK_HIGH * MARK_WIDE), dot = i % (MARK_HIGH * MARK_WIDE);
        int64_t left = x + (letter * MARK_STEP + 1 + dot % MARK_WIDE) * size;
        int64_t top = y + (1 + dot / MARK_WIDE) * size;
        const int64_t at[4] = {left, top, left + size, top + size};
        if (mark_dots(text[letter]) >> (MARK_HIGH * MARK_WIDE - 1 - dot) & 1)
            mark_fill(im, in, at, ink);
    }
}

/* A share of an area's side as a pixel of the picture. */
static int64_t mark_pixel(double share, int64_t from, int64_t side)
{
    return from + llround(fmin(1, fmax(0, share)) * (double)side);
}

void eg_mark_box(eg_image *im, const eg_mark_area *in, const eg_box *b, int64_t thick,
                 const char *text)
{
    double w = (double)b->w / 2, h = (double)b->h / 2;
    int64_t class = b->label <= EG_CROWD ? EG_CROWD - (int64_t)b->label : (int64_t)b->label;
    const uint8_t *colour = mark_colours[class % 8];
    int64_t x0 = mark_pixel((double)b->x - w, in->left, in->width);
    int64_t x1 = mark_pixel((double)b->x + w, in->left, in->width);
    int64_t y0 = mark_pixel((double)b->y - h, in->top, in->height);
    int64_t y1 = mark_pixel((double)b->y + h, in->top, in->height);
    const int64_t sides[4][4] = {{x0, y0, x1, y0 + thick},
                                 {x0, y1 - thick, x1, y1},
                                 {x0, y0, x0 + thick, y1},
                                 {x1 - thick, y0, x1, y1}};
    for (int i = 0; i < 4; i++)
        mark_fill(im, in, sides[i], colour);
    int64_t above = y0 - (MARK_HIGH + 2) * thick;
    if (text)
        mark_text(im, in, x0, above >= in->top ? above : y0, thick, text, colour);
}

int64_t eg_mark_thickness(int64_t height, int64_t width)
{
    int64_t least = height < width ? height : width;
    return least < 300 ? 1 : least / 240 + 1;
}
