/* gz.h - whole files, plain or gzip, and the compressed entries of a zip archive.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every call states how much it expects, so that a file made to fill the memory is refused as
 * soon as it passes that. Errors name the path.
 */
#ifndef EG_GZ_H
#define EG_GZ_H

#include "base/base.h"

/* Reads up to n bytes of the (unpacked) start of a file; *got says how many there were. */
eg_status eg_gz_peek(const char *path, size_t n, void *head, size_t *got);

/* Reads a file whole, unpacking it when it starts with gzip's magic. Free *out with free(); it
 * is never NULL, even for an empty file. EG_ENOENT: not there; EG_EFORMAT: more than max bytes,
 * or a damaged or cut gzip. */
eg_status eg_gz_load(const char *path, size_t max, uint8_t **out, size_t *n);

/* The same without the first `head` bytes, at most 64, which max counts too. */
eg_status eg_gz_load_behind(const char *path, size_t head, size_t max, uint8_t **out,
                            size_t *n);

/* Unpacks a raw deflate stream of n bytes that must give exactly n_out bytes. */
eg_status eg_gz_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t n_out);

/* Unpacks the first bytes of one, at most `room`; *got says how many. */
eg_status eg_gz_inflate_head(const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *got);

uint32_t eg_gz_crc32(const uint8_t *bytes, size_t n);

#endif
