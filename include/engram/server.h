/* engram/server.h - what a method sees of the server, and what it may ask of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server's hooks run on one thread. What a part must remember is named records, as on a
 * client: kept before a checkpoint (the save hook), recalled when the run begins or goes on.
 */
#ifndef EG_SERVER_H
#define EG_SERVER_H

#include <engram/client.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct eg_gallery; /* engram/gallery.h */

typedef struct eg_server {
    int64_t round;
    uint64_t seed;
    const eg_scenario *scenario;
    const eg_train_opts *train; /* how clients train */
    const eg_net *net;
    size_t n_params, n_state;
    const float *param, *state; /* the global model */
    bool keeps_statistics;      /* server.bn: batch norms' are the server's own, not averaged */
    size_t part;                /* whose hook runs now: the core's */
    struct eg_federation *run;  /* the core's */
    bool hides;                 /* it learns sums of answers alone; while one is collected: */
    const int64_t *summed;      /* [n_summed], the clients in it, ascending */
    size_t n_summed;
} eg_server;

/* A record as it was last kept; *out is NULL if there is none. Borrowed until it is kept anew
 * or released, or the round ends: a checkpoint lets go of what is in memory. */
eg_status eg_server_recall(eg_server *s, const char *name, const eg_bundle **out);
/* Keeps a record in place of the last one of its name; the bundle belongs to the core from here
 * on, even on failure. */
eg_status eg_server_keep(eg_server *s, const char *name, eg_bundle *record);
/* As eg_client_release. */
eg_status eg_server_release(eg_server *s, const char *name);

/* In the begin hook: a vector as long as the model, zero at first, that is saved with every
 * checkpoint and comes back as it was. The part changes it, the core frees it. */
eg_status eg_server_vector(eg_server *s, const char *name, float **out);

/* The name of the part whose hook runs: for code that several parts share. */
const char *eg_server_part(const eg_server *s);

/* A number worth seeing: an event in the log, a curve on the page. */
eg_status eg_server_note(eg_server *s, const char *name, double value);

/* The part's own random numbers in this round: another stream for each of its draws, numbered
 * below 16, and for each `of`, a client's number or what else there are several of. */
eg_rng eg_server_stream(const eg_server *s, int64_t of, uint32_t draw);

/* Adds a model, which is copied: for the model_of hook. state may be NULL if there is none. */
eg_status eg_server_add_model(const eg_server *s, const float *param, const float *state,
                              eg_bundle *to);

/* A flat tensor of an upload, as long as the model, for accept and collect. EG_ENOENT: there is
 * none; EG_ESHAPE: it has another length. */
eg_status eg_server_flat(const eg_server *s, const eg_bundle *from, const char *name,
                         const float **out);

/* A piece of a part's work as its work hook gets it, on a worker of this process or of another
 * machine. */
typedef struct eg_piece {
    int64_t i; /* which one */
    eg_worker *worker;
    const eg_net *net;
    const eg_bundle *from; /* what the piece was given, and below it what all were */
    int64_t round;
    uint64_t seed;
    const char *part; /* the core's */
} eg_piece;

/* The numbers that eg_server_stream has for the same arguments. */
eg_rng eg_piece_stream(const eg_piece *p, int64_t of, uint32_t draw);

/* Work of a part in n pieces. A piece is given all it needs, so that anyone can do it. */
typedef struct eg_work {
    int64_t n;
    const eg_bundle *all; /* what every piece is given; NULL: nothing */
    /* Adds what piece i alone is given: in order, and not long before it is done. NULL: nothing
     * is. */
    eg_status (*give)(void *context, int64_t i, eg_bundle *to);
    /* What piece i came to, in order. Both are called on the server's thread. */
    eg_status (*take)(void *context, int64_t i, const eg_bundle *from);
    void *context;
} eg_work;

/* Has the part's work hook do the pieces, on all workers there are, of all machines. The first
 * failure, in order, ends it. */
eg_status eg_server_share(eg_server *s, const eg_work *work);

/* Tells people who wait for a round how far the hook's work is; eg_server_share does it itself.
 * On the server's thread. */
void eg_server_moment(eg_server *s, int64_t done, int64_t of);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
