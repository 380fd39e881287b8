/* wire.h - clients in processes of their own: all they are told and all they say goes as bytes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A wire is a child process that is one client after the other, and the socket to it. The child
 * shares no memory with the server: a bundle reaches it in its byte form, and what it has to
 * train on it works out for itself. The bits are those of a worker in the server's process.
 * One thread at a time per wire.
 */
#ifndef EG_WIRE_H
#define EG_WIRE_H

#include <sys/types.h>

#include "client/worker.h"

typedef struct eg_wire {
    int socket;  /* -1: none */
    pid_t child; /* 0: none, or waited for already */
} eg_wire;

/* Starts n children; no other thread may be running. On failure there are none. A child that
 * cannot open its worker says so when it is first asked. */
eg_status eg_wires_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net, int n,
                        eg_wire *wires);
void eg_wires_close(eg_wire *wires, int n); /* the children end and are waited for */

/* A client's turn at training, or at the second exchange, in the child. Of the turn, the view
 * and the bundles to be filled are not used: *up and *keep are new. The child's error becomes
 * the caller's; EG_EIO: it is gone; EG_EFORMAT: what it says makes no sense. */
typedef enum eg_wire_what { EG_WIRE_TRAIN, EG_WIRE_PHASE } eg_wire_what;
eg_status eg_wire_turn(eg_wire *w, eg_wire_what what, const eg_turn *turn, eg_bundle **up,
                       eg_bundle **keep);

#endif
