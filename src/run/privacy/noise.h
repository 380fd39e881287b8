/* noise.h - normal noise of the system's generator.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_NOISE_H
#define EG_NOISE_H

#include "io/sodium.h"

/* A key of the system's generator; or, for tests alone, one that follows from a text. */
void eg_noise_key(eg_secret out);
void eg_noise_key_of(const void *text, size_t n, eg_secret out);

/* Adds to x [n] normal numbers of this deviation, from the stream of a key, which is then
 * used. */
void eg_noise_add(const eg_secret key, double deviation, double *x, size_t n);

#endif
