/* joiner.h - a device that takes part in a run: what its files share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * join_open.c learns the run and opens the device's data, again when they have grown; join.c
 * takes turns.
 */
#ifndef EG_JOINER_H
#define EG_JOINER_H

#include "run/transport/device.h"

#include <engram/remote.h>

struct eg_joiner {
    const eg_join_how *how;
    eg_line server;
    eg_signer *signer; /* NULL: it shows a word */
    eg_key key;
    eg_experiment *e;
    uint64_t seed;
    eg_rig *rig;          /* NULL: not yet */
    eg_pushed *pushed;    /* NULL: its data are files */
    int64_t n_known;      /* pushed samples that the rig has */
    uint64_t stamp, task; /* of its files of data, and of the task they are of */
    double looked;        /* when these were looked at */
    eg_home home;
    eg_hello mine;
    size_t most;     /* bytes that a message of the server can have; 0: not known yet */
    double patience; /* the server's */
    eg_bundle *down;
    int64_t down_of; /* number of its exchange; 0: none */
    int64_t n_turns, n_failed;
    double away;     /* since when the server is; 0: it is not */
    eg_pulse *pulse; /* says that it is still at work */
    bool own_data;
    bool new_task; /* the next turn begins it */
    bool met, over, left;
    char run[65];    /* what the server calls the run */
    char frozen[65]; /* the checksum of what is frozen; "": nothing */
};

/* Bytes that a server may say of a run, and in a sentence; a device trusts nobody. */
enum { EG_JOINER_RUN = 1 << 20, EG_JOINER_SENTENCE = 1 << 12 };

/* join.c. Says a sentence to whoever looks on. What a server that refuses said, as a failure.
 * Asks it, again and again while it is away; the answer's bytes are *out's. */
void eg_joiner_say(const eg_joiner *j, const char *sentence);
eg_status eg_joiner_refused(const eg_http_reply *r);
eg_status eg_joiner_ask(eg_joiner *j, const eg_line_call *call, eg_http_reply *out);

/* budget.c. EG_ENOMEM: the run does not fit into how->memory; says what it would need. */
eg_status eg_joiner_fits(const eg_joiner *j);

/* join_open.c. Learns the run; opens what the device has; takes in data that have grown since.
 */
eg_status eg_joiner_learn(eg_joiner *j);
eg_status eg_joiner_open(eg_joiner *j);
void eg_joiner_grow(eg_joiner *j);

#endif
