/* signed_fuzz.c - who somebody is, of any bytes: a signed request, a key, a code.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What reads as a signed request prints as the same text; no key but the one that signed it
 * holds for it; what is a public key prints as itself.
 */
#include "fuzz/fuzz.h"

#include "run/transport/keys.h"
#include "run/transport/signed.h"

#include <stdlib.h>
#include <string.h>

static void try_signed(const char *text)
{
    static const eg_request_line what = {"GET", "/engram/1/turn", 3, 4, -1};
    static const eg_secret nobody = {1};
    eg_signed s;
    char again[EG_SIGNED];
    if (!eg_signed_read(text, &s))
        return;
    eg_signed_print(&s, again);
    const char *number = strchr(text, ':') + 1;
    if (*number != '0') /* numbers print without zeros before them */
        EG_ASSERT(strcmp(text, again) == 0);
    EG_ASSERT(!eg_signed_holds(&s, &what, nobody));
}

static void try_key(const char *text)
{
    eg_key key = {0}, again;
    eg_secret public;
    eg_identity who;
    bool late;
    if (strlen(text) >= sizeof key)
        return;
    memcpy(key, text, strlen(text));
    if (eg_key_read_public(key, public)) {
        eg_key_print_public(public, again);
        EG_ASSERT(strcmp(key, again) == 0);
    }
    EG_ASSERT(!eg_key_read_secret(key, &who) || eg_key_kind_of(key) == EG_KEY_SECRET);
    EG_ASSERT(!eg_key_is_code(key, "1-0123456789abcdef012345", &late));
    EG_ASSERT(eg_key_code_client(text) >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = 0;
    try_signed(text);
    try_key(text);
    free(text);
    return 0;
}
