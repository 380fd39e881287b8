/* image.h - 8-bit pictures, and reading them whatever their format.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_IMAGE_H
#define EG_IMAGE_H

#include "base/base.h"

/* No picture of a data set is larger than this many pixels; what claims to be is refused. */
#define EG_IMAGE_MAX_PIXELS ((int64_t)1 << 26)

/* Rows from the top, channels side by side. Owns its pixels. */
typedef struct eg_image {
    int64_t height, width, channels; /* 1: grey, 3: RGB */
    uint8_t *pixels;                 /* [h, w, c] */
} eg_image;

void eg_image_fini(eg_image *im);

/* Decodes PNG, JPEG, WebP or BMP, told apart by their first bytes. name is for the error text.
 */
eg_status eg_image_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);
eg_status eg_image_load(const char *path, eg_image *out);

/* True when the bytes start as a PNG file does. */
bool eg_png_known(const uint8_t *bytes, size_t n);

/* Decodes a PNG of any kind: palettes become RGB, 16 bits become 8, alpha is dropped. name is
 * for the error text. Release with eg_image_fini. */
eg_status eg_png_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

eg_status eg_png_save(const char *path, const eg_image *im);
eg_status eg_png_print(const eg_image *im, uint8_t **out, size_t *n); /* free() *out */

/* True when the bytes start as a JPEG file does. */
bool eg_jpeg_known(const uint8_t *bytes, size_t n);

/* Decodes a JPEG: grey, colour, or printing colours (CMYK), which become RGB without a profile.
 * name is for the error text. Release with eg_image_fini. EG_EFORMAT: cut short or damaged. */
eg_status eg_jpeg_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

/* The same of WebP, whose alpha is dropped. EG_ENOTSUP: an animation. */
bool eg_webp_known(const uint8_t *bytes, size_t n);
eg_status eg_webp_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

/* The same of BMP. EG_ENOTSUP: compressed, or 16 bits per pixel. */
bool eg_bmp_known(const uint8_t *bytes, size_t n);
eg_status eg_bmp_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

#endif
