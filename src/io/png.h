/* png.h - 8-bit images from and to PNG.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PNG_H
#define EG_PNG_H

#include "io/image.h"

/* True when the bytes start as a PNG file does. */
bool eg_png_known(const uint8_t *bytes, size_t n);

/* Decodes a PNG of any kind: palettes become RGB, 16 bits become 8, alpha is dropped. name is
 * for the error text. Release with eg_image_fini. */
eg_status eg_png_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

eg_status eg_png_save(const char *path, const eg_image *im);
eg_status eg_png_print(const eg_image *im, uint8_t **out, size_t *n); /* free() *out */

#endif
