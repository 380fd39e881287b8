/* line.h - a device's line to its server: calls that say who calls, and prove it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_LINE_H
#define EG_LINE_H

#include "io/http_client.h"
#include "run/transport/keys.h"

/* The calls by which a device reaches its server: those of io/http_client.h, or what a test
 * puts in their place (eg_join_how.calls). */
typedef struct eg_line_calls {
    eg_status (*open)(const eg_http_to *to, void **out);
    eg_status (*call)(void *at, const eg_http_call *call, eg_http_reply *out);
    void (*close)(void *at); /* NULL is fine */
} eg_line_calls;

/* Signs what is asked; several lines share one. Any thread may use it. */
typedef struct eg_signer eg_signer;
eg_status eg_signer_new(const eg_identity *who, eg_signer **out);
void eg_signer_free(eg_signer *s); /* NULL is fine */

/* One connection: one thread at a time. */
typedef struct eg_line {
    const eg_line_calls *calls;
    void *at;          /* the connection, theirs */
    eg_signer *signer; /* NULL: a word is shown */
    int64_t client, session;
} eg_line;

/* Where a server is, and by what one is known there: a word, or a secret key, in which case
 * signer is what signs. The others as of eg_http_to. */
typedef struct eg_line_to {
    const char *url, *ca, *address;
    const char *key; /* eg_key */
    eg_signer *signer;
    const eg_line_calls *calls; /* NULL: by HTTPS */
} eg_line_to;
eg_status eg_line_open(const eg_line_to *to, int64_t client, int64_t session, eg_line *out);
void eg_line_close(eg_line *l);

/* What is asked of the server. */
typedef struct eg_line_call {
    const char *method, *what;
    int64_t number; /* of a turn, or of an exchange */
    const void *body;
    size_t n_body;
    size_t max; /* bytes of the answer; 0: 4 GiB */
} eg_line_call;

/* One call; the answer's bytes are *out's, which free() ends. Failures as of
 * eg_http_client_call. */
eg_status eg_line_ask(eg_line *l, const eg_line_call *call, eg_http_reply *out);

#endif
