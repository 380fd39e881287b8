/* transport.h - how turns reach the clients and answers come back: what every transport is.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A transport carries one exchange at a time: begin with n clients, take their replies in
 * client order, end. Who works when, and where, is its own affair and never changes a bit. The
 * server's side of it belongs to one thread.
 */
#ifndef EG_TRANSPORT_H
#define EG_TRANSPORT_H

#include <engram/remote.h>
#include <engram/transport.h>

#include "run/client/worker.h"
#include "run/transport/cluster.h"

/* What both sides have: the run, and where clients keep their records. */
typedef struct eg_site {
    const eg_experiment *e;
    const eg_feed *feed;
    const eg_net *net;
    const eg_agreement *agreed;
    const char *store;
    uint64_t seed;
    eg_cluster *cluster;     /* of which this process is a rank; NULL: of none */
    const eg_listen *listen; /* how devices reach the server; NULL: there are none */
    int n_workers;           /* how many clients may work at once in this process */
    int threads;             /* that they may have together */
    eg_worker *workers; /* [n_workers] of this process, ready when the first exchange begins */
} eg_site;

/* The longest message of a run, either way: the model, the vectors that parts declare, and what
 * they add. */
size_t eg_message_most(const eg_site *site);

/* One exchange. */
typedef struct eg_job {
    int64_t n;
    const eg_bundle *down; /* what all are sent */
    /* Tells turn i, on the server's thread, in order, and not long before it begins. *own is
     * for what this client alone is sent, a new bundle that will rest on down: NULL if there is
     * nothing. */
    eg_status (*tell)(void *context, int64_t i, eg_turn *out, eg_bundle **own);
    void *context;
    bool waits_late; /* who does not answer in time may still do so: its turn stays open */
    bool large; /* what each is sent alone is large: there should be no more of it at a time
                   than turns under way, even if a worker waits until it is made */
} eg_job;

/* How a run stands after a round. */
typedef struct eg_standing {
    int64_t round, n_rounds;
    double loss, accuracy; /* NaN: there is none */
    double seconds, bytes_up, bytes_down;
} eg_standing;

typedef struct eg_transport {
    eg_component component; /* without options */
    bool shares;            /* tests and the server's work go out as turns, as clients' do; else
                               the server's own workers have them */
    bool apart;             /* clients' records are on machines of their own: the server cannot
                               look at them, as it can elsewhere */
    /* Before there are threads; what is borrowed outlives it. */
    eg_status (*open)(void *self, const eg_site *site);
    /* Once the workers are ready, before the run's folder is touched; NULL: there is nothing to
     * agree on. *served: this process is not the server, it has taken turns, and the run is
     * over. */
    eg_status (*meet)(void *self, bool *served);
    /* Before each round: waits until enough clients are there. *go false: the run is to stop
     * here. NULL: they always are. */
    eg_status (*wait)(void *self, bool *go);
    /* Before the first round and after each: how the run stands, for whoever looks on. And
     * then, if somebody wants the model, the file that it was saved in. NULL: nobody does. */
    void (*stand)(void *self, const eg_standing *s);
    bool (*wants_model)(void *self);
    eg_status (*show_model)(void *self, const char *path);
    eg_status (*begin)(void *self, const eg_job *job); /* borrowed until end */
    /* Waits for client i's reply, in order: 0, 1, 2, ... *lost: it has none and will not (why
     * is the error text), and the exchange goes on without it. A failure ends the run. */
    eg_status (*take)(void *self, int64_t i, eg_reply *out, bool *lost);
    void (*end)(void *self); /* what comes later is refused, */
    /* but for turns of a job that waits for who is late. Whether a client's is open; the next
     * of their replies that is there, in client order, as take gives it (*client -1: there is
     * none), after a wait if that is wished and one may come; no more of a client's. All NULL:
     * nobody is ever late. */
    bool (*is_late)(void *self, int64_t client);
    eg_status (*hear_late)(void *self, bool waits, int64_t *client, eg_reply *out, bool *lost);
    void (*drop_late)(void *self, int64_t client);
    void (*finish)(void *self); /* the run has come to its end; NULL: nobody need know */
    void (*close)(void *self);
} eg_transport;

extern const eg_transport *const eg_transports[];        /* NULL at the end */
const eg_transport *eg_transport_find(const char *word); /* as eg_family_find */

/* Has a turn's own bundle rest on what all are sent; own NULL: it has the latter. */
void eg_turn_rest(eg_turn *t, eg_bundle *own, const eg_bundle *down);

/* A turn of the exchange under way, and what it came to. */
typedef struct eg_board_turn {
    eg_turn is;
    eg_bundle *own; /* what this client alone is sent; NULL: nothing, or it is passed on */
    eg_reply reply;
    eg_status status;
    char *why;  /* of a status that is not EG_OK */
    bool there; /* reply and status are */
} eg_board_turn;

/* All turns of an exchange. Each has a number by which it is found: one of another exchange has
 * no turn here. Zeroed, there is no exchange. */
typedef struct eg_board {
    const eg_job *job;
    int64_t exchange; /* its number */
    int64_t n_told, n_taken;
    eg_board_turn *turns; /* [job->n] */
} eg_board;

eg_status eg_board_begin(eg_board *b, const eg_job *job, int64_t exchange);
eg_status eg_board_tell(eg_board *b); /* the next turn, on the server's thread */
int64_t eg_board_number(const eg_board *b, int64_t i);
int64_t eg_board_exchange_of(int64_t number);
/* The turn of a number that waits for its answer; NULL: there is none. */
eg_board_turn *eg_board_find(const eg_board *b, int64_t number);
eg_reply eg_board_take(eg_board *b, int64_t i); /* the caller's now */
void eg_board_end(eg_board *b);

/* For transports whose exchanges are carried out by a pool of threads: turns are told ahead,
 * replies wait until they are taken. carry has a thread carry out a turn. */
typedef struct eg_desk eg_desk;
typedef eg_status (*eg_desk_carry)(void *self, int thread, const eg_turn *turn,
                                   const eg_bundle *own, eg_reply *out);
eg_status eg_desk_open(const eg_job *job, int n_threads, eg_desk_carry carry, void *self,
                       eg_desk **out);
eg_status eg_desk_take(eg_desk *d, int64_t i, eg_reply *out);
void eg_desk_close(eg_desk *d); /* NULL is fine */

#endif
