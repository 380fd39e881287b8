/* jpeg.h - 8-bit images from JPEG.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_JPEG_H
#define EG_JPEG_H

#include "io/image.h"

/* True when the bytes start as a JPEG file does. */
bool eg_jpeg_known(const uint8_t *bytes, size_t n);

/* Decodes a grey or colour JPEG; name is for the error text. Release with eg_image_fini.
 * EG_ENOTSUP: printing colours (CMYK); EG_EFORMAT: cut short or damaged. */
eg_status eg_jpeg_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out);

#endif
