/* keys.h - the secret words by which a server knows its devices.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file has a line for each client, "3 0f1e...", and may have comments behind a hash.
 */
#ifndef EG_KEYS_H
#define EG_KEYS_H

#include "base/base.h"

enum { EG_KEY = 129 }; /* characters of a key, with the zero */

typedef char eg_key[EG_KEY];

/* Reads the keys of clients 0 to n - 1 into keys [n]. EG_ENOENT: there is no such file, or none
 * of a client; EG_EINVAL: others than its owner can read it; EG_EFORMAT names the line that is
 * wrong. */
eg_status eg_keys_load(const char *path, int64_t n, eg_key *keys);

/* Makes a file of n new keys that only its owner may read; it must not be there. */
eg_status eg_keys_make(const char *path, int64_t n);

/* One client's key, from a file of all keys or of this one: then it may stand alone. */
eg_status eg_keys_find(const char *path, int64_t client, eg_key out);

/* Whether two keys are the same, in a time that does not tell where they differ. */
bool eg_keys_equal(const eg_key mine, const char *told);

#endif
