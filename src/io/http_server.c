/* http_server.c - libmicrohttpd, the only file that uses it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread of the library's answers all; one of ours looks now and then whether somebody has
 * waited for long. A request that waits is suspended, so that a thousand idle devices cost a
 * thousand sockets and no thread.
 */
#include "io/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    HTTP_IDLE_SECONDS = 30,
    HTTP_KEY = 256,
    HTTP_CONNECTIONS = 65536,
    HTTP_SETTLE_SECONDS = 2
};

struct eg_http_page {
    struct MHD_Response *response;
    pthread_mutex_t lock;
    int holds;
};

/* A request on its way; it belongs to the library's thread, but for what the lock covers. */
typedef struct http_call {
    struct MHD_Connection *connection;
    char key[HTTP_KEY];
    int64_t client, number;
    unsigned char *body;
    size_t n_body, cap_body;
    bool too_long;
    double since; /* when it began to wait; 0: it did not */
    /* Under the server's lock. */
    bool late;
    struct http_call *next, **link; /* of those suspended */
} http_call;

struct eg_http_server {
    eg_http_listen how;
    struct MHD_Daemon *daemon;
    int port;
    pthread_t warden;
    bool watched; /* the warden runs */
    pthread_mutex_t lock;
    pthread_cond_t leaves; /* the server closes, or a request is done */
    uint64_t n_wakes;      /* so that a wake between asking and waiting is not missed */
    bool closing;
    int64_t n_calls; /* requests whose answers are not sent yet */
    http_call *suspended;
};

eg_status eg_http_page_new(unsigned char *take, size_t n, eg_http_page **out)
{
    eg_http_page *p = calloc(1, sizeof *p);
    struct MHD_Response *r =
        p ? MHD_create_response_from_buffer(n, take, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!r) {
        free(take);
        free(p);
        return eg_fail(EG_ENOMEM, "no memory for an answer of %zu bytes", n);
    }
    p->response = r;
    p->holds = 1;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return EG_OK;
}

eg_http_page *eg_http_page_hold(eg_http_page *p)
{
    pthread_mutex_lock(&p->lock);
    p->holds++;
    pthread_mutex_unlock(&p->lock);
    return p;
}

void eg_http_page_drop(eg_http_page *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    int left = --p->holds;
    pthread_mutex_unlock(&p->lock);
    if (left > 0)
        return;
    MHD_destroy_response(p->response); /* the library has holds of its own */
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool eg_http_is_loopback(const char *host)
{
    struct in_addr four; /* a name may begin like an address: 127.0.0.1.example.com */
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

void eg_http_soon(double seconds, struct timespec *out)
{
    clock_gettime(CLOCK_REALTIME, out);
    double at = (double)out->tv_nsec / 1e9 + seconds;
    out->tv_sec += (time_t)at;
    out->tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
}

/* A whole number from 0 on in the query; -1: there is none. */
static int64_t http_number(struct MHD_Connection *c, const char *name)
{
    const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    return errno || *end ? -1 : n;
}

static http_call *http_call_new(struct MHD_Connection *c)
{
    static const char scheme[] = "Bearer ";
    http_call *call = calloc(1, sizeof *call);
    const char *key =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!call)
        return NULL;
    call->connection = c;
    call->client = http_number(c, "client");
    call->number = http_number(c, "number");
    if (key && strncmp(key, scheme, sizeof scheme - 1) == 0)
        snprintf(call->key, sizeof call->key, "%s", key + sizeof scheme - 1);
    return call;
}

static bool http_add_body(http_call *call, size_t max, const char *bytes, size_t n)
{
    if (n > max - call->n_body)
        return false;
    if (n > call->cap_body - call->n_body) {
        size_t cap =
            2 * call->cap_body > call->n_body + n ? 2 * call->cap_body : call->n_body + n;
        unsigned char *more = realloc(call->body, cap);
        if (!more)
            return false;
        call->body = more;
        call->cap_body = cap;
    }
    memcpy(call->body + call->n_body, bytes, n);
    call->n_body += n;
    return true;
}

static enum MHD_Result http_send(struct MHD_Connection *c, eg_http_answer *a)
{
    if (a->page) {
        enum MHD_Result sent = MHD_queue_response(c, (unsigned)a->code, a->page->response);
        eg_http_page_drop(a->page);
        a->page = NULL;
        return sent;
    }
    struct MHD_Response *r =
        MHD_create_response_from_buffer(strlen(a->text), a->text, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    enum MHD_Result sent = MHD_queue_response(c, (unsigned)a->code, r);
    MHD_destroy_response(r);
    return sent;
}

/* Under the lock. */
static void http_resume(http_call *call)
{
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    MHD_resume_connection(call->connection);
}

/* Has a call wait, unless somebody was woken since it was asked. */
static bool http_suspend(eg_http_server *s, http_call *call, uint64_t asked)
{
    pthread_mutex_lock(&s->lock);
    bool waits = asked == s->n_wakes && !s->closing;
    if (waits) {
        call->since = call->since > 0 ? call->since : eg_seconds();
        call->next = s->suspended;
        call->link = &s->suspended;
        if (call->next)
            call->next->link = &call->next;
        s->suspended = call;
        MHD_suspend_connection(call->connection);
    }
    pthread_mutex_unlock(&s->lock);
    return waits;
}

/* Asks what becomes of a call that is whole; false: it waits. */
static bool http_ask(eg_http_server *s, http_call *call, eg_http_request *r, eg_http_answer *a)
{
    for (;;) {
        pthread_mutex_lock(&s->lock);
        uint64_t asked = s->n_wakes;
        r->late = call->late || s->closing;
        pthread_mutex_unlock(&s->lock);
        *a = (eg_http_answer){0};
        s->how.handle(s->how.context, r, a);
        EG_ASSERT(a->code || !r->late);
        if (a->code)
            return true;
        if (http_suspend(s, call, asked))
            return false;
    }
}

static enum MHD_Result http_refuse(struct MHD_Connection *c, int code, const char *why)
{
    eg_http_answer a = {.code = code};
    snprintf(a.text, sizeof a.text, "%s", why);
    return http_send(c, &a);
}

static void http_count(eg_http_server *s, int change)
{
    pthread_mutex_lock(&s->lock);
    s->n_calls += change;
    pthread_cond_broadcast(&s->leaves);
    pthread_mutex_unlock(&s->lock);
}

/* The library's call: once for the head, for each piece of the body, and at the end; again for
 * one that waited. */
static enum MHD_Result http_access(void *self, struct MHD_Connection *c, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *n_upload, void **own)
{
    eg_http_server *s = self;
    http_call *call = *own;
    bool begins = call == NULL;
    (void)version;
    if (begins && !(call = *own = http_call_new(c)))
        return MHD_NO;
    if (begins)
        http_count(s, 1);
    if (!begins && *n_upload > 0) {
        call->too_long |= !http_add_body(call, s->how.max_body, upload, *n_upload);
        *n_upload = 0;
        return MHD_YES;
    }
    if (call->too_long)
        return http_refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, "this is too long");
    eg_http_request r = {.method = method,
                         .path = url,
                         .key = call->key,
                         .client = call->client,
                         .number = call->number,
                         .body = call->body,
                         .n_body = call->n_body,
                         .begins = begins};
    eg_http_answer a = {0};
    if (begins) {
        s->how.handle(s->how.context, &r, &a);
        return a.code ? http_send(c, &a) : MHD_YES;
    }
    return http_ask(s, call, &r, &a) ? http_send(c, &a) : MHD_YES;
}

static void http_completed(void *self, struct MHD_Connection *c, void **own,
                           enum MHD_RequestTerminationCode how)
{
    eg_http_server *s = self;
    http_call *call = *own; /* one that is suspended is not completed */
    (void)c;
    (void)how;
    if (!call)
        return;
    http_count(s, -1);
    free(call->body);
    free(call);
    *own = NULL;
}

void eg_http_server_wake(eg_http_server *s, int64_t client)
{
    pthread_mutex_lock(&s->lock);
    s->n_wakes++;
    for (http_call *c = s->suspended, *next; c; c = next) {
        next = c->next;
        if (client < 0 || c->client == client)
            http_resume(c);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Resumes those who have waited for long, or all at the end. */
static void *http_watch(void *self)
{
    eg_http_server *s = self;
    pthread_mutex_lock(&s->lock);
    while (!s->closing) {
        struct timespec soon;
        eg_http_soon(s->how.wait / 2 < 1 ? s->how.wait / 2 : 1, &soon);
        pthread_cond_timedwait(&s->leaves, &s->lock, &soon);
        double now = eg_seconds();
        for (http_call *c = s->suspended, *next; c; c = next) {
            next = c->next;
            c->late = s->closing || now - c->since > s->how.wait;
            if (c->late)
                http_resume(c);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* The library prints nothing. */
static void http_log(void *self, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void http_log(void *self, const char *format, va_list args)
{
    (void)self;
    (void)format;
    (void)args;
}

static eg_status http_start(eg_http_server *s, const struct sockaddr *at)
{
    const eg_http_listen *how = &s->how;
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (how->certificate ? MHD_USE_TLS : 0) |
                     (at->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)how->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)how->secret},
        {MHD_OPTION_END, 0, NULL}};
    if (!how->certificate)
        tls[0].option = MHD_OPTION_END;
    errno = 0;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, http_access, s, MHD_OPTION_EXTERNAL_LOGGER, http_log, s,
        MHD_OPTION_NOTIFY_COMPLETED, http_completed, s, MHD_OPTION_SOCK_ADDR, at,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CONNECTIONS, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!s->daemon)
        return eg_fail(EG_EIO, "cannot listen on %s:%s: %s", how->host, how->port,
                       errno              ? strerror(errno)
                       : how->certificate ? "the certificate and its key do not fit"
                                          : "the library says no more");
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info ? info->port : 0;
    return EG_OK;
}

static eg_status http_open(eg_http_server *s)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    int wrong = getaddrinfo(s->how.host, s->how.port, &hints, &found);
    if (wrong)
        return eg_fail(EG_EINVAL, "cannot listen on %s:%s: %s", s->how.host, s->how.port,
                       gai_strerror(wrong));
    eg_status status = http_start(s, found->ai_addr);
    freeaddrinfo(found);
    EG_TRY(status);
    if (pthread_create(&s->warden, NULL, http_watch, s) != 0)
        return eg_fail(EG_ENOMEM, "no thread for the server");
    s->watched = true;
    return EG_OK;
}

eg_status eg_http_server_new(const eg_http_listen *how, eg_http_server **out)
{
    eg_http_server *s;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *s, &s));
    s->how = *how;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->leaves, NULL);
    eg_status status = http_open(s);
    if (status == EG_OK)
        *out = s;
    else
        eg_http_server_free(s);
    return status;
}

/* Waits until the last answers are sent, if that does not take long. */
static void http_settle(eg_http_server *s)
{
    struct timespec late;
    eg_http_soon(HTTP_SETTLE_SECONDS, &late);
    pthread_mutex_lock(&s->lock);
    while (s->n_calls > 0 && pthread_cond_timedwait(&s->leaves, &s->lock, &late) == 0)
        continue;
    pthread_mutex_unlock(&s->lock);
}

void eg_http_server_free(eg_http_server *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->leaves);
    pthread_mutex_unlock(&s->lock);
    if (s->watched)
        pthread_join(s->warden, NULL);
    http_settle(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    pthread_cond_destroy(&s->leaves);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int eg_http_server_port(const eg_http_server *s)
{
    return s->port;
}
