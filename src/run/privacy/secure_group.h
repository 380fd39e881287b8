/* secure_group.h - what both roles of secure aggregation know of an exchange, and its messages'
 * parts.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients have numbers, their places in the list that step 1 names. Sets of them are bytes [n],
 * 0 or 1, and bits in messages.
 */
#ifndef EG_SECURE_GROUP_H
#define EG_SECURE_GROUP_H

#include "run/privacy/secure.h"

enum {
    EG_SECURE_TAG = 16, /* bytes of a share's tag, by which a wrong one is found */
    EG_SECURE_SEALED = 2 * EG_SECRET + EG_SEAL,
};

/* What a client says in step 1. Of bytes alone, so that it is its own message. */
typedef struct eg_secure_keys {
    eg_secret seal; /* public: for sealed shares */
    eg_secret mask; /* public: for masks */
    eg_secret hash; /* of b */
    eg_signature by;
} eg_secure_keys;

/* What it says in step 2 to one holder: both shares, sealed; their tags. */
typedef struct eg_secure_dealt {
    unsigned char sealed[EG_SECURE_SEALED];
    unsigned char tag_b[EG_SECURE_TAG], tag_mask[EG_SECURE_TAG];
    eg_signature by;
} eg_secure_dealt;

typedef struct eg_secure_group {
    size_t n;
    int64_t *clients;      /* [n], ascending */
    eg_secret digest;      /* of the setting: run, round, exchange, a nonce, the clients */
    unsigned char *keyed;  /* [n]: those whose keys are there */
    eg_secure_keys *keys;  /* [n] */
    eg_secret root;        /* of the setting and all keys */
    uint32_t *places;      /* [n]: on the circle of those who are keyed */
    size_t n_keyed, reach; /* how far on the circle holders are; 0: all are */
} eg_secure_group;

void eg_secure_group_fini(eg_secure_group *g);

/* The setting's message, and a group from it. */
eg_status eg_secure_group_put(const eg_secure_of *of, const int64_t *clients, size_t n,
                              eg_blob *out);
eg_status eg_secure_group_take(eg_secure_group *g, const eg_secure_of *of, const void *in,
                               size_t n);
eg_status eg_secure_group_alloc(eg_secure_group *g, size_t n);

/* All keys are there: makes the root and the circle. */
eg_status eg_secure_group_close(eg_secure_group *g);

/* Whether one holds shares of the other: symmetric, and true of itself. Both are keyed. */
bool eg_secure_holds(const eg_secure_group *g, size_t u, size_t v);
/* How many shares rebuild a secret. */
size_t eg_secure_needed(const eg_secure_group *g);
size_t eg_secure_count(const unsigned char *set, size_t n);

/* Bits of a set: eg_secure_bits(n) bytes. False: bits beyond n are set. */
size_t eg_secure_bits(size_t n);
void eg_secure_put_set(const unsigned char *set, size_t n, unsigned char *out);
bool eg_secure_take_set(const unsigned char *in, size_t n, unsigned char *out);

/* What is signed: of keys, of what is dealt, of a list. */
void eg_secure_keys_digest(const eg_secure_group *g, size_t u, const eg_secure_keys *k,
                           eg_secret out);
void eg_secure_dealt_digest(const eg_secure_group *g, size_t u, size_t v,
                            const eg_secure_dealt *d, eg_secret out);
void eg_secure_list_digest(const eg_secure_group *g, const unsigned char *opened,
                           const unsigned char *list, eg_secret out);

/* What a secret is hashed to: b's hash; the X25519 key of a scalar; a share's tag; the keys of
 * both masks. `with` of a mask between two is their agreed key. */
void eg_secure_hash_b(const eg_secure_group *g, const eg_secret b, eg_secret out);
void eg_secure_key_of(const eg_secret scalar, eg_secret out);
void eg_secure_tag(const eg_secure_group *g, const char *purpose, size_t of, size_t holder,
                   const eg_secret share, unsigned char out[EG_SECURE_TAG]);
void eg_secure_own_mask(const eg_secure_group *g, size_t u, const eg_secret b, eg_secret out);
eg_status eg_secure_pair_mask(const eg_secure_group *g, size_t u, size_t v,
                              const eg_secret mask_key, const eg_secret theirs, eg_secret out);
extern const char eg_secure_of_b[], eg_secure_of_mask[]; /* purposes of tags */

#endif
