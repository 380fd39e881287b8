/* http_server.h - a small HTTP server, over TLS or not: every request goes to one function.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The function is called on the server's own thread and must be quick. It may have a request
 * wait; then it is asked again when the request's client is woken, and once more when it has
 * waited for long. Any thread may wake. A code of 401 is said later each time that it is said
 * to one address, and ends the connection.
 */
#ifndef EG_HTTP_SERVER_H
#define EG_HTTP_SERVER_H

#include "io/spool.h"

typedef struct eg_http_server eg_http_server;
typedef struct eg_http_page eg_http_page; /* bytes that several answers may share */

typedef struct eg_http_request {
    const char *method, *path; /* the path without what follows a question mark */
    const char *key;           /* behind "Authorization: Bearer "; "": there is none */
    const char *proof;         /* behind "Authorization: Ed25519 "; likewise */
    int64_t client, number;    /* of "?client=3&number=7"; -1: not there, or no number. The
                                  number may also be a browser's, of the last event it heard */
    int64_t session;           /* likewise */
    eg_chunk *body;            /* NULL: there is none, or it was taken */
    size_t n_body;             /* of one that begins: what the head announces */
    bool begins;               /* only the head has come: answering now refuses the body */
    bool late;                 /* it has waited for long: it must be answered */
} eg_http_request;

typedef struct eg_http_answer {
    int code;           /* 0: it waits, or, of one that begins, its body may come */
    char text[512];     /* a sentence; not used if there is a page */
    eg_http_page *page; /* taken over; NULL: there is none */
    size_t most;        /* of one that begins: bytes that its body may have */
    bool known;         /* likewise: it comes from somebody with a good key */
    bool takes_body;    /* it is the function's to free now, and the request waits or is done */
} eg_http_answer;

/* Sets code and text. */
void eg_http_say(eg_http_answer *out, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct eg_http_listen {
    const char *host, *port;           /* a name or an address; port "0": any that is free */
    const char *certificate, *secret;  /* PEM texts; NULL: without TLS */
    eg_spool *spool;                   /* where bodies wait; the caller's, and outlives it */
    double wait;                       /* seconds after which a request is late */
    int connections;                   /* at once; 0: as many as open files allow */
    double head_seconds, body_seconds; /* as eg_http_limits has them; 0: 30 */
    void (*handle)(void *context, const eg_http_request *r, eg_http_answer *out);
    /* A request with a body of somebody known is over, answered or not. May be NULL. */
    void (*ended)(void *context, int64_t client, size_t n_body);
    /* A wrong key, the n-th of late from there. May be NULL. */
    void (*strange)(void *context, int64_t client, const char *address, int64_t n);
    void *context;
} eg_http_listen;

/* Listens, and answers from here on. EG_EIO: it cannot, "... is in use". Of what `how` points
 * to only the context is used afterwards. */
eg_status eg_http_server_new(const eg_http_listen *how, eg_http_server **out);
/* From here on new connections see another certificate; those that are open go on. EG_EIO: it
 * and its key do not fit, and the old one stays. */
eg_status eg_http_server_renew(eg_http_server *s, const char *certificate, const char *secret);
void eg_http_server_free(eg_http_server *s); /* NULL is fine; those who wait are late first */

int eg_http_server_port(const eg_http_server *s);
void eg_http_server_wake(eg_http_server *s, int64_t client); /* -1: all clients */

/* A page of bytes, which are taken over even on failure; free() ends them. Every answer takes
 * one hold of the page; eg_http_page_hold gives one more. */
eg_status eg_http_page_new(unsigned char *take, size_t n, eg_http_page **out);
eg_http_page *eg_http_page_hold(eg_http_page *p);
void eg_http_page_drop(eg_http_page *p); /* NULL is fine */

/* Says what it is ("text/html"), and that nobody is to keep it. Before it is answered. */
void eg_http_page_type(eg_http_page *p, const char *type);

/* Raises the limit of open files as far as it may be; how many connections there can be then.
 */
int eg_http_open_files(void);

#endif
