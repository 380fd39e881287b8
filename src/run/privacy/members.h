/* members.h - whose identity is whose: in a simulation by its seed, on a device by files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A members file has a line per client, "7 ed25519:HEX": its number, its public key. The last
 * line about a client counts; one with another word takes its key away, so that a server's file
 * of keys is one. What follows a hash is a comment. A client goes by its own copy of the file,
 * never by what the server says. One thread at a time.
 */
#ifndef EG_MEMBERS_H
#define EG_MEMBERS_H

#include "io/sodium.h"

typedef struct eg_members eg_members;

/* All clients of a simulation: anybody can work out their keys, as there is nobody to hide
 * from.
 */
eg_status eg_members_simulate(uint64_t seed, eg_members **out);

/* From a file. EG_ENOENT: it is not there; EG_EFORMAT, with its line: it makes no sense, or two
 * clients have one key. */
eg_status eg_members_load(const char *path, eg_members **out);
/* Whose secret is known here: a seed, by whose public key the client has its line. EG_EINVAL:
 * the file has another key for it, or none. */
eg_status eg_members_become(eg_members *m, int64_t client, const eg_identity *identity);
/* The same of a device's key file, in which "ed25519-secret:HEX" stands. */
eg_status eg_members_become_file(eg_members *m, int64_t client, const char *path);
void eg_members_free(eg_members *m); /* NULL is fine */

/* A client's public key; false: it is no member. The context is an eg_members. */
bool eg_members_find(const void *members, int64_t client, eg_secret out);
/* Its identity, if it is known here. */
bool eg_members_identity(const eg_members *m, int64_t client, eg_identity *out);
/* EG_ENOENT, with the first client from 0 to n - 1 that is no member. */
eg_status eg_members_check(const eg_members *m, int64_t n);

#endif
