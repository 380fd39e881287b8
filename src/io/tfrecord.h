/* tfrecord.h - the files of records that TensorFlow and TensorBoard read.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is its length (8 bytes, little-endian), a checksum of these, its bytes, and a
 * checksum of those. A checksum is CRC-32C, turned and shifted so that a checksum of checksums
 * does not come out too simple.
 */
#ifndef EG_TFRECORD_H
#define EG_TFRECORD_H

#include "base/base.h"

#include <stdio.h>

uint32_t eg_crc32c(const void *bytes, size_t n); /* Castagnoli's polynomial (RFC 3720) */

/* Appends a record; errors are those of the stream. */
void eg_tfrecord_write(FILE *f, const void *bytes, size_t n);

#endif
