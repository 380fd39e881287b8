/* http_url.h - addresses of HTTP servers, as both clients and the server read them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_HTTP_URL_H
#define EG_HTTP_URL_H

#include "base/base.h"

enum { EG_HTTP_HOST = 256, EG_HTTP_PORT = 8 };

/* "https://[::1]:8443/" has the host "::1", the port "8443" and the path "". */
typedef struct eg_http_url {
    bool safe; /* over TLS */
    char host[EG_HTTP_HOST], port[EG_HTTP_PORT];
    const char *path; /* what follows, borrowed, without the slashes at its end */
    size_t n_path;
} eg_http_url;

/* EG_EINVAL: it is no such address, or one of plain HTTP on another machine. */
eg_status eg_http_url_read(const char *url, eg_http_url *out);

/* Whether a host's name or address is this machine's own loopback. */
bool eg_http_is_loopback(const char *host);

/* Whether it is an address, of four bytes or sixteen, and which; else it is a name. */
bool eg_http_is_address(const char *host, unsigned char bytes[16], size_t *n);

#endif
