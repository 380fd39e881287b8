/* https.h - the server's side of devices on other machines: what its two files share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * https.c has the server's thread, which hands out turns and takes replies in client order;
 * https_answer.c has what devices ask, on the thread of the HTTP server. Under the lock both
 * see the same turns.
 */
#ifndef EG_HTTPS_H
#define EG_HTTPS_H

#include "io/http_server.h"
#include "run/transport/hello.h"
#include "run/transport/keys.h"
#include "run/transport/message.h"
#include "run/transport/transport.h"

#include <pthread.h>

#define EG_HTTPS_ROOT "/engram/1"

/* What the server knows of a client's device. */
typedef struct eg_https_device {
    double heard;  /* when it last said something; 0: never */
    bool met;      /* it has said what it is, and fits */
    int64_t turn;  /* of the exchange under way, that is its own; -1: none */
    bool told_end; /* it knows that the run is over */
} eg_https_device;

/* What a turn of the board is to this transport. */
typedef struct eg_https_turn {
    eg_http_page *ask; /* as bytes: a device that starts anew asks for it again */
} eg_https_turn;

typedef struct eg_https {
    eg_site site;
    eg_listen how;
    eg_http_server *server;
    eg_hello mine;
    eg_http_page *welcome; /* what a device needs to know of the run */
    int64_t n_devices;
    eg_key *keys; /* [n_devices] */
    bool begun;   /* enough devices were there */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a device has joined or answered */
    /* Under the lock. */
    eg_https_device *devices; /* [n_devices] */
    bool over;
    eg_board board;
    eg_https_turn *turns; /* [turns of the board] */
    double since;         /* when the exchange began */
    eg_http_page *down;   /* its download */
} eg_https;

/* Seconds without a word after which a device counts as gone. */
double eg_https_patience(const eg_https *h);

/* Answers a request; context is an eg_https. */
void eg_https_answer(void *context, const eg_http_request *r, eg_http_answer *out);

#endif
