/* device.h - what a device has beside its worker: its folder, and a pulse.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_DEVICE_H
#define EG_DEVICE_H

#include "run/transport/https.h"
#include "run/transport/line.h"

#include "run/experiment/feed.h"

#include <engram/join.h>

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

/* What a device computes with: its data, the scenario with them in it, the network, a worker.
 * It stays where it is, since its members point at each other. */
typedef struct eg_rig {
    eg_feed feed;
    eg_agreement agreed;
    eg_net *net;
    eg_worker worker;
    bool open; /* the worker is */
} eg_rig;
eg_status eg_rig_new(const eg_experiment *e, const eg_origin *from, const char *store,
                     eg_rig **out);
void eg_rig_free(eg_rig *r); /* NULL is fine */
int64_t eg_rig_n_samples(const eg_rig *r);

/* A number that is another once a file or folder of data has grown or changed; false: it is
 * being changed at the moment, or is not there. And one of the file `task` in a folder; 0:
 * there is none. */
bool eg_data_stamp(const char *path, uint64_t *out);
uint64_t eg_data_task(const char *path);

/* pushed.c: the samples that a program brings, as data set `pushed` with option `slot`. */
typedef struct eg_pushed eg_pushed;
eg_status eg_pushed_new(const eg_join_shape *shape, eg_pushed **out);
void eg_pushed_free(eg_pushed *p); /* NULL is fine */
eg_status eg_pushed_add(eg_pushed *p, const float *x, const int32_t *y, int64_t n);
int64_t eg_pushed_n(const eg_pushed *p);
int eg_pushed_slot(const eg_pushed *p);

/* Enrols: shows the code, and brings the public half of the key, which is made if its file is
 * not there. *client: which it is. */
eg_status eg_enrol(const eg_join_how *how, int64_t *client);

/* A thread that tells a server, while a device works, that it is still there: one word every so
 * many seconds, by a connection of its own, which is taken over even on failure. */
typedef struct eg_pulse eg_pulse;
eg_status eg_pulse_new(eg_line *take, double every, eg_pulse **out);
void eg_pulse_free(eg_pulse *p); /* NULL is fine */

/* The turn that is worked on; -1: none, and nothing is said. */
void eg_pulse_set(eg_pulse *p, int64_t number);

#endif
