/* engram/keys.h - who a device is: files of keys, and codes with which new devices enrol.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device has a file with its secret key, "7 ed25519-secret:HEX", or with a secret word that
 * the server knows too, "7 WORD". A server has a file with a line per decision about a client;
 * the last line about a client counts:
 *
 *     7 ed25519:HEX      its device signs what it asks, and this is its public key
 *     7 0f1e2d...        its device shows this secret word
 *     7 code:HEX@TIME    who shows this code (its digest) may give client 7 a key, until then
 *     7 revoked          nobody is client 7
 *
 * What follows a hash is a comment. Lines are only added, so that a server that runs and this
 * program may both write to one file. Every error names the file.
 */
#ifndef EG_PUBLIC_KEYS_H
#define EG_PUBLIC_KEYS_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum { EG_KEY = 129 }; /* characters of a key as text, with the zero */

typedef enum eg_key_kind {
    EG_KEY_NONE,    /* nothing is said of the client */
    EG_KEY_WORD,    /* a word that both sides know */
    EG_KEY_PUBLIC,  /* of a device that signs */
    EG_KEY_SECRET,  /* the device's own half */
    EG_KEY_CODE,    /* nobody yet: a code waits to be used */
    EG_KEY_REVOKED, /* nobody any more */
} eg_key_kind;

/* Which of them a key is, by its text. */
eg_key_kind eg_key_kind_of(const char *key);

/* Makes a device's file with a new secret key, which only its owner may read; it must not be
 * there. client -1: the file does not say which it is. public: "ed25519:HEX", for the server.
 */
eg_status eg_key_new(const char *path, int64_t client, char public_key[EG_KEY]);

/* The public key of a device's file, and the client it says it is, -1: it does not say.
 * EG_ENOENT: there is no secret key in it. */
eg_status eg_key_public(const char *path, int64_t *client, char public_key[EG_KEY]);

/* Adds a line to a server's file, which is made if it is not there: a client's public key; that
 * nobody is this client any more (EG_ENOENT: nobody was); a code, "7-0f1e2d3c4b5a69788796a5",
 * that is good once, for so many seconds. Of a code, client -1 is the lowest number of which
 * nothing is said yet. */
eg_status eg_keys_add(const char *path, int64_t client, const char *public_key);
eg_status eg_keys_revoke(const char *path, int64_t client);
eg_status eg_keys_invite(const char *path, int64_t client, double seconds, char code[EG_KEY]);

/* A client of a server's file. */
typedef struct eg_keys_row {
    int64_t client;
    eg_key_kind kind;
    const char *public_key; /* "ed25519:HEX"; NULL: it has none */
    int64_t until;          /* of a code: seconds since 1970 */
} eg_keys_row;

/* Calls visit with each client, in order. */
eg_status eg_keys_list(const char *path,
                       eg_status (*visit)(void *context, const eg_keys_row *row),
                       void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
