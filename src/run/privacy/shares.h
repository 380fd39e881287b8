/* shares.h - a secret in n shares, of which any t rebuild it and t - 1 say nothing (Shamir).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A secret is a scalar of Ed25519's field: the value at 0 of a random polynomial of degree
 * t - 1. A share is its value at a place, a whole number from 1 on. The caller owns and wipes
 * all of them.
 */
#ifndef EG_SHARES_H
#define EG_SHARES_H

#include "io/sodium.h"

/* Draws the polynomial and fills out [n] with its values at the places [n], which differ. */
eg_status eg_shares_deal(const eg_secret secret, size_t t, const uint32_t *places, size_t n,
                         eg_secret *out);

/* What shares at t places are multiplied by, so that their sum is the secret: the same for all
 * secrets. EG_EINVAL: a place is 0, or there twice. */
eg_status eg_shares_weights(const uint32_t *places, size_t t, eg_secret *out);

/* The secret of t shares. */
void eg_shares_join(eg_secret *weights, eg_secret *shares, size_t t, eg_secret out);

#endif
