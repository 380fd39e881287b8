/* http_small.c - the client of http_client.h without libcurl: sockets, and TLS by tls.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/1.1, no proxies, no redirects, nothing that was not asked for. Sockets do not block;
 * every wait has an end: of the connection, of silence, and of the call.
 */
#include "io/http_answer.h"
#include "io/http_client.h"
#include "io/http_url.h"
#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef EG_STATIC
#include <nss.h>
#endif

enum {
    SMALL_URL = 1024,
    SMALL_HEAD = 2048, /* of what is asked */
    SMALL_READ = 16384,
    SMALL_WRITE = 1 << 20, /* at once */
    SMALL_CONNECT_SECONDS = 10,
    SMALL_STALL_SECONDS = 60,
    SMALL_CALL_SECONDS =
        120,            /* for a call, and as much again as its bytes take at SMALL_RATE */
    SMALL_RATE = 16384, /* bytes per second */
};

struct eg_http_client {
    char url[SMALL_URL], host[EG_HTTP_HOST], port[EG_HTTP_PORT], address[EG_HTTP_HOST];
    char *key; /* NULL: none */
    bool safe; /* over TLS */
    eg_tls *tls;
    int socket;   /* -1: there is no connection */
    bool kept;    /* it has brought an answer already */
    bool worked;  /* some connection has */
    bool late;    /* a wait of the call under way had no end in time */
    double until; /* the call's end */
    unsigned char room[SMALL_READ];
};

/* How one step of a call went. */
typedef enum small_step {
    SMALL_DID,
    SMALL_ENDED, /* the server hung up */
    SMALL_FAILED
} small_step;

static void small_hang_up(eg_http_client *c)
{
    if (c->socket >= 0) {
        if (c->safe)
            eg_tls_end(c->tls);
        close(c->socket);
    }
    c->socket = -1;
    c->kept = false;
}

/* Waits for the socket, until a time and no longer than a silence may be. *got: what poll says.
 */
static small_step small_wait(eg_http_client *c, short events, double until, short *got)
{
    double stall = eg_seconds() + SMALL_STALL_SECONDS, end = until < stall ? until : stall;
    struct pollfd p = {.fd = c->socket, .events = events};
    int n;
    do {
        double left = end - eg_seconds();
        n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
    } while (n < 0 && errno == EINTR);
    *got = p.revents;
    if (n > 0)
        return SMALL_DID;
    c->late = true;
    if (end == stall)
        eg_fail(EG_EIO, "the server says nothing for %d seconds", SMALL_STALL_SECONDS);
    else
        eg_fail(EG_EIO, "the server takes too long");
    return SMALL_FAILED;
}

static small_step small_of_tls(eg_http_client *c, eg_tls_step step)
{
    short got;
    if (step == EG_TLS_WAITS_IN || step == EG_TLS_WAITS_OUT)
        return small_wait(c, step == EG_TLS_WAITS_IN ? POLLIN : POLLOUT | POLLIN, c->until,
                          &got); /* a server that takes no more may have said why */
    return step == EG_TLS_DID ? SMALL_DID : step == EG_TLS_ENDED ? SMALL_ENDED : SMALL_FAILED;
}

/* Some bytes, at least one; less: none came yet, and one may ask again. */
static small_step small_read(eg_http_client *c, size_t *n)
{
    short got;
    *n = 0;
    if (c->safe)
        return small_of_tls(c, eg_tls_read(c->tls, c->room, sizeof c->room, n));
    ssize_t came = recv(c->socket, c->room, sizeof c->room, MSG_DONTWAIT);
    if (came > 0)
        *n = (size_t)came;
    if (came < 0 && (errno == EAGAIN || errno == EINTR))
        return small_wait(c, POLLIN, c->until, &got);
    if (came < 0)
        eg_fail(EG_EIO, "the connection broke: %s", strerror(errno));
    return came > 0 ? SMALL_DID : came == 0 ? SMALL_ENDED : SMALL_FAILED;
}

/* Whether the server has said something, or hung up, without waiting for it. */
static bool small_hears(const eg_http_client *c)
{
    struct pollfd p = {.fd = c->socket, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Sends some of n bytes: *done. */
static small_step small_write(eg_http_client *c, const void *bytes, size_t n, size_t *done)
{
    short got;
    *done = 0;
    n = n < SMALL_WRITE ? n : SMALL_WRITE;
    if (c->safe)
        return small_of_tls(c, eg_tls_write(c->tls, bytes, n, done));
    ssize_t went = send(c->socket, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (went > 0)
        *done = (size_t)went;
    if (went < 0 && (errno == EAGAIN || errno == EINTR))
        return small_wait(c, POLLOUT | POLLIN, c->until, &got);
    return went >= 0 ? SMALL_DID : SMALL_ENDED; /* it may have said why */
}

/* Sends all of it; a server that has an answer before it has heard all is listened to: *early.
 */
static small_step small_send(eg_http_client *c, const void *bytes, size_t n, bool *early)
{
    size_t at = 0, done;
    small_step step = SMALL_DID;
    *early = false;
    while (at < n && step == SMALL_DID && !*early) {
        step = small_write(c, (const char *)bytes + at, n - at, &done);
        at += done;
        *early = at > 0 && at < n && small_hears(c);
    }
    return step;
}

/* One address; the socket, or -1: why is in the error text. */
static int small_dial(eg_http_client *c, const struct addrinfo *to, double until)
{
    short got;
    int one = 1, wrong = 0;
    socklen_t n = sizeof wrong;
    c->socket = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || connect(c->socket, to->ai_addr, to->ai_addrlen) != 0)
        wrong = errno;
    if (wrong == EINPROGRESS && small_wait(c, POLLOUT, until, &got) == SMALL_DID)
        getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &wrong, &n);
    if (wrong && wrong != EINPROGRESS)
        eg_fail(EG_EIO, "no connection: %s", strerror(wrong));
    if (wrong) {
        small_hang_up(c);
        return -1;
    }
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return c->socket;
}

/* In a static program only what is linked in can look names up: /etc/hosts and DNS. */
static void small_choose_names(void)
{
#ifdef EG_STATIC
    __nss_configure_lookup("hosts", "files dns");
#endif
}

/* A TCP connection to the server. */
static eg_status small_connect(eg_http_client *c)
{
    const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    const struct addrinfo here = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    const char *host = *c->address ? c->address : c->host;
    small_choose_names();
    int wrong = getaddrinfo(host, c->port, &want, &list);
    if (wrong) /* a machine whose only network is itself has no address by that rule */
        wrong = getaddrinfo(host, c->port, &here, &list);
    if (wrong)
        return eg_fail(EG_EIO, "the name %s is not known: %s", host, gai_strerror(wrong));
    double until = eg_seconds() + SMALL_CONNECT_SECONDS;
    until = until < c->until ? until : c->until;
    int made = -1;
    for (const struct addrinfo *a = list; a && made < 0; a = a->ai_next)
        made = small_dial(c, a, until);
    freeaddrinfo(list);
    return made >= 0 ? EG_OK : EG_EIO;
}

/* Agrees on TLS. EG_EINVAL: the server is a stranger. */
static eg_status small_shake(eg_http_client *c, eg_tls *tls)
{
    double end = eg_seconds() + SMALL_CONNECT_SECONDS;
    EG_TRY(eg_tls_begin(tls, c->socket, c->host));
    for (;;) {
        short got;
        eg_tls_step step = eg_tls_shake(tls);
        switch (step) {
        case EG_TLS_DID:
            return EG_OK;
        case EG_TLS_STRANGER:
            return EG_EINVAL;
        case EG_TLS_ENDED:
            return eg_fail(EG_EIO, "the server hung up before TLS was agreed on");
        case EG_TLS_FAILED:
            return EG_EIO;
        default:
            if (small_wait(c, step == EG_TLS_WAITS_IN ? POLLIN : POLLOUT, end, &got) !=
                SMALL_DID)
                return EG_EIO;
        }
    }
}

/* Whether a server that hung up on plain HTTP would have talked over TLS. Nothing is sent to
 * it. */
static bool small_speaks_tls(eg_http_client *c)
{
    eg_tls *blind;
    if (c->safe || c->worked || eg_tls_new_blind(&blind) != EG_OK)
        return false;
    small_hang_up(c);
    bool speaks = small_connect(c) == EG_OK && small_shake(c, blind) == EG_OK;
    small_hang_up(c);
    eg_tls_free(blind);
    return speaks;
}

static eg_status small_open(eg_http_client *c)
{
    if (c->socket >= 0 &&
        !small_hears(c)) /* one that was idle has nothing to say but its end */
        return EG_OK;
    small_hang_up(c);
    EG_TRY(small_connect(c));
    eg_status s = c->safe ? small_shake(c, c->tls) : EG_OK;
    if (s != EG_OK)
        small_hang_up(c);
    return s;
}

/* The head of a request. EG_EINVAL: it is too long. */
static eg_status small_head(const eg_http_client *c, const eg_http_call *call,
                            char out[SMALL_HEAD], int *length)
{
    char proof[640] = "", body[64] = "";
    const char *key = call->proof ? call->proof : c->key;
    bool v6 = strchr(c->host, ':') != NULL;
    if (key && snprintf(proof, sizeof proof, "Authorization: %s %s\r\n",
                        call->proof ? "Ed25519" : "Bearer", key) >= (int)sizeof proof)
        return eg_fail(EG_EINVAL, "a key of %zu characters is too long", strlen(key));
    if (strcmp(call->method, "POST") == 0)
        snprintf(body, sizeof body, "Content-Length: %zu\r\n", call->n_body);
    const char *root = strchr(strstr(c->url, "://") + 3, '/');
    *length = snprintf(out, SMALL_HEAD, "%s %s%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n%s%s\r\n",
                       call->method, root ? root : "", call->path, v6 ? "[" : "", c->host,
                       v6 ? "]" : "", c->port, proof, body);
    return *length < SMALL_HEAD ? EG_OK : eg_fail(EG_EINVAL, "the request is too long");
}

/* Asks, and reads the answer. *again: nothing came back on a connection that was kept, which
 * the server had ended meanwhile. */
static eg_status small_exchange(eg_http_client *c, const eg_http_call *call, eg_answer *a,
                                bool *again)
{
    char head[SMALL_HEAD];
    int n_head = 0;
    bool early = false, heard = false, kept = c->kept;
    EG_TRY(small_head(c, call, head, &n_head));
    small_step step = small_send(c, head, (size_t)n_head, &early);
    if (step == SMALL_DID && !early)
        step = small_send(c, call->body, call->n_body, &early);
    bool sent = step == SMALL_DID && !early;
    if (step == SMALL_ENDED)
        step = SMALL_DID; /* what it said before it hung up may have come */
    while (step == SMALL_DID && a->state != EG_ANSWER_DONE) {
        size_t n, used;
        step = small_read(c, &n);
        heard |= n > 0;
        EG_TRY(eg_answer_read(a, c->room, n, &used));
        a->closes |= used < n; /* what nobody asked for */
    }
    *again = kept && !heard;
    a->closes |= !sent;
    if (step == SMALL_ENDED)
        return eg_answer_end(a);
    return a->state == EG_ANSWER_DONE ? EG_OK : EG_EIO;
}

static eg_status small_try(eg_http_client *c, const eg_http_call *call, eg_answer *a)
{
    bool again = false;
    EG_TRY(small_open(c));
    eg_status s = small_exchange(c, call, a, &again);
    if (s == EG_OK || !again)
        return s;
    small_hang_up(c);
    EG_TRY(small_open(c));
    return small_exchange(c, call, a, &again);
}

/* Of a call that had no answer: its reason, or a better one if the server hung up in silence.
 */
static eg_status small_failed(eg_http_client *c, eg_status s, bool silent)
{
    char why[512];
    snprintf(why, sizeof why, "%s", eg_error());
    if (silent && small_speaks_tls(c))
        return eg_fail(EG_EINVAL,
                       "%s: what listens there speaks TLS; with it the address begins with "
                       "https://",
                       c->url);
    return eg_fail(s, "%s: %s", c->url, why);
}

eg_status eg_http_client_call(eg_http_client *c, const eg_http_call *call, eg_http_reply *out)
{
    eg_answer a;
    *out = (eg_http_reply){0};
    c->until = eg_seconds() + SMALL_CALL_SECONDS + (double)call->max / SMALL_RATE +
               (double)call->n_body / SMALL_RATE;
    c->late = false;
    eg_answer_init(&a, call->max);
    eg_status s = small_try(c, call, &a);
    if (s == EG_OK && !a.bytes)
        s = eg_alloc(1, 1, &a.bytes);
    if (s != EG_OK) {
        bool silent = s == EG_EIO && a.state == EG_ANSWER_STATUS && c->socket >= 0 && !c->late;
        eg_answer_fini(&a);
        s = small_failed(c, s, silent);
        small_hang_up(c);
        return s;
    }
    c->kept = c->worked = true;
    if (a.closes)
        small_hang_up(c);
    *out = (eg_http_reply){.code = a.code, .bytes = a.bytes, .n = a.n};
    return EG_OK;
}

static eg_status small_set(eg_http_client *c, const eg_http_to *to, const eg_http_url *url)
{
    unsigned char bytes[16];
    size_t n;
    snprintf(c->url, sizeof c->url, "%.*s", (int)(url->path + url->n_path - to->url), to->url);
    snprintf(c->host, sizeof c->host, "%s", url->host);
    snprintf(c->port, sizeof c->port, "%s", url->port);
    c->safe = url->safe, c->socket = -1;
    if (to->address && !eg_http_is_address(to->address, bytes, &n))
        return eg_fail(EG_EINVAL, "'%.60s' is no address such as 192.0.2.7", to->address);
    if (to->address)
        snprintf(c->address, sizeof c->address, "%s", to->address);
    if (to->key && !(c->key = strdup(to->key)))
        return eg_fail(EG_ENOMEM, "no memory for a connection");
    return c->safe ? eg_tls_new(to->ca, &c->tls) : EG_OK;
}

eg_status eg_http_client_new(const eg_http_to *to, eg_http_client **out)
{
    eg_http_client *c;
    eg_http_url url;
    *out = NULL;
    EG_TRY(eg_http_url_read(to->url, &url));
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    eg_status s = small_set(c, to, &url);
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
    small_hang_up(c);
    eg_tls_free(c->tls);
    if (c->key)
        memset(c->key, 0, strlen(c->key));
    free(c->key);
    free(c);
}
