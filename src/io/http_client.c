/* http_client.c - libcurl, the only file that uses it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_client.h"

#include "io/http_url.h"

#include <curl/curl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HTTP_URL = 1024,
    HTTP_CONNECT_SECONDS = 10,
    HTTP_STALL_SECONDS = 60,
    HTTP_CALL_SECONDS = 120, /* for a call, and as much again as its bytes take at HTTP_RATE */
    HTTP_RATE = 16384,       /* bytes per second */
};

struct eg_http_client {
    CURL *curl;
    struct curl_slist *headers; /* of calls without a proof */
    struct curl_slist *place;   /* where it is, if that was said */
    char url[HTTP_URL], why[CURL_ERROR_SIZE];
    /* The answer under way. */
    unsigned char *bytes;
    size_t n, cap, max;
    bool too_long;
    bool worked; /* there was an answer before */
};

static void http_init_library(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t http_write(char *from, size_t size, size_t n, void *to)
{
    eg_http_client *c = to;
    n *= size;
    if (n > c->max - c->n) {
        c->too_long = true;
        return 0;
    }
    if (n + 1 > c->cap - c->n) {
        size_t cap = 2 * c->cap > c->n + n + 1 ? 2 * c->cap : c->n + n + 1;
        cap = cap > c->max + 1 ? c->max + 1 : cap;
        unsigned char *more = realloc(c->bytes, cap);
        if (!more)
            return 0;
        c->bytes = more;
        c->cap = cap;
    }
    memcpy(c->bytes + c->n, from, n);
    c->n += n;
    c->bytes[c->n] = 0;
    return n;
}

/* The headers of a call: what it is known by, and nothing that costs a round trip more. */
static eg_status http_make_headers(const char *scheme, const char *key, struct curl_slist **out)
{
    char header[512];
    struct curl_slist *more;
    *out = curl_slist_append(NULL, "Expect:");
    if (!*out)
        return eg_fail(EG_ENOMEM, "no memory for a connection");
    if (!scheme)
        return EG_OK;
    int n = snprintf(header, sizeof header, "Authorization: %s %s", scheme, key);
    if (n >= (int)sizeof header)
        return eg_fail(EG_EINVAL, "a key of %zu characters is too long", strlen(key));
    more = curl_slist_append(*out, header);
    return more ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a connection");
}

/* Whatever the url names is found there. */
static eg_status http_set_place(eg_http_client *c, const char *address)
{
    char rule[EG_HTTP_HOST];
    unsigned char bytes[16];
    size_t n;
    if (!address)
        return EG_OK;
    if (!eg_http_is_address(address, bytes, &n))
        return eg_fail(EG_EINVAL, "'%.60s' is no address such as 192.0.2.7", address);
    snprintf(rule, sizeof rule, n == 4 ? "::%s:" : "::[%s]:", address);
    c->place = curl_slist_append(NULL, rule);
    if (!c->place)
        return eg_fail(EG_ENOMEM, "no memory for a connection");
    curl_easy_setopt(c->curl, CURLOPT_CONNECT_TO, c->place);
    return EG_OK;
}

static eg_status http_set(eg_http_client *c, const eg_http_to *to, bool here)
{
    CURL *u = c->curl;
    EG_TRY(http_make_headers(to->key ? "Bearer" : NULL, to->key, &c->headers));
    EG_TRY(http_set_place(c, to->address));
    curl_easy_setopt(u, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(u, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(u, CURLOPT_WRITEFUNCTION, http_write);
    curl_easy_setopt(u, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(u, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(u, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(u, CURLOPT_CONNECTTIMEOUT, (long)HTTP_CONNECT_SECONDS);
    curl_easy_setopt(u, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(u, CURLOPT_LOW_SPEED_TIME, (long)HTTP_STALL_SECONDS);
    if (to->ca)
        curl_easy_setopt(u, CURLOPT_CAINFO, to->ca);
    if (here || to->address) /* no proxy leads to this machine */
        curl_easy_setopt(u, CURLOPT_NOPROXY, "*");
    return EG_OK;
}

eg_status eg_http_client_new(const eg_http_to *to, eg_http_client **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    eg_http_client *c;
    eg_http_url url;
    *out = NULL;
    EG_TRY(eg_http_url_read(to->url, &url));
    pthread_once(&once, http_init_library);
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    snprintf(c->url, sizeof c->url, "%s", to->url);
    for (size_t n = strlen(c->url); n > 0 && c->url[n - 1] == '/';)
        c->url[--n] = 0;
    eg_status s = (c->curl = curl_easy_init())
                      ? http_set(c, to, eg_http_is_loopback(url.host))
                      : eg_fail(EG_ENOMEM, "no memory for a connection");
    if (s == EG_OK)
        *out = c;
    else
        eg_http_client_free(c);
    return s;
}

void eg_http_client_free(eg_http_client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->curl);
    curl_slist_free_all(c->headers);
    curl_slist_free_all(c->place);
    free(c->bytes);
    free(c);
}

/* Whether a server that hung up on plain HTTP would have talked over TLS. Nothing is sent to
 * it.
 */
static bool http_speaks_tls(const eg_http_client *c)
{
    char url[HTTP_URL + 8];
    CURL *u = strncmp(c->url, "http://", 7) == 0 ? curl_easy_init() : NULL;
    if (!u)
        return false;
    snprintf(url, sizeof url, "https://%s", c->url + 7);
    curl_easy_setopt(u, CURLOPT_URL, url);
    curl_easy_setopt(u, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(u, CURLOPT_NOPROXY, "*"); /* plain HTTP goes to this machine alone */
    curl_easy_setopt(u, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(u, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(u, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(u, CURLOPT_TIMEOUT, (long)HTTP_CONNECT_SECONDS);
    bool speaks = curl_easy_perform(u) == CURLE_OK;
    curl_easy_cleanup(u);
    return speaks;
}

/* Of a call that had no answer: whether another try may have one. */
static eg_status http_failed(const eg_http_client *c, CURLcode wrong)
{
    if (c->too_long)
        return eg_fail(EG_EFORMAT, "%s: an answer has more than %zu bytes", c->url, c->max);
    if (wrong == CURLE_SSL_CONNECT_ERROR && strstr(c->why, "wrong version number"))
        return eg_fail(EG_EINVAL,
                       "%s: what listens there does not speak TLS; without it the "
                       "address begins with http://",
                       c->url);
    bool cut = wrong == CURLE_GOT_NOTHING || wrong == CURLE_RECV_ERROR;
    if (cut && !c->worked && http_speaks_tls(c))
        return eg_fail(EG_EINVAL,
                       "%s: what listens there speaks TLS; with it the address begins "
                       "with https://",
                       c->url);
    bool stranger = wrong == CURLE_PEER_FAILED_VERIFICATION ||
                    wrong == CURLE_SSL_CACERT_BADFILE || wrong == CURLE_URL_MALFORMAT ||
                    wrong == CURLE_SSL_ISSUER_ERROR;
    return eg_fail(stranger ? EG_EINVAL : EG_EIO, "%s: %s", c->url,
                   *c->why ? c->why : curl_easy_strerror(wrong));
}

eg_status eg_http_client_call(eg_http_client *c, const eg_http_call *call, eg_http_reply *out)
{
    char url[2 * HTTP_URL];
    bool posts = strcmp(call->method, "POST") == 0;
    long code = 0;
    *out = (eg_http_reply){0};
    snprintf(url, sizeof url, "%s%s", c->url, call->path);
    long seconds = HTTP_CALL_SECONDS + (long)((call->max + call->n_body) / HTTP_RATE);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, seconds < LONG_MAX / 1000 ? seconds : 0);
    c->n = 0, c->max = call->max, c->too_long = false, *c->why = 0;
    if (posts) {
        curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, call->n_body ? call->body : "");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->n_body);
    } else {
        curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    }
    struct curl_slist *headers = NULL;
    eg_status made = call->proof ? http_make_headers("Ed25519", call->proof, &headers) : EG_OK;
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, call->proof ? headers : c->headers);
    CURLcode wrong = made == EG_OK ? curl_easy_perform(c->curl) : CURLE_OK;
    curl_slist_free_all(headers);
    EG_TRY(made);
    if (wrong != CURLE_OK)
        return http_failed(c, wrong);
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &code);
    c->worked = true;
    *out = (eg_http_reply){.code = (int)code, .bytes = c->bytes, .n = c->n};
    if (!out->bytes)
        EG_TRY(eg_alloc(1, 1, &out->bytes));
    c->bytes = NULL;
    c->n = c->cap = 0;
    return EG_OK;
}
