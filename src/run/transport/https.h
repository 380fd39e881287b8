/* https.h - the server's side of devices on other machines: what its files share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * https_open.c has the beginning, https.c the server's thread, which hands out turns and takes
 * replies in client order; https_answer.c has what devices ask, on the thread of the HTTP
 * server, and a thread that takes their answers apart. Under the lock all see the same turns.
 */
#ifndef EG_HTTPS_H
#define EG_HTTPS_H

#include "base/pool.h"
#include "io/http_server.h"
#include "run/transport/hello.h"
#include "run/transport/keys.h"
#include "run/transport/message.h"
#include "run/transport/transport.h"

#include <stdio.h>

#define EG_HTTPS_ROOT "/engram/1"

enum {
    EG_HTTPS_HOME = 33, /* characters of the word by which a device's folder is known */
    EG_HTTPS_SAID = 16, /* sentences that wait to be shown */
    EG_HTTPS_TOOK = 64, /* durations of which the median is taken */
    EG_HTTPS_TEXT = 256
};

/* What the server knows of a client's device. */
typedef struct eg_https_device {
    double heard;             /* when it last said something; 0: never */
    bool met;                 /* it has said what it is, and fits */
    int64_t turn;             /* of the exchange under way, that is its own; -1: none */
    bool told_end;            /* it knows that the run is over */
    int64_t session;          /* the process that said hello, by a number of its choice, */
    char home[EG_HTTPS_HOME]; /* and its folder */
    int n_bodies;             /* that it sends at the moment */
    int64_t reads;            /* the number of its answer that is taken apart, and what came */
    int read_code;            /* of it; 0: nothing yet */
    char read_text[EG_HTTPS_TEXT];
} eg_https_device;

/* What a turn of the board is to this transport. */
typedef struct eg_https_turn {
    eg_http_page *ask; /* as bytes: a device that starts anew asks for it again */
    size_t n_ask;      /* bytes */
    double asked;      /* when its device was told, or could have been */
    bool given;        /* it was */
    eg_chunk *body;    /* the answer, as it came; NULL: none, or it has been taken apart */
    struct eg_https_turn *next; /* in the reader's queue */
} eg_https_turn;

typedef struct eg_https {
    eg_site site;
    eg_listen how;
    eg_http_server *server;
    eg_spool *spool; /* bodies wait there */
    FILE *audit;     /* NULL: none */
    eg_hello mine;
    eg_http_page *welcome; /* what a device needs to know of the run */
    int64_t n_devices;
    size_t most;  /* bytes of an answer */
    eg_key *keys; /* [n_devices] */
    pthread_t reader;
    bool reads; /* it runs */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a device has joined or answered, or the reader is done */
    pthread_cond_t more;    /* the reader has something to do */
    /* Under the lock. */
    bool begun;               /* enough devices were there */
    eg_https_device *devices; /* [n_devices] */
    bool over;
    eg_board board;
    eg_https_turn *turns;        /* [turns of the board] */
    eg_https_turn *first, *last; /* whose bodies are to be read */
    bool busy, ends;             /* the reader is at one; it is to end */
    size_t held;                 /* bytes of replies that wait to be taken, */
    size_t asks;                 /* and of turns that wait to be answered */
    double took[EG_HTTPS_TOOK];  /* what the last answers took, in seconds */
    uint64_t n_took;
    double alone;       /* since when too few devices are there; 0: they are */
    double back;        /* when enough were there again */
    double counted;     /* when they were counted last */
    double reported;    /* when the fleet was last told something */
    eg_http_page *down; /* the exchange's download */
    char said[EG_HTTPS_SAID][EG_HTTPS_TEXT];
    int n_said;
} eg_https;

/* Seconds without a word after which a device counts as gone; bytes that may wait in memory. */
double eg_https_patience(const eg_https *h);
size_t eg_https_memory(const eg_https *h);

/* Under the lock: has the server's thread show a sentence, if not too many wait. */
void eg_https_say(eg_https *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Under the lock: a line for the audit log: what was decided about a client, -1: about none, of
 * whom, and why; where or why NULL or "": not said. */
void eg_https_audit(eg_https *h, const char *event, int64_t client, const char *where,
                    const char *why);

/* https_open.c: the transport's hooks of these names. */
eg_status eg_https_open(void *self, const eg_site *site);
eg_status eg_https_meet(void *self, bool *served);

/* https_answer.c. Answers a request, is told of the end of one with a body and of a wrong key;
 * context is an eg_https. */
void eg_https_answer(void *context, const eg_http_request *r, eg_http_answer *out);
void eg_https_ended(void *context, int64_t client, size_t n_body);
void eg_https_strange(void *context, int64_t client, const char *address, int64_t n);

/* Takes the answer to turn i apart, into the board's turn: status and why are what the device
 * says. A failure is of the bytes, or of memory. */
eg_status eg_https_read(const eg_https *h, int64_t i, eg_chunk *body, eg_board_turn *out);
eg_status eg_https_reader_start(eg_https *h);
void eg_https_reader_end(eg_https *h);

#endif
