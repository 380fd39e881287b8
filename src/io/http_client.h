/* http_client.h - calls to an HTTP server, one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread at a time per client; a connection stays open between calls.
 */
#ifndef EG_HTTP_CLIENT_H
#define EG_HTTP_CLIENT_H

#include "base/base.h"

typedef struct eg_http_client eg_http_client;

/* Which server, and how it is reached. */
typedef struct eg_http_to {
    const char *url; /* "https://host:port", or "http://..." on this machine's loopback */
    const char *key; /* goes as "Authorization: Bearer"; NULL: calls have proofs of their own */
    const char *ca;  /* a PEM file of who may vouch for the server; NULL: those the system
                        trusts */
    const char *address; /* where the url's host is found; its certificate is of the url's name
                            all the same. NULL: what the name stands for */
} eg_http_to;

/* EG_EINVAL: there is no such address. Free with eg_http_client_free. */
eg_status eg_http_client_new(const eg_http_to *to, eg_http_client **out);
void eg_http_client_free(eg_http_client *c); /* NULL is fine */

typedef struct eg_http_call {
    const char *method, *path; /* the path from the first slash on */
    const void *body;          /* [n_body], of a POST */
    size_t n_body;
    size_t max;        /* bytes that an answer may have */
    const char *proof; /* goes as "Authorization: Ed25519"; NULL: there is none */
} eg_http_call;

typedef struct eg_http_reply {
    int code;
    unsigned char *bytes; /* [n], and a zero behind; free() it */
    size_t n;
} eg_http_reply;

/* EG_EIO: there was no answer, and there may be one later; EG_EINVAL: there will be none, since
 * the server is not who it should be; EG_EFORMAT: the answer is too long. */
eg_status eg_http_client_call(eg_http_client *c, const eg_http_call *call, eg_http_reply *out);

#endif
