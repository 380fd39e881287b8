/* sodium.h - signatures, agreed keys, sealed messages, streams, scalars: libsodium.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and scalars are 32 bytes, and the caller owns them: whoever holds a secret wipes it with
 * eg_wipe. Any number of threads may call at once. What is only checked returns a bool; what
 * may fail on bad input leaves EG_EFORMAT, and its results are then zeros.
 */
#ifndef EG_SODIUM_H
#define EG_SODIUM_H

#include "base/base.h"

enum {
    EG_SECRET = 32,       /* bytes of a secret, a public key, a seed, a scalar, a digest */
    EG_SIGNATURE = 64,    /* bytes of a signature */
    EG_SEAL = 24 + 16,    /* bytes that sealing adds: a nonce and a tag */
    EG_STREAM_BLOCK = 64, /* bytes of a block, where eg_stream may begin */
};

typedef unsigned char eg_secret[EG_SECRET];
typedef unsigned char eg_signature[EG_SIGNATURE];

/* Bytes of the system's generator, and the end of what must not be found in memory. */
void eg_random(void *out, size_t n);
void eg_wipe(void *bytes, size_t n);

/* Whether two texts of n bytes are the same, in a time that does not tell where they differ. */
bool eg_same(const void *a, const void *b, size_t n);

/* A digest of pieces in order (BLAKE2b, keyed by `purpose`, so that one purpose's digest is
 * never another's). Each piece counts with its length. */
typedef struct eg_piece_of {
    const void *bytes;
    size_t n;
} eg_piece_of;
void eg_digest(const char *purpose, const eg_piece_of *pieces, size_t n, eg_secret out);

/* --- Who somebody is: Ed25519. The secret is a seed; the public key follows from it. */

typedef struct eg_identity {
    eg_secret seed, public;
} eg_identity;
void eg_identity_new(eg_identity *out);
void eg_identity_of(const eg_secret seed, eg_identity *out);
void eg_sign(const eg_identity *who, const void *text, size_t n, eg_signature out);
bool eg_is_signed(const eg_secret public, const void *text, size_t n, const eg_signature by);

/* --- A key that two agree on: X25519. EG_EFORMAT: the other's public key is none, so that the
 * agreed one would not be secret. */

void eg_agree_public(const eg_secret mine, eg_secret public);
eg_status eg_agree(const eg_secret mine, const eg_secret theirs, eg_secret out);

/* --- Text for one reader: XChaCha20-Poly1305 under a key. `about` is not hidden, but must be
 * the same at both ends. out of eg_seal has n + EG_SEAL bytes, out of eg_unseal n - EG_SEAL. */

void eg_seal(const eg_secret key, const eg_piece_of about, const void *text, size_t n,
             unsigned char *out);
eg_status eg_unseal(const eg_secret key, const eg_piece_of about, const void *sealed, size_t n,
                    void *out);

/* --- Bytes that look random to all who lack the key: ChaCha20, from block `first` on. A key
 * has one stream: use it once. */
void eg_stream(const eg_secret key, uint32_t first, void *out, size_t n);

/* --- Numbers modulo the prime order of Ed25519's group, below 2^253. */

bool eg_scalar_is(const eg_secret a); /* whether it is below the order, as all results are */
void eg_scalar_random(eg_secret out);
void eg_scalar_of(uint64_t value, eg_secret out);
void eg_scalar_add(const eg_secret a, const eg_secret b, eg_secret out);
void eg_scalar_sub(const eg_secret a, const eg_secret b, eg_secret out);
void eg_scalar_mul(const eg_secret a, const eg_secret b, eg_secret out);
/* EG_EFORMAT: a is 0. */
eg_status eg_scalar_invert(const eg_secret a, eg_secret out);

#endif
