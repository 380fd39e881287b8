/* checksum.h - the checksum of what is kept in files and of data: fast, 64 bits, no secret.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CHECKSUM_H
#define EG_CHECKSUM_H

#include "base/base.h"

/* A checksum of n bytes. The seed is any number, or the sum of what stood before, so that
 * pieces can be chained. A change within one word of eight bytes always shows. */
uint64_t eg_checksum(uint64_t seed, const void *bytes, size_t n);

#endif
