/* fractals_paint.c - the colours of a fractal image.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counts become hues, over a diamond-square cloud; half of the images are blurred. Colours are
 * 8-bit hue, saturation and value; a hue of h stands for 2 h degrees.
 */
#include "base/real.h"
#include "world/data/fractals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_fractals_scratch_init(eg_fractals_scratch *s, int64_t size)
{
    *s = (eg_fractals_scratch){.size = size, .grid = 3};
    while (s->grid < size)
        s->grid = 2 * s->grid - 1;
    size_t pixels = (size_t)(size * size);
    EG_TRY(eg_alloc((size_t)((size + 2) * (size + 2)), sizeof *s->hits, &s->hits));
    EG_TRY(eg_alloc(pixels, sizeof *s->image, &s->image));
    EG_TRY(eg_alloc((size_t)(s->grid * s->grid), sizeof *s->cloud, &s->cloud));
    return eg_alloc(pixels, 1, &s->blur);
}

void eg_fractals_scratch_fini(eg_fractals_scratch *s)
{
    free(s->hits);
    free(s->image);
    free(s->cloud);
    free(s->blur);
}

/* Uniform in [-m, m) from one word. */
static float paint_noise(eg_rng *r, float m)
{
    return m * ((float)(eg_rng_u32(r) >> 8) * 0x1p-23f - 1);
}

/* The middles of all squares whose corners are step apart. */
static void paint_diamonds(float *a, int64_t side, int64_t half, float m, eg_rng *r)
{
    for (int64_t y = half; y < side; y += 2 * half)
        for (int64_t x = half; x < side; x += 2 * half) {
            const float *up = a + (y - half) * side + x, *down = a + (y + half) * side + x;
            a[y * side + x] =
                0.25f * (up[-half] + up[half] + down[-half] + down[half]) + paint_noise(r, m);
        }
}

/* The points between them; beyond an edge stands the far side's inner neighbour. */
static void paint_squares(float *a, int64_t side, int64_t half, float m, eg_rng *r)
{
    for (int64_t y = 0; y < side; y += half) {
        int64_t up = y > 0 ? y - half : side - 1 - half;
        int64_t down = y < side - 1 ? y + half : half;
        for (int64_t x = y / half % 2 == 0 ? half : 0; x < side; x += 2 * half) {
            int64_t left = x > 0 ? x - half : side - 1 - half;
            int64_t right = x < side - 1 ? x + half : half;
            a[y * side + x] = 0.25f * (a[up * side + x] + a[down * side + x] +
                                       a[y * side + left] + a[y * side + right]) +
                              paint_noise(r, m);
        }
    }
}

static void paint_cloud(float *a, int64_t side, eg_rng *r)
{
    double decay = eg_rng_uniform(r, 0.4, 0.8);
    int64_t last = side - 1;
    a[0] = (float)eg_rng_unit(r);
    a[last] = (float)eg_rng_unit(r);
    a[last * side] = (float)eg_rng_unit(r);
    a[last * side + last] = (float)eg_rng_unit(r);
    int k = 1;
    for (int64_t half = last / 2; half >= 1; half /= 2, k++) {
        float m = (float)(0.5 * eg_real_exp(decay * (1 - k)));
        paint_diamonds(a, side, half, m, r);
        paint_squares(a, side, half, m, r);
    }
}

static uint8_t paint_byte(float v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5f);
}

/* 8-bit HSV to RGB. */
static void paint_rgb(uint8_t hue, float sat, float val, uint8_t *rgb, size_t plane)
{
    float h = (float)hue * (6.0f / 180), s = sat / 255;
    h = h >= 6 ? h - 6 : h;
    int sector = (int)h;
    float f = h - (float)sector;
    float low = val * (1 - s), fall = val * (1 - s * f), rise = val * (1 - s * (1 - f));
    const float red[6] = {val, fall, low, low, rise, val};
    const float green[6] = {rise, val, val, fall, low, low};
    const float blue[6] = {low, low, rise, val, val, fall};
    rgb[0] = paint_byte(red[sector]);
    rgb[plane] = paint_byte(green[sector]);
    rgb[2 * plane] = paint_byte(blue[sector]);
}

static void paint_background(eg_fractals_scratch *s, eg_rng *r, uint8_t *rgb)
{
    paint_cloud(s->cloud, s->grid, r);
    float scale[3], shift[3];
    scale[0] = (float)eg_rng_uniform(r, 0.25, 1) * 255;
    shift[0] = (float)eg_rng_unit(r) * 255;
    scale[1] = (float)eg_rng_uniform(r, 0.1, 0.3) * 255;
    shift[1] = (float)eg_rng_uniform(r, 0.4, 0.6) * 255;
    scale[2] = (float)eg_rng_uniform(r, 0.3, 0.6) * 255;
    shift[2] = (float)eg_rng_uniform(r, 0.4, 0.6) * 255;
    size_t plane = (size_t)(s->size * s->size);
    for (int64_t y = 0; y < s->size; y++)
        for (int64_t x = 0; x < s->size; x++) {
            float v = s->cloud[y * s->grid + x];
            uint8_t hue = (uint8_t)((int)(v * scale[0] + shift[0]) & 255);
            float sat = floorf(fmaxf(0, fminf(255, v * scale[1] + shift[1])));
            float val = floorf(fmaxf(0, fminf(255, v * scale[2] + shift[2])));
            paint_rgb(hue, sat, val, rgb + y * s->size + x, plane);
        }
}

/* Turns and mirrors as a walk over the counts: pixel (y, x) shows cell start + y dy + x dx. */
typedef struct paint_walk {
    int64_t start, dy, dx;
} paint_walk;

static paint_walk paint_flips(int64_t size, eg_rng *r)
{
    paint_walk w = {0, size, 1};
    uint32_t coins = eg_rng_u32(r);
    if (coins & 1) /* transposed */
        w = (paint_walk){0, 1, size};
    if (coins & 2) /* upside down */
        w = (paint_walk){w.start + (size - 1) * w.dy, -w.dy, w.dx};
    if (coins & 4) /* left to right */
        w = (paint_walk){w.start + (size - 1) * w.dx, w.dy, -w.dx};
    return w;
}

static uint32_t paint_top(const eg_fractals_scratch *s)
{
    uint32_t top = 0;
    for (int64_t i = 0; i < s->size * s->size; i++)
        top = s->image[i] > top ? s->image[i] : top;
    return top;
}

static void paint_foreground(const eg_fractals_scratch *s, eg_rng *r, uint8_t *rgb)
{
    uint32_t top = paint_top(s);
    size_t plane = (size_t)(s->size * s->size);
    paint_walk w = paint_flips(s->size, r);
    float shift = (float)eg_rng_unit(r) * 255;
    float sat = floorf((float)eg_rng_uniform(r, 0.3, 1) * 255);
    float val = floorf((float)eg_rng_uniform(r, 0.5, 1) * 255);
    for (int64_t y = 0; y < s->size; y++)
        for (int64_t x = 0; x < s->size; x++) {
            uint32_t count = s->image[w.start + y * w.dy + x * w.dx];
            if (count == 0)
                continue;
            float v = (float)count / (float)top * 255 + shift;
            paint_rgb((uint8_t)((int)v & 255), sat, val, rgb + y * s->size + x, plane);
        }
}

/* 3x3 Gaussian; beyond an edge the picture is mirrored about its outermost pixels. */
static void paint_blur(uint8_t *p, uint8_t *copy, int64_t size, float side_weight)
{
    float w1 = side_weight, w0 = 1 - 2 * w1;
    memcpy(copy, p, (size_t)(size * size));
    for (int64_t y = 0; y < size; y++) {
        const uint8_t *here = copy + y * size;
        const uint8_t *up = copy + (y > 0 ? y - 1 : 1) * size;
        const uint8_t *down = copy + (y < size - 1 ? y + 1 : size - 2) * size;
        float last = w1 * ((float)up[1] + down[1]) + w0 * here[1]; /* column -1 mirrors 1 */
        float now = w1 * ((float)up[0] + down[0]) + w0 * here[0];
        for (int64_t x = 0; x < size; x++) {
            int64_t n = x < size - 1 ? x + 1 : size - 2;
            float next = w1 * ((float)up[n] + down[n]) + w0 * here[n];
            p[y * size + x] = paint_byte(w1 * (last + next) + w0 * now);
            last = now;
            now = next;
        }
    }
}

/* Half of the images. */
static void paint_blur_some(const eg_fractals_scratch *s, eg_rng *r, int64_t planes, uint8_t *p)
{
    uint32_t coin = eg_rng_u32(r);
    double sigma = eg_rng_uniform(r, 0.5, 1), g = eg_real_exp(-1 / (2 * sigma * sigma));
    if (coin & 1)
        for (int64_t c = 0; c < planes; c++)
            paint_blur(p + c * s->size * s->size, s->blur, s->size, (float)(g / (1 + 2 * g)));
}

void eg_fractals_paint(eg_fractals_scratch *s, eg_rng *r, uint8_t *rgb)
{
    paint_background(s, r, rgb);
    paint_foreground(s, r, rgb);
    paint_blur_some(s, r, 3, rgb);
}

void eg_fractals_paint_grey(eg_fractals_scratch *s, eg_rng *r, uint8_t *grey)
{
    float top = (float)paint_top(s);
    paint_walk w = paint_flips(s->size, r);
    float val = (float)eg_rng_uniform(r, 0.5, 1) * 255;
    for (int64_t y = 0; y < s->size; y++)
        for (int64_t x = 0; x < s->size; x++) {
            float count = (float)s->image[w.start + y * w.dy + x * w.dx];
            grey[y * s->size + x] =
                count > 0 ? paint_byte(val * (0.5f + 0.5f * count / top)) : 0;
        }
    paint_blur_some(s, r, 1, grey);
}
