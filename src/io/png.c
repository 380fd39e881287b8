/* png.c - libpng's simplified interface, which keeps its long jumps to itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/image.h"

#include "io/file.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

bool eg_png_known(const uint8_t *bytes, size_t n)
{
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    return n >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Closes the gap that dropping alpha, the last of k + 1 channels, leaves. */
static void png_drop_alpha(uint8_t *pixels, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k; c++)
            pixels[i * k + c] = pixels[i * (k + 1) + c];
}

eg_status eg_png_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out)
{
    *out = (eg_image){0};
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (n == 0)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", name);
    if (!png_image_begin_read_from_memory(&png, bytes, n))
        return eg_fail(EG_EFORMAT, "%s: not a readable PNG (%s)", name, png.message);
    bool colour = png.format & PNG_FORMAT_FLAG_COLOR;
    size_t pixels = (size_t)png.width * png.height, channels = colour ? 3 : 1;
    if (pixels > (size_t)EG_IMAGE_MAX_PIXELS) {
        eg_status s = eg_fail(EG_EFORMAT, "%s: %u x %u pixels are too many", name,
                              (unsigned)png.width, (unsigned)png.height);
        png_image_free(&png);
        return s;
    }
    png.format = colour ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
    uint8_t *buffer = malloc(pixels * (channels + 1));
    if (!buffer) {
        png_image_free(&png);
        return eg_fail(EG_ENOMEM, "%s: cannot allocate %zu pixels", name, pixels);
    }
    if (!png_image_finish_read(&png, NULL, buffer, 0, NULL)) {
        free(buffer);
        return eg_fail(EG_EFORMAT, "%s: the PNG is cut short or damaged (%s)", name,
                       png.message);
    }
    png_drop_alpha(buffer, pixels, channels);
    *out = (eg_image){(int64_t)png.height, (int64_t)png.width, (int64_t)channels, buffer};
    return EG_OK;
}

eg_status eg_png_print(const eg_image *im, uint8_t **out, size_t *n)
{
    *out = NULL;
    if (im->height < 1 || im->width < 1 || im->height * im->width > EG_IMAGE_MAX_PIXELS)
        return eg_fail(EG_EINVAL, "cannot write %lld x %lld pixels", (long long)im->width,
                       (long long)im->height);
    png_image png = {.version = PNG_IMAGE_VERSION};
    png.width = (png_uint_32)im->width;
    png.height = (png_uint_32)im->height;
    png.format = im->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    png_alloc_size_t size = 0;
    uint8_t *bytes = NULL;
    if (!png_image_write_to_memory(&png, NULL, &size, 0, im->pixels, 0, NULL) ||
        !(bytes = malloc(size)) ||
        !png_image_write_to_memory(&png, bytes, &size, 0, im->pixels, 0, NULL)) {
        free(bytes);
        return eg_fail(EG_ENOMEM, "cannot make the PNG (%s)", png.message);
    }
    *out = bytes;
    *n = (size_t)size;
    return EG_OK;
}

/* libpng's own writing removes what was there when it fails. */
eg_status eg_png_save(const char *path, const eg_image *im)
{
    uint8_t *bytes;
    size_t n;
    EG_TRY(eg_blame(eg_png_print(im, &bytes, &n), "%s", path));
    eg_status s = eg_file_write(path, &(eg_bytes){bytes, n}, 1);
    free(bytes);
    return s;
}
