/* http_url.c - "https://host:port/path" in its parts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MOST = 512, URL_PORTS = 65535 };

bool eg_http_is_loopback(const char *host)
{
    struct in_addr four; /* a name may begin like an address: 127.0.0.1.example.com */
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

bool eg_http_is_address(const char *host, unsigned char bytes[16], size_t *n)
{
    *n = 4;
    if (inet_pton(AF_INET, host, bytes) == 1)
        return true;
    *n = 16;
    return inet_pton(AF_INET6, host, bytes) == 1;
}

/* ":8443" as a port, and what follows it; false: there is none such. */
static bool url_port(const char **at, eg_http_url *out)
{
    char *end;
    snprintf(out->port, sizeof out->port, "%s", out->safe ? "443" : "80");
    if (**at != ':')
        return true;
    size_t n = strspn(*at + 1, "0123456789");
    long port = n > 0 && n <= 5 ? strtol(*at + 1, &end, 10) : 0;
    snprintf(out->port, sizeof out->port, "%ld", port);
    *at += 1 + n;
    return port > 0 && port <= URL_PORTS;
}

static bool url_split(const char *url, eg_http_url *out)
{
    out->safe = strncmp(url, "https://", 8) == 0;
    if (!out->safe && strncmp(url, "http://", 7) != 0)
        return false;
    const char *at = url + (out->safe ? 8 : 7);
    bool bracket = *at == '[';
    at += bracket;
    size_t n = strcspn(at, bracket ? "]" : ":/");
    if (n == 0 || n >= sizeof out->host - 1 || strpbrk(url, " @?#\r\n"))
        return false;
    snprintf(out->host, sizeof out->host, "%.*s", (int)n, at);
    at += n;
    if (bracket && *at++ != ']')
        return false;
    if (!url_port(&at, out) || (*at && *at != '/'))
        return false;
    out->path = at, out->n_path = strlen(at);
    while (out->n_path > 0 && at[out->n_path - 1] == '/')
        out->n_path--;
    return true;
}

eg_status eg_http_url_read(const char *url, eg_http_url *out)
{
    *out = (eg_http_url){0};
    if (strlen(url) > URL_MOST || !url_split(url, out))
        return eg_fail(EG_EINVAL, "'%.200s' is no address such as https://host:8443", url);
    if (!out->safe && !eg_http_is_loopback(out->host))
        return eg_fail(EG_EINVAL,
                       "%.200s: without TLS the key would be sent for all to read; only "
                       "https:// leads to other machines",
                       url);
    return EG_OK;
}
