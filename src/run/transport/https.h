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
#include "run/transport/signed.h"
#include "run/transport/transport.h"

#include <stdio.h>

enum {
    EG_HTTPS_HOME = 33, /* characters of the word by which a device's folder is known */
    EG_HTTPS_SAID = 16, /* sentences that wait to be shown */
    EG_HTTPS_TOOK = 64, /* durations of which the median is taken */
    EG_HTTPS_TEXT = 256,
    EG_HTTPS_NEWS = 24,   /* of what happened, what an operator is shown */
    EG_HTTPS_PAST = 4096, /* rounds of which figures are kept */
};

typedef struct eg_https_late eg_https_late;

/* What the server knows of a client's device. */
typedef struct eg_https_device {
    double heard;             /* when it last said something; 0: never */
    bool met;                 /* it has said what it is, and fits */
    int64_t turn;             /* of the exchange under way, that is its own; -1: none */
    eg_https_late *late;      /* of an earlier one, which it may still answer; NULL: none */
    bool told_end;            /* it knows that the run is over */
    int64_t session;          /* the process that said hello, by a number of its choice, */
    char home[EG_HTTPS_HOME]; /* and its folder */
    eg_seen_numbers seen;     /* of its signed requests */
    int n_bodies;             /* that it sends at the moment, */
    eg_secret body;           /* and the digest that it signed of the first */
    int64_t reads;            /* the number of its answer that is taken apart, and what came */
    int read_code;            /* of it; 0: nothing yet */
    bool wants_model;         /* once the run is over, before it goes */
    /* For whoever looks on. */
    bool lost, refused; /* its last turn had no answer that counts; its hello */
    int64_t n_answered, n_left_out;
    double took;             /* the last answer, in seconds */
    char why[EG_HTTPS_TEXT]; /* of the last refusal, or of being left out */
    char read_text[EG_HTTPS_TEXT];
} eg_https_device;

/* What a turn is to this transport. */
typedef struct eg_https_turn {
    int64_t number;
    eg_board_turn *of;
    bool late;         /* it is of an exchange that is over */
    eg_http_page *ask; /* as bytes: a device that starts anew asks for it again */
    size_t n_ask;      /* bytes */
    double asked;      /* when its device was told, or could have been */
    bool given;        /* it was */
    eg_chunk *body;    /* the answer, as it came; NULL: none, or it has been taken apart */
    bool is_signed;    /* its device signs, and this is the digest that it signed */
    eg_secret digest;
    struct eg_https_turn *next; /* in the reader's queue */
} eg_https_turn;

/* A turn that stays open, with what all were sent. */
struct eg_https_late {
    eg_board_turn turn;
    eg_https_turn at;
    eg_http_page *down;
};

typedef struct eg_https {
    eg_site site;
    eg_listen how;
    eg_http_server *server;
    eg_spool *spool; /* bodies wait there */
    FILE *audit;     /* NULL: none */
    eg_hello mine;
    eg_http_page *welcome; /* what a device needs to know of the run */
    eg_http_page *frozen;  /* what of the network is never sent else; NULL: nothing */
    int64_t n_devices;
    size_t most;               /* bytes of an answer */
    char salt[EG_SIGNED_SALT]; /* for which devices sign */
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a device has joined or answered, or the reader is done */
    pthread_cond_t more;    /* the reader has something to do */
    /* Under the lock. */
    eg_key *keys;             /* [n_devices] */
    eg_https_device *devices; /* [n_devices] */
    eg_board board;
    eg_https_turn *turns;        /* [turns of the board] */
    eg_https_turn *first, *last; /* whose bodies are to be read */
    size_t held;                 /* bytes of replies that wait to be taken, */
    size_t asks;                 /* and of turns that wait to be answered */
    double took[EG_HTTPS_TOOK];  /* what the last answers took, in seconds */
    uint64_t n_took;
    double alone;        /* since when too few devices are there; 0: they are */
    double back;         /* when enough were there again */
    double counted;      /* when they were counted last */
    double reported;     /* when the fleet was last told something */
    eg_http_page *down;  /* the exchange's download */
    eg_http_page *model; /* the last that was shown; NULL: none yet */
    /* What an operator sees. */
    eg_http_server *desk; /* NULL: nobody does */
    eg_http_page *desk_page;
    char desk_token[EG_KEY];
    uint64_t changes; /* how often something was another */
    eg_standing now;
    eg_standing past[EG_HTTPS_PAST]; /* [n_past] */
    size_t n_past;
    char news[EG_HTTPS_NEWS][EG_HTTPS_TEXT]; /* the n-th at n % EG_HTTPS_NEWS */
    uint64_t n_news;
    int64_t n_answers, n_left_out, n_refused, n_wrong_keys;
    char said[EG_HTTPS_SAID][EG_HTTPS_TEXT];
    int n_said;
    bool reads;        /* the reader runs; of the server's thread alone */
    bool begun;        /* enough devices were there */
    bool over;         /* the run is */
    bool busy, ends;   /* the reader is at a body; it is to end */
    bool model_wanted; /* by somebody, so that it is to be shown after each round */
    bool stops;        /* the operator has the run stop */
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

/* https.c. Under the lock, which is let go meanwhile: waits until something has changed, for a
 * moment at most; whether too few devices are there (a failure: it has been too long); that a
 * device is left out, which the error text says why; how long a turn may take, 0: for ever. */
void eg_https_nap(eg_https *h);
eg_status eg_https_is_short(eg_https *h, bool *out);
void eg_https_note_lost(eg_https *h, int64_t client);
double eg_https_deadline(const eg_https *h);

/* https_late.c. Under the lock: turn i of the board stays open behind its exchange, in place of
 * the board's; takes those that do not off the reader's queue. And the transport's hooks. */
void eg_https_keep_late(eg_https *h, int64_t i);
void eg_https_requeue(eg_https *h);
bool eg_https_is_late(void *self, int64_t client);
eg_status eg_https_hear_late(void *self, bool waits, int64_t *client, eg_reply *out,
                             bool *lost);
void eg_https_drop_late(void *self, int64_t client);

/* https_open.c: the transport's hooks of these names. */
eg_status eg_https_open(void *self, const eg_site *site);
eg_status eg_https_meet(void *self, bool *served);

/* https_admit.c. Whether a request is a client's own; and that of enrolling may come: out says
 * why not. And the answers to three routes. */
bool eg_https_knows(eg_https *h, const eg_http_request *r, eg_http_answer *out);
bool eg_https_may_enrol(eg_https *h, const eg_http_request *r, eg_http_answer *out);
void eg_https_challenge(eg_https *h, const eg_http_request *r, eg_http_answer *out);
void eg_https_enrol(eg_https *h, const eg_http_request *r, eg_http_answer *out);
void eg_https_hello(eg_https *h, const eg_http_request *r, eg_http_answer *out);

/* Without the lock: reads the file of keys and the certificate again. On a failure those of
 * before stay. */
eg_status eg_https_reload(eg_https *h);
eg_status eg_https_renew_certificate(eg_https *h); /* https_open.c */

/* https_open.c. Splits an address, listens there (how has all but host, port and certificate),
 * and says where: "https://host:port". */
eg_status eg_https_serve(eg_https *h, const eg_http_listen *how, const char *address,
                         eg_http_server **out, char url[320]);

/* https_desk.c. Opens the operator's address, if there is to be one; under the lock: something
 * happened, or is another now; without it: how the run stands. */
eg_status eg_https_desk_open(eg_https *h);
void eg_https_news(eg_https *h, const char *event, int64_t client, const char *why);
void eg_https_changed(eg_https *h);
void eg_https_stand(eg_https *h, const eg_standing *s);

/* https_answer.c. Answers a request, is told of the end of one with a body and of a wrong key;
 * context is an eg_https. */
void eg_https_answer(void *context, const eg_http_request *r, eg_http_answer *out);
void eg_https_ended(void *context, int64_t client, size_t n_body);
void eg_https_strange(void *context, int64_t client, const char *address, int64_t n);

/* Takes the answer to a turn apart: status and why are what the device says. A failure is of
 * the bytes, or of memory. */
eg_status eg_https_read(const eg_https *h, const eg_https_turn *t, eg_chunk *body,
                        eg_board_turn *out);
eg_status eg_https_reader_start(eg_https *h);
void eg_https_reader_end(eg_https *h);

#endif
