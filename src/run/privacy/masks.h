/* masks.h - streams of whole numbers that are added to a vector and taken off again.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_MASKS_H
#define EG_MASKS_H

#include "io/sodium.h"

/* Adds the stream of a key to y [n], modulo 2^32; minus: takes it off. A key is for one vector.
 */
void eg_mask_add(const eg_secret key, bool minus, uint32_t *y, size_t n);

#endif
