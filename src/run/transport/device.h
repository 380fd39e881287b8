/* device.h - what a device has beside its worker: its folder, and a pulse.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_DEVICE_H
#define EG_DEVICE_H

#include "io/http_client.h"
#include "run/transport/https.h"

enum { EG_HOME_PATH = 1024 };

/* The folder of a client's records, which one process has at a time, and nobody else reads. */
typedef struct eg_home {
    char store[EG_HOME_PATH];
    int64_t client;
    int lock;                 /* -1: it is not open */
    char word[EG_HTTPS_HOME]; /* by which the server knows it: made once, and kept in it */
    bool fresh;               /* it is new, and there was no turn yet */
    int64_t base;             /* the server's version of the client when it was new */
} eg_home;

/* store and client are set. EG_EBUSY: another process has it. */
eg_status eg_home_open(eg_home *h);
void eg_home_close(eg_home *h);

/* What the server says of the client's records becomes what is here. A device that has lost its
 * disk begins anew, as a client that keeps nothing yet (*lost); versions go on from the
 * server's. And what is here becomes what the server is told after the turn. */
eg_status eg_home_localise(eg_home *h, eg_turn *turn, bool *lost);
void eg_home_globalise(const eg_home *h, const eg_receipt *told, eg_receipt *kept);

/* Random bytes of the system. */
eg_status eg_home_draw(void *out, size_t n);

/* A thread that tells a server, while a device works, that it is still there: one word every so
 * many seconds, by a connection of its own, which is taken over even on failure. */
typedef struct eg_pulse eg_pulse;
eg_status eg_pulse_new(eg_http_client *take, int64_t client, int64_t session, double every,
                       eg_pulse **out);
void eg_pulse_free(eg_pulse *p); /* NULL is fine */

/* The turn that is worked on; -1: none, and nothing is said. */
void eg_pulse_set(eg_pulse *p, int64_t number);

#endif
