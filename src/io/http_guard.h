/* http_guard.h - who is connected to a server, from where, and for how long it may say nothing.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Strangers are connections that have not shown a good key yet. Of them there may be so many
 * per address, and when there is no room left, the oldest goes. A request has a time for its
 * head and one for its body, as wholes, so that slow drips end. Wrong keys are counted per
 * address, and each is answered later than the one before. Any thread may call.
 */
#ifndef EG_HTTP_GUARD_H
#define EG_HTTP_GUARD_H

#include "base/base.h"

#include <sys/socket.h>

typedef struct eg_http_guard eg_http_guard;
typedef struct eg_http_door eg_http_door; /* one connection */

typedef struct eg_http_limits {
    int connections;     /* in all */
    double head_seconds; /* until a request's head must be there */
    double body_seconds; /* and its body, and as much again as that takes at body_rate */
    double body_rate;    /* bytes per second */
} eg_http_limits;

eg_status eg_http_guard_new(const eg_http_limits *limits, eg_http_guard **out);
void eg_http_guard_free(eg_http_guard *g); /* when all have left; NULL is fine */

/* Whether one more connection may come; a stranger may have to go for it. */
bool eg_http_guard_admits(eg_http_guard *g, const struct sockaddr *from);

/* It has come, on this socket. NULL: there is no memory, and nobody watches over it. */
eg_http_door *eg_http_guard_enter(eg_http_guard *g, int socket, const struct sockaddr *from);
void eg_http_guard_leave(eg_http_guard *g, eg_http_door *d); /* before its socket is closed */

/* What happens on it; NULL is fine. The head of a request is there, of whose body n bytes are
 * to come; the body is there; the answer is sent. */
void eg_http_guard_head(eg_http_guard *g, eg_http_door *d, size_t n);
void eg_http_guard_body(eg_http_guard *g, eg_http_door *d);
void eg_http_guard_done(eg_http_guard *g, eg_http_door *d);
void eg_http_guard_prove(eg_http_guard *g, eg_http_door *d); /* it has shown a good key */

/* It has shown a wrong one: for how many seconds the answer should wait. *n: how many came from
 * there of late; address: which that is. */
enum { EG_HTTP_ADDRESS = 48 };
double eg_http_guard_fail(eg_http_guard *g, eg_http_door *d, int64_t *n,
                          char address[EG_HTTP_ADDRESS]);

/* Hangs up on those whose time is over. */
void eg_http_guard_sweep(eg_http_guard *g);

#endif
