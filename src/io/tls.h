/* tls.h - TLS on a socket, for who has called a server: mbedTLS.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread at a time. The socket does not block: what cannot go on says what it waits for.
 */
#ifndef EG_TLS_H
#define EG_TLS_H

#include "base/base.h"

typedef struct eg_tls eg_tls;

typedef enum eg_tls_step {
    EG_TLS_DID,
    EG_TLS_WAITS_IN,  /* call again when the socket has bytes */
    EG_TLS_WAITS_OUT, /* call again when it takes some */
    EG_TLS_ENDED,     /* the other side has hung up */
    EG_TLS_FAILED,    /* the error text says why; only the end is left */
    EG_TLS_STRANGER   /* likewise: the other side is not who it should be, or knows no TLS */
} eg_tls_step;

/* Who may vouch for servers: a PEM file; NULL: those the system trusts. EG_EINVAL: there is
 * none in it. Free with eg_tls_free. And one that believes anybody: to see whether TLS is
 * spoken at all, before anything is sent. */
eg_status eg_tls_new(const char *ca, eg_tls **out);
eg_status eg_tls_new_blind(eg_tls **out);
void eg_tls_free(eg_tls *t); /* NULL is fine */

/* A connection on a socket, which stays the caller's, to the host of this name or address. It
 * ends the one before; eg_tls_end says goodbye if that takes no waiting. */
eg_status eg_tls_begin(eg_tls *t, int socket, const char *host);
void eg_tls_end(eg_tls *t);

/* Agrees on keys, and judges the certificate: again and again until EG_TLS_DID. */
eg_tls_step eg_tls_shake(eg_tls *t);

/* *done bytes came or went, if EG_TLS_DID; of n > 0. */
eg_tls_step eg_tls_read(eg_tls *t, void *to, size_t n, size_t *done);
eg_tls_step eg_tls_write(eg_tls *t, const void *bytes, size_t n, size_t *done);

#endif
