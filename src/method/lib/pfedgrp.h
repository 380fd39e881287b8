/* pfedgrp.h - what the two halves of pFedGRP share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PFEDGRP_H
#define EG_PFEDGRP_H

#include <engram/gallery.h>

#include "method/lib/class_replay.h"
#include "method/lib/mixture.h"

typedef enum eg_pfedgrp_start { EG_START_AVERAGE, EG_START_PERSONAL } eg_pfedgrp_start;

typedef struct eg_pfedgrp {
    eg_class_replay_opts replay;
    eg_mixture_opts server;
    int start; /* an eg_pfedgrp_start */
} eg_pfedgrp;

#define EG_PFEDGRP "pfedgrp"
#define EG_PFEDGRP_SHARE                                                                       \
    EG_PFEDGRP ".share" /* [classes]: the share of each in all it has met */

/* How many generators a client has at most, and the class of the k-th. */
static inline int64_t eg_pfedgrp_n_generators(const eg_pfedgrp *p, int64_t classes)
{
    return p->replay.generators == EG_ONE_FOR_ALL ? 1 : classes;
}

static inline int64_t eg_pfedgrp_class(const eg_pfedgrp *p, int64_t k)
{
    return p->replay.generators == EG_ONE_FOR_ALL ? EG_ANY_CLASS : k;
}

/* The server's half, whose state this is (pfedgrp.c). */
typedef struct eg_pfedgrp_server {
    eg_pfedgrp is;
    int64_t classes;
    eg_generator *shape; /* says how long a generator's tensors are */
} eg_pfedgrp_server;

/* What the server knows of a client. */
typedef struct eg_pfedgrp_known {
    int64_t client, round, n;   /* its last round, and the images it had there */
    const float *param, *state; /* its upload */
    int64_t classes;
    const float *share; /* [classes] */
} eg_pfedgrp_known;
/* *found: it knows the client. */
eg_status eg_pfedgrp_recall(const eg_pfedgrp_server *p, eg_server *s, int64_t client,
                            eg_pfedgrp_known *out, bool *found);
/* Lets go of what was recalled of it. */
eg_status eg_pfedgrp_release(eg_server *s, int64_t client);
/* All it knows of a client and the client's generators, for a piece of work, and back. No copy
 * of the generators stays in memory: there are many. */
eg_status eg_pfedgrp_give(const eg_pfedgrp_server *p, eg_server *s, int64_t client,
                          eg_bundle *to);
eg_status eg_pfedgrp_read(const eg_bundle *from, const eg_net *net, eg_pfedgrp_known *out);
/* Keeps the personal model of a client, which does not stay in memory. */
eg_status eg_pfedgrp_keep_personal(eg_server *s, int64_t client, const float *param,
                                   const float *state);

/* pfedgrp_personal.c: a personal model for everybody the server knows. */
eg_status eg_pfedgrp_finish(void *self, eg_server *s, int exchange);
eg_status eg_pfedgrp_work(const void *options, const eg_piece *piece, eg_bundle *to);

#endif
