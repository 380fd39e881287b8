/* signed.h - signed requests: who asks, what, and that it was not asked before.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device signs with its Ed25519 key what it asks: the method, the path, the numbers of the
 * query, the body's digest, a word that the server drew when it started (its salt) and a number
 * that grows. So what somebody heard of an earlier request, where TLS ends at a proxy or
 * anywhere else, cannot be said again, nor to a server that started anew.
 */
#ifndef EG_SIGNED_H
#define EG_SIGNED_H

#include "io/sodium.h"

enum {
    EG_SIGNED_SALT = 33, /* characters of a salt, with the zero */
    EG_SIGNED = 320,     /* and room for all that stands behind "Authorization: Ed25519 " */
};

/* What is asked. */
typedef struct eg_request_line {
    const char *method, *path; /* the path without its query */
    int64_t client, session, number;
} eg_request_line;

typedef struct eg_signed {
    char salt[EG_SIGNED_SALT];
    uint64_t sequence;
    eg_secret body; /* the digest */
    eg_signature by;
} eg_signed;

/* The digest of a request's body. */
void eg_signed_digest(const void *body, size_t n, eg_secret out);

/* Signs; salt, sequence and body are set. */
void eg_signed_make(eg_signed *p, const eg_request_line *what, const eg_identity *who);
bool eg_signed_holds(const eg_signed *p, const eg_request_line *what, const eg_secret public);

/* As text, and back: false if it is none. */
void eg_signed_print(const eg_signed *p, char out[EG_SIGNED]);
bool eg_signed_read(const char *text, eg_signed *out);

/* Signs for one who enrols: that the key's secret half is in its hands. */
void eg_signed_enrol(const eg_identity *who, int64_t client, eg_signature out);
bool eg_signed_enrols(const eg_secret public, int64_t client, const eg_signature by);

/* Which numbers were seen: all up to `most` - 63, and of the last 64 those whose bit is set. */
typedef struct eg_seen_numbers {
    uint64_t most, bits;
} eg_seen_numbers;
bool eg_seen_new(eg_seen_numbers *s, uint64_t number); /* whether it is new; now it is seen */

#endif
