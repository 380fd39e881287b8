/* secure_client.h - what a client of a secure exchange keeps between steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SECURE_CLIENT_H
#define EG_SECURE_CLIENT_H

#include "run/privacy/secure_group.h"

enum { EG_SECURE_OVER = EG_SECURE_N_STEPS }; /* no step is left, or it has failed */

/* The parts of fixed size, which its bytes begin with. */
typedef struct eg_secure_head {
    char magic[8];
    uint32_t step, me; /* the next step; its number */
    uint64_t n;
    eg_secret setting;           /* the group's digest */
    eg_secret seal_key, b, mask; /* secrets: an X25519 key; scalars */
    uint32_t must_mask;          /* its vector may be masked now */
    uint32_t n_shares;           /* that it holds */
} eg_secure_head;

/* Two shares of one client's secrets. */
typedef struct eg_secure_pair {
    eg_secret b, mask;
} eg_secure_pair;

struct eg_secure_client {
    eg_secure_head h;
    eg_secure_group g;
    unsigned char *opened;  /* [n]: those of whom it holds shares, or could */
    unsigned char *list;    /* [n]: those it signed that they were heard */
    unsigned char *held;    /* [n]: whose shares it has */
    eg_secure_pair *shares; /* [n] */
};
extern const char eg_secure_client_magic[8];

/* Room for its arrays, once the group is there. */
eg_status eg_secure_client_alloc(eg_secure_client *c);
/* Wipes its secrets: no step is left. */
void eg_secure_client_forget(eg_secure_client *c);

#endif
