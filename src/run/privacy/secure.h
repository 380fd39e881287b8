/* secure.h - a sum of vectors of which nobody learns a single one: secure aggregation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The protocol is that of Bonawitz et al. (2017), with its check against a server that cheats;
 * with many clients each deals with some of them only (Bell et al., 2020). It has two roles and
 * goes in steps. Each role is a state machine that takes messages as bytes and makes messages
 * as bytes: nothing here sends, waits, or trusts what it is told.
 *
 *   1. keys    the server says who is in the exchange; a client draws two X25519 keys and the
 *              seed b of its own mask, and signs the public ones and the hash of b
 *   2. shares  it gets all keys; it deals b and the secret behind its mask key in shares, one
 *              of each sealed and signed for every holder
 *      opened  it gets what was sealed for it, and names those whose shares are nonsense: they
 *              are left out before there is a mask
 *   3. masked  it sends its vector plus its own mask plus or minus the masks it shares with
 *              each other one
 *   4. check   it signs the list of those heard in 3
 *   5. unmask  it gives its shares of b of those in the list, if enough signed just this list,
 *              and of the secrets of those who are gone; never both of one client
 *
 * A client that was refused something, or saw the server cheat, gets a failure with one
 * sentence; it has then forgotten its secrets, and every later step fails.
 */
#ifndef EG_SECURE_H
#define EG_SECURE_H

#include "io/sodium.h"

enum {
    EG_SECURE_LEAST = 3,    /* clients */
    EG_SECURE_MOST = 65535, /* likewise */
    EG_SECURE_MANY = 64,    /* up to here all are each other's holders */
};

typedef enum eg_secure_step {
    EG_SECURE_KEYS,
    EG_SECURE_SHARES,
    EG_SECURE_OPENED,
    EG_SECURE_MASKED,
    EG_SECURE_CHECK,
    EG_SECURE_UNMASK,
    EG_SECURE_N_STEPS,
} eg_secure_step;
extern const char *const eg_secure_step_names[EG_SECURE_N_STEPS];

/* Bytes of a message; free(bytes). */
typedef struct eg_blob {
    unsigned char *bytes;
    size_t n;
} eg_blob;

/* What both sides must mean alike, or no signature fits. */
typedef struct eg_secure_of {
    eg_secret run;     /* the run's digest */
    int64_t round;     /* from 0 */
    uint32_t exchange; /* its place in the agreement */
} eg_secure_of;

/* How many of n must go along in every step, and must share their secrets' pieces. */
size_t eg_secure_threshold(size_t n);
/* With how many others each of n clients shares its secrets. */
size_t eg_secure_neighbours(size_t n);

/* Finds a client's public identity key; false: it is not known. */
typedef bool (*eg_secure_member)(const void *context, int64_t client, eg_secret out);

/* --- A client's side. */

typedef struct eg_secure_client eg_secure_client;

typedef struct eg_secure_client_how {
    eg_secure_of of;
    int64_t me;
    const eg_identity *identity;
    eg_secure_member member; /* of its own members file, not of the server */
    const void *context;
} eg_secure_client_how;

/* The first step makes a client. Its answer is *out. */
eg_status eg_secure_client_begin(const eg_secure_client_how *how, const void *in, size_t n,
                                 eg_secure_client **c, eg_blob *out);
/* A later step; of EG_SECURE_MASKED *out is empty, and eg_secure_client_mask follows. */
eg_status eg_secure_client_hear(eg_secure_client *c, const eg_secure_client_how *how,
                                eg_secure_step step, const void *in, size_t n, eg_blob *out);
/* Masks its vector, once. */
eg_status eg_secure_client_mask(eg_secure_client *c, uint32_t *y, size_t n);
size_t eg_secure_client_n(const eg_secure_client *c); /* clients of the exchange */
void eg_secure_client_free(eg_secure_client *c);      /* wipes it; NULL is fine */

/* All of it as bytes, secrets included, and back: for the client alone. */
eg_status eg_secure_client_pack(const eg_secure_client *c, eg_blob *out);
eg_status eg_secure_client_unpack(const void *bytes, size_t n, eg_secure_client **out);

/* --- The server's side. */

typedef struct eg_secure_server eg_secure_server;

typedef struct eg_secure_server_how {
    eg_secure_of of;
    size_t n;
    const int64_t *clients; /* [n], ascending */
    eg_secure_member member;
    const void *context;
    size_t length; /* of the vectors */
} eg_secure_server_how;

/* EG_EINVAL: there are too few clients, or too many. */
eg_status eg_secure_server_new(const eg_secure_server_how *how, eg_secure_server **out);
void eg_secure_server_free(eg_secure_server *s); /* NULL is fine */

/* Whether client number i is asked in this step. */
bool eg_secure_server_asks(const eg_secure_server *s, eg_secure_step step, size_t i);
/* What it is told. */
eg_status eg_secure_server_tell(const eg_secure_server *s, eg_secure_step step, size_t i,
                                eg_blob *out);
/* Its answer; of EG_SECURE_MASKED its vector. On failure the client is left out, and nothing
 * else has changed. */
eg_status eg_secure_server_hear(eg_secure_server *s, eg_secure_step step, size_t i,
                                const void *in, size_t n);
eg_status eg_secure_server_add(eg_secure_server *s, size_t i, const uint32_t *y, size_t n);
/* All answers of the step are in. EG_ENOTSUP: too few; the exchange is abandoned. */
eg_status eg_secure_server_close(eg_secure_server *s, eg_secure_step step);
/* After the last step: the sum over those in the list, [length], borrowed. */
const uint32_t *eg_secure_server_sum(const eg_secure_server *s);
/* Whether client i is in it. */
bool eg_secure_server_counts(const eg_secure_server *s, size_t i);

#endif
