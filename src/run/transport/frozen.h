/* frozen.h - what of a network is frozen, as bytes that a server gives a device once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All frozen tensors stand one after the other in the order of the table, without gaps; their
 * checksum is that of the values.
 */
#ifndef EG_FROZEN_H
#define EG_FROZEN_H

#include <engram/params.h>

enum { EG_FROZEN_DIGEST = 65 };

size_t eg_frozen_length(const eg_params *p); /* values; 0: nothing is frozen */

/* The values of the table as bytes, which free() ends, and their checksum. */
eg_status eg_frozen_pack(const eg_params *p, unsigned char **bytes, size_t *n,
                         char digest[EG_FROZEN_DIGEST]);

/* Takes such bytes into the table. EG_EFORMAT: they are none, or have another checksum; the
 * table is as it was then. */
eg_status eg_frozen_unpack(const eg_params *p, const void *bytes, size_t n, const char *digest);

#endif
