/* signed.c - signed requests as texts, and what is signed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/signed.h"

#include "run/transport/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNED_TEXT = 512, SIGNED_WINDOW = 64 };

void eg_signed_digest(const void *body, size_t n, eg_secret out)
{
    eg_digest("engram body", &(eg_piece_of){body, n}, 1, out);
}

/* What is signed: a line for each thing. */
static size_t signed_text(const eg_signed *p, const eg_request_line *what,
                          char out[SIGNED_TEXT])
{
    char body[2 * EG_SECRET + 1];
    eg_hex_print(p->body, EG_SECRET, body);
    int n =
        snprintf(out, SIGNED_TEXT, "engram request 1\n%s\n%s\n%lld\n%lld\n%lld\n%s\n%llu\n%s\n",
                 what->method, what->path, (long long)what->client, (long long)what->session,
                 (long long)what->number, p->salt, (unsigned long long)p->sequence, body);
    return n > 0 && n < SIGNED_TEXT ? (size_t)n : 0;
}

void eg_signed_make(eg_signed *p, const eg_request_line *what, const eg_identity *who)
{
    char text[SIGNED_TEXT];
    size_t n = signed_text(p, what, text);
    EG_ASSERT(n > 0);
    eg_sign(who, text, n, p->by);
}

bool eg_signed_holds(const eg_signed *p, const eg_request_line *what, const eg_secret public)
{
    char text[SIGNED_TEXT];
    size_t n = signed_text(p, what, text);
    return n > 0 && eg_is_signed(public, text, n, p->by);
}

void eg_signed_print(const eg_signed *p, char out[EG_SIGNED])
{
    char body[2 * EG_SECRET + 1], by[2 * EG_SIGNATURE + 1];
    eg_hex_print(p->body, EG_SECRET, body);
    eg_hex_print(p->by, EG_SIGNATURE, by);
    snprintf(out, EG_SIGNED, "%s:%llu:%s:%s", p->salt, (unsigned long long)p->sequence, body,
             by);
}

/* The word up to a colon, or to the end; NULL: it is longer than that, or there is none. */
static const char *signed_word(const char *at, char *out, size_t room, char end)
{
    size_t n = strcspn(at, ":");
    if (n >= room || at[n] != end)
        return NULL;
    snprintf(out, room, "%.*s", (int)n, at);
    return at + n + (end != 0);
}

bool eg_signed_read(const char *text, eg_signed *out)
{
    char sequence[21], body[2 * EG_SECRET + 1], by[2 * EG_SIGNATURE + 1];
    const char *at = signed_word(text, out->salt, sizeof out->salt, ':');
    at = at ? signed_word(at, sequence, sizeof sequence, ':') : NULL;
    at = at ? signed_word(at, body, sizeof body, ':') : NULL;
    at = at ? signed_word(at, by, sizeof by, 0) : NULL;
    if (!at || !*sequence || strspn(sequence, "0123456789") != strlen(sequence) ||
        strlen(sequence) > 19)
        return false;
    out->sequence = strtoull(sequence, NULL, 10);
    return eg_hex_read(body, out->body, EG_SECRET) && eg_hex_read(by, out->by, EG_SIGNATURE);
}

static size_t signed_enrol_text(const eg_secret public, int64_t client, char out[SIGNED_TEXT])
{
    char hex[2 * EG_SECRET + 1];
    eg_hex_print(public, EG_SECRET, hex);
    return (size_t)snprintf(out, SIGNED_TEXT, "engram enrol 1\n%lld\n%s\n", (long long)client,
                            hex);
}

void eg_signed_enrol(const eg_identity *who, int64_t client, eg_signature out)
{
    char text[SIGNED_TEXT];
    eg_sign(who, text, signed_enrol_text(who->public, client, text), out);
}

bool eg_signed_enrols(const eg_secret public, int64_t client, const eg_signature by)
{
    char text[SIGNED_TEXT];
    return eg_is_signed(public, text, signed_enrol_text(public, client, text), by);
}

bool eg_seen_new(eg_seen_numbers *s, uint64_t number)
{
    uint64_t ahead = number > s->most ? number - s->most : 0, behind = s->most - number;
    if (number == 0 || (!ahead && behind >= SIGNED_WINDOW) || (!ahead && s->bits >> behind & 1))
        return false;
    if (ahead) {
        s->bits = ahead < SIGNED_WINDOW ? s->bits << ahead | 1 : 1;
        s->most = number;
    } else {
        s->bits |= (uint64_t)1 << behind;
    }
    return true;
}
