/* sodium.c - libsodium, the only file that uses it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/sodium.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

_Static_assert(EG_SECRET == crypto_sign_PUBLICKEYBYTES && EG_SECRET == crypto_sign_SEEDBYTES &&
                   EG_SECRET == crypto_scalarmult_BYTES &&
                   EG_SECRET == crypto_scalarmult_SCALARBYTES &&
                   EG_SECRET == crypto_core_ed25519_SCALARBYTES &&
                   EG_SECRET == crypto_stream_chacha20_ietf_KEYBYTES &&
                   EG_SECRET == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
                   EG_SIGNATURE == crypto_sign_BYTES &&
                   EG_SEAL == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES +
                                  crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "sizes of libsodium");

static void sodium_begin(void)
{
    EG_ASSERT(sodium_init() >= 0); /* fails only where the system has no random numbers */
}

/* Before any call: it finds out what the processor can. */
static void sodium_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sodium_begin);
}

void eg_random(void *out, size_t n)
{
    sodium_ready();
    randombytes_buf(out, n);
}

void eg_wipe(void *bytes, size_t n)
{
    sodium_memzero(bytes, n);
}

bool eg_same(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}

void eg_digest(const char *purpose, const eg_piece_of *pieces, size_t n, eg_secret out)
{
    crypto_generichash_state s;
    sodium_ready();
    size_t length = strlen(purpose);
    EG_ASSERT(length > 0 && length <= crypto_generichash_KEYBYTES_MAX);
    crypto_generichash_init(&s, (const unsigned char *)purpose, length, EG_SECRET);
    for (size_t i = 0; i < n; i++) {
        unsigned char size[8];
        for (size_t k = 0; k < sizeof size; k++)
            size[k] = (unsigned char)((uint64_t)pieces[i].n >> 8 * k);
        crypto_generichash_update(&s, size, sizeof size);
        crypto_generichash_update(&s, pieces[i].bytes, pieces[i].n);
    }
    crypto_generichash_final(&s, out, EG_SECRET);
    eg_wipe(&s, sizeof s);
}

void eg_identity_new(eg_identity *out)
{
    eg_secret seed;
    eg_random(seed, sizeof seed);
    eg_identity_of(seed, out);
    eg_wipe(seed, sizeof seed);
}

void eg_identity_of(const eg_secret seed, eg_identity *out)
{
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    sodium_ready();
    memcpy(out->seed, seed, EG_SECRET);
    crypto_sign_seed_keypair(out->public, secret, seed);
    eg_wipe(secret, sizeof secret);
}

void eg_sign(const eg_identity *who, const void *text, size_t n, eg_signature out)
{
    unsigned char
        secret[crypto_sign_SECRETKEYBYTES]; /* libsodium's: the seed, the public key */
    sodium_ready();
    memcpy(secret, who->seed, EG_SECRET);
    memcpy(secret + EG_SECRET, who->public, EG_SECRET);
    crypto_sign_detached(out, NULL, text, n, secret);
    eg_wipe(secret, sizeof secret);
}

bool eg_is_signed(const eg_secret public, const void *text, size_t n, const eg_signature by)
{
    sodium_ready();
    return crypto_sign_verify_detached(by, text, n, public) == 0;
}

void eg_agree_public(const eg_secret mine, eg_secret public)
{
    sodium_ready();
    crypto_scalarmult_base(public, mine);
}

eg_status eg_agree(const eg_secret mine, const eg_secret theirs, eg_secret out)
{
    sodium_ready();
    if (crypto_scalarmult(out, mine, theirs) == 0)
        return EG_OK;
    memset(out, 0, EG_SECRET);
    return eg_fail(EG_EFORMAT, "a public key is none: every key agreed on with it is the same");
}

void eg_seal(const eg_secret key, const eg_piece_of about, const void *text, size_t n,
             unsigned char *out)
{
    enum { NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES };
    eg_random(out, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + NONCE, NULL, text, n, about.bytes, about.n,
                                               NULL, out, key);
}

eg_status eg_unseal(const eg_secret key, const eg_piece_of about, const void *sealed, size_t n,
                    void *out)
{
    enum { NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES };
    const unsigned char *in = sealed;
    sodium_ready();
    if (n < EG_SEAL)
        return eg_fail(EG_EFORMAT, "%zu bytes are no sealed message", n);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, in + NONCE, n - NONCE,
                                                   about.bytes, about.n, in, key) == 0)
        return EG_OK;
    if (n > EG_SEAL)
        memset(out, 0, n - EG_SEAL);
    return eg_fail(EG_EFORMAT, "a sealed message was not made with this key, or not for this");
}

void eg_stream(const eg_secret key, uint32_t first, void *out, size_t n)
{
    static const unsigned char nonce[crypto_stream_chacha20_ietf_NONCEBYTES] = {0};
    sodium_ready();
    memset(out, 0, n);
    crypto_stream_chacha20_ietf_xor_ic(out, out, n, nonce, first, key);
}

bool eg_scalar_is(const eg_secret a)
{
    eg_secret zero = {0}, same;
    crypto_core_ed25519_scalar_add(same, a, zero); /* reduces */
    bool is = eg_same(same, a, EG_SECRET);
    eg_wipe(same, sizeof same);
    return is;
}

void eg_scalar_random(eg_secret out)
{
    sodium_ready();
    crypto_core_ed25519_scalar_random(out);
}

void eg_scalar_of(uint64_t value, eg_secret out)
{
    memset(out, 0, EG_SECRET);
    for (size_t k = 0; k < 8; k++)
        out[k] = (unsigned char)(value >> 8 * k);
}

void eg_scalar_add(const eg_secret a, const eg_secret b, eg_secret out)
{
    crypto_core_ed25519_scalar_add(out, a, b);
}

void eg_scalar_sub(const eg_secret a, const eg_secret b, eg_secret out)
{
    crypto_core_ed25519_scalar_sub(out, a, b);
}

void eg_scalar_mul(const eg_secret a, const eg_secret b, eg_secret out)
{
    crypto_core_ed25519_scalar_mul(out, a, b);
}

eg_status eg_scalar_invert(const eg_secret a, eg_secret out)
{
    eg_secret of;
    memcpy(of, a, sizeof of); /* out may be a */
    int failed = crypto_core_ed25519_scalar_invert(out, of);
    eg_wipe(of, sizeof of);
    if (failed == 0)
        return EG_OK;
    memset(out, 0, EG_SECRET);
    return eg_fail(EG_EFORMAT, "0 has no inverse");
}
