/* keys.h - by which a server knows its devices: secret words, or public keys.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_KEYS_H
#define EG_KEYS_H

#include <engram/keys.h>

#include "io/sodium.h"

typedef char eg_key[EG_KEY];

/* Reads what a server's file says of clients 0 to n - 1 into keys [n]; "": nothing. EG_ENOENT:
 * there is no such file; EG_EINVAL: others than its owner can read it; EG_EFORMAT names the
 * line that is wrong. */
eg_status eg_keys_load(const char *path, int64_t n, eg_key *keys);

/* Makes a file of n new words that only its owner may read; it must not be there. */
eg_status eg_keys_make(const char *path, int64_t n);

/* One client's key, from a file of all keys or of this one: then it may stand alone. client -1:
 * the file's only one, whose number, if it says one, is *is. */
eg_status eg_keys_find(const char *path, int64_t client, int64_t *is, eg_key out);

/* Whether two words are the same, in a time that does not tell where they differ. */
bool eg_keys_equal(const eg_key mine, const char *told);

/* Whether a code is the one that this key (EG_KEY_CODE) waits for. *late: it was, and its time
 * is over. */
bool eg_key_is_code(const eg_key key, const char *code, bool *late);

/* The client that a code names; -1: it is no code. */
int64_t eg_key_code_client(const char *code);

/* The bytes of a public key's text, and what a secret one makes; false: it is none. And a text
 * of bytes. */
bool eg_key_read_public(const eg_key key, eg_secret out);
bool eg_key_read_secret(const eg_key key, eg_identity *out);
void eg_key_print_public(const eg_secret public, eg_key out);

/* Hexadecimal digits, and back: false if they are not exactly n bytes. */
void eg_hex_print(const unsigned char *bytes, size_t n, char *out);
bool eg_hex_read(const char *text, unsigned char *out, size_t n);

#endif
