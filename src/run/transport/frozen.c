/* frozen.c - packs and unpacks what of a network is frozen, by checksum.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/frozen.h"

#include "base/base.h"
#include "base/checksum.h"

#include <engram/exchange.h>

#include <string.h>

#define FROZEN_NAME "frozen"

size_t eg_frozen_length(const eg_params *p)
{
    size_t n = 0;
    for (size_t i = 0; i < eg_params_n(p); i++)
        n += eg_params_at(p, i)->frozen ? eg_params_at(p, i)->size : 0;
    return n;
}

static void frozen_digest(const float *values, size_t n, char out[EG_FROZEN_DIGEST])
{
    uint8_t digest[32];
    eg_sha256_of(values, n * sizeof *values, digest);
    eg_sha256_text(digest, out);
}

eg_status eg_frozen_pack(const eg_params *p, unsigned char **bytes, size_t *n,
                         char digest[EG_FROZEN_DIGEST])
{
    size_t length = eg_frozen_length(p), at = 0;
    eg_bundle *b;
    float *to;
    EG_TRY(eg_bundle_new(&b));
    eg_status s = eg_bundle_room(b, FROZEN_NAME, eg_dims((int64_t)length), &to);
    for (size_t i = 0; s == EG_OK && i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        if (t->frozen)
            memcpy(to + at, t->frozen, t->size * sizeof *to);
        at += t->frozen ? t->size : 0;
    }
    if (s == EG_OK) {
        frozen_digest(to, length, digest);
        s = eg_bundle_pack(b, bytes, n);
    }
    eg_bundle_free(b);
    return s;
}

eg_status eg_frozen_unpack(const eg_params *p, const void *bytes, size_t n, const char *digest)
{
    size_t length = eg_frozen_length(p), at = 0;
    char is[EG_FROZEN_DIGEST];
    const float *values;
    eg_bundle *b;
    EG_TRY(eg_bundle_unpack(bytes, n, &b));
    eg_status s = eg_bundle_need(b, FROZEN_NAME, length, &values);
    if (s == EG_OK) {
        frozen_digest(values, length, is);
        if (strcmp(is, digest) != 0)
            s = eg_fail(EG_EFORMAT, "the frozen weights have checksum %.16s, not %.16s", is,
                        digest);
        else if (!eg_all_finite(values, length))
            s = eg_fail(EG_EFORMAT, "the frozen weights are not finite");
    }
    for (size_t i = 0; s == EG_OK && i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        if (t->frozen)
            memcpy(t->frozen, values + at, t->size * sizeof *values);
        at += t->frozen ? t->size : 0;
    }
    eg_bundle_free(b);
    return s;
}
