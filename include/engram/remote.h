/* engram/remote.h - a server for devices on other machines, and the device's side.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server carries out a run (eg_run_how.listen); every client is a device that joins it over
 * HTTPS, keeps its records on its own disk, and sends answers alone. A device asks, the server
 * never calls: it may sit behind any router. docs/devices.md has the protocol.
 */
#ifndef EG_PUBLIC_REMOTE_H
#define EG_PUBLIC_REMOTE_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What whoever looks on may want to know of a server's devices. */
typedef enum eg_fleet_kind {
    EG_FLEET_WAITS, /* for devices: n are there, wanted are needed, for so many seconds now */
    EG_FLEET_BACK,  /* enough are there again */
    EG_FLEET_LATE,  /* clients [n] have not answered yet; the first for so many seconds */
    EG_FLEET_SAYS,  /* a sentence */
} eg_fleet_kind;
typedef struct eg_fleet_event {
    eg_fleet_kind kind;
    int64_t n, wanted;
    const int64_t *clients;
    double seconds;
    const char *text;
} eg_fleet_event;

/* How a server listens. */
typedef struct eg_listen {
    const char *address;     /* "host:port"; port 0: any that is free */
    const char *certificate; /* PEM files, with its key: TLS. NULL, NULL: without, which only */
    const char *secret;      /* an address of this machine's loopback may have */
    const char *keys;        /* a file with the clients' keys (engram/keys.h), made with a word
                                for each if it is not there */
    int64_t at_least; /* devices that must be there, else the run waits; 0: all before the
                         first round, and server.min_clients from then on */
    double give_up; /* seconds of waiting after which the run stops at a checkpoint; 0: never */
    double patience; /* seconds without a word after which a device counts as gone; 0: 60 */
    double deadline; /* seconds that a device has for an answer from when it was asked; 0: ten
                        times the median of the last answers, and at least patience */
    int64_t memory;  /* megabytes of answers that wait there; more wait on disk. 0: 256 */
    const char
        *audit; /* a file that gets a line of JSON per decision about a device; or NULL */
    const char *members; /* a file with the public keys of all, for runs whose sums are masked;
                            NULL: `keys`, if public keys stand there */
    const char *desk; /* "host:port" of the operator's page, numbers and orders; NULL: none */
    const char *page; /* the page: eg_report_desk; NULL: the numbers alone */
    int connections;  /* at once; 0: as many as open files allow */
    bool own_data;    /* devices train on data of their own, not on what the scenario deals them
                         of data that all have */
    bool mixed;       /* other programs and instruction sets than the server's may join, though
                         bits then differ */
    /* Now and then, on the thread that carries out the run; false: it waits no longer. NULL:
     * nobody looks on. */
    bool (*fleet)(void *context, const eg_fleet_event *e);
    void (*ready)(void *context, const char *url);      /* it listens there; may be NULL */
    void (*desk_ready)(void *context, const char *url); /* it is there, with its token */
    bool (*reload)(void *context); /* now and then: whether keys and certificate are to be read
                                      again; NULL: never */
    void *context;
} eg_listen;

/* What a device does at the moment. */
typedef struct eg_device_moment {
    int64_t round, n_rounds; /* of its turn, from 1 */
    const char *exchange;    /* "training", or a part's; NULL: it waits for its turn */
    int64_t n_turns;         /* that it has answered */
} eg_device_moment;

typedef struct eg_join_how {
    const char *url; /* "https://host:port" */
    int64_t
        client; /* which of the run's clients it is; -1: the file of its key, or code, says */
    const char *key; /* a file with its key, or with the words of all (engram/keys.h) */
    const char
        *code; /* with which it enrols first, and key is made if it is not there; or NULL */
    /* A PEM file of who vouches for the server; NULL: those the system trusts. */
    const char *ca;
    const char *address;         /* where the server is, if its name is not to be looked up */
    const char *state;           /* the folder of its records; NULL: "engram-state" */
    const char *data_dir;        /* NULL: ENGRAM_DATA */
    const char *const *settings; /* [n_settings] "key=value" over the server's: the device's own
                                    data; only with own_data */
    size_t n_settings;
    bool own_data;
    int threads;       /* that compute its turns; 0: one */
    const char *model; /* a file that gets the global model when the run is over; or NULL */
    const char *allow; /* what may leave it beside the model: names of eg_leavings with commas
                          between; "": nothing. NULL: whatever the method takes */
    int64_t memory;    /* bytes that it may take in all: a run that needs more is refused before
                          it starts; 0: as many as there are */
    double patience;   /* seconds for which it tries to reach a server that is away; 0: 600 */
    const char *members;  /* its own file of all clients' public keys: then it takes part only
                             in runs that mask their sums; NULL: only in others */
    const char *identity; /* a file with its secret key; NULL: `key` */
    const struct eg_line_calls *calls; /* how it reaches the server; NULL: by HTTPS */
    /* At each change, and every few seconds while it waits; false: it leaves. May be NULL. */
    bool (*moment)(void *context, const eg_device_moment *m);
    void (*say)(void *context, const char *sentence); /* what a person may want to know */
    void *context;
} eg_join_how;

/* Takes the client's turns until the run is over (*n_turns: how many), or moment says leave.
 * EG_EIO: the server is away for too long; EG_EINVAL: it lets this device in no more, and says
 * why. Joining again goes on where it was. */
eg_status eg_join(const eg_join_how *how, int64_t *n_turns);

/* Brings the model as it was after the last round into a file, for who may take part (url,
 * client, key, ca and patience of how). Failures as of eg_join; EG_EIO also: there is none yet.
 */
eg_status eg_join_get_model(const eg_join_how *how, const char *path);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
