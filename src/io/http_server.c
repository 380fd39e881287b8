/* http_server.c - libmicrohttpd, the only file that uses it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread of the library's answers all; one of ours looks now and then whether somebody has
 * waited for long, or takes too long. A request that waits is suspended, so that a thousand
 * idle devices cost a thousand sockets and no thread.
 */
/* size: all that uses the library is here.
 */
#include "io/http_server.h"

#include "base/pool.h"
#include "io/http_guard.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HTTP_IDLE_SECONDS = 30,
    HTTP_BODY_SECONDS = 30,
    HTTP_BODY_RATE = 16384, /* bytes per second */
    HTTP_KEY = 336,
    HTTP_CONNECTIONS = 262144,
    HTTP_RESERVE = 128,    /* open files that are not for connections */
    HTTP_SWALLOWS = 65536, /* bytes of a body whose sender is told to go */
    HTTP_BUCKETS = 1024,
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
    eg_http_door *door;
    char key[HTTP_KEY], proof[HTTP_KEY]; /* one of them */
    int64_t client, number, session;
    size_t n_body; /* announced */
    bool known;    /* by a good key */
    eg_chunk *body;
    eg_http_answer refusal; /* code 0: none; said at the end, or later */
    double since;           /* when it began to wait; 0: it did not */
    double until;           /* before which a refusal is not said */
    /* Under the server's lock. */
    bool late;
    struct http_call *next, **link; /* of those suspended */
} http_call;

struct eg_http_server {
    eg_http_listen how;
    struct MHD_Daemon *daemon;
    struct MHD_Daemon **older; /* [n_older], of earlier certificates, until all have gone */
    size_t n_older;
    eg_http_guard *guard;
    int port;
    pthread_t warden;
    bool watched; /* the warden runs */
    pthread_mutex_t lock;
    pthread_cond_t leaves; /* the server closes, or a request is done */
    uint64_t n_wakes;      /* so that a wake between asking and waiting is not missed */
    bool closing;
    int64_t n_calls;                    /* requests whose answers are not sent yet */
    http_call *suspended[HTTP_BUCKETS]; /* by client */
};

int eg_http_open_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 0;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        getrlimit(RLIMIT_NOFILE, &files);
    rlim_t most = files.rlim_cur > HTTP_RESERVE ? files.rlim_cur - HTTP_RESERVE : 0;
    return most < HTTP_CONNECTIONS ? (int)most : HTTP_CONNECTIONS;
}

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

void eg_http_page_type(eg_http_page *p, const char *type)
{
    MHD_add_response_header(p->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(p->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(p->response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(p->response, "X-Frame-Options", "DENY");
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

void eg_http_say(eg_http_answer *out, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->code = code;
    vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
}

/* A whole number from 0 on, in the query or among the headers; -1: there is none. */
static int64_t http_number(struct MHD_Connection *c, enum MHD_ValueKind where, const char *name)
{
    const char *text = MHD_lookup_connection_value(c, where, name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    return errno || *end ? -1 : n;
}

/* The bytes that its head announces; false: it does not say. */
static bool http_length(struct MHD_Connection *c, size_t *out)
{
    const char *text =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    char *end;
    *out = 0;
    if (!text)
        return !MHD_lookup_connection_value(c, MHD_HEADER_KIND,
                                            MHD_HTTP_HEADER_TRANSFER_ENCODING);
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end && *text >= '0' && *text <= '9';
}

static http_call *http_call_new(struct MHD_Connection *c)
{
    static const char bearer[] = "Bearer ", signs[] = "Ed25519 ";
    http_call *call = calloc(1, sizeof *call);
    const char *key =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    const union MHD_ConnectionInfo *door =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!call)
        return NULL;
    call->connection = c;
    call->door = door ? door->socket_context : NULL;
    call->client = http_number(c, MHD_GET_ARGUMENT_KIND, "client");
    call->number = http_number(c, MHD_GET_ARGUMENT_KIND, "number");
    if (call->number < 0)
        call->number = http_number(c, MHD_HEADER_KIND, "Last-Event-ID");
    call->session = http_number(c, MHD_GET_ARGUMENT_KIND, "session");
    if (key && strncmp(key, bearer, sizeof bearer - 1) == 0)
        snprintf(call->key, sizeof call->key, "%s", key + sizeof bearer - 1);
    if (key && strncmp(key, signs, sizeof signs - 1) == 0)
        snprintf(call->proof, sizeof call->proof, "%s", key + sizeof signs - 1);
    return call;
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
    if (a->code == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
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

/* Under the lock. */
static void http_suspend(eg_http_server *s, http_call *call)
{
    http_call **bucket = &s->suspended[(uint64_t)call->client % HTTP_BUCKETS];
    call->since = call->since > 0 ? call->since : eg_seconds();
    call->next = *bucket;
    call->link = bucket;
    if (call->next)
        call->next->link = &call->next;
    *bucket = call;
    MHD_suspend_connection(call->connection);
}

/* Has a call wait, unless somebody was woken since it was asked. */
static bool http_waits(eg_http_server *s, http_call *call, uint64_t asked)
{
    pthread_mutex_lock(&s->lock);
    bool waits = asked == s->n_wakes && !s->closing;
    if (waits)
        http_suspend(s, call);
    pthread_mutex_unlock(&s->lock);
    return waits;
}

/* Whether a refusal is not to be said yet. */
static bool http_dawdles(eg_http_server *s, http_call *call)
{
    pthread_mutex_lock(&s->lock);
    bool waits = eg_seconds() < call->until && !s->closing;
    if (waits)
        http_suspend(s, call);
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
        r->body = call->body;
        s->how.handle(s->how.context, r, a);
        if (a->takes_body)
            call->body = NULL;
        EG_ASSERT(a->code || !r->late);
        if (a->code)
            return true;
        if (http_waits(s, call, asked))
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

/* Somebody without a good key: the answer comes later each time, and the connection ends. */
static void http_strange(eg_http_server *s, http_call *call)
{
    char address[EG_HTTP_ADDRESS];
    int64_t n;
    call->until = eg_seconds() + eg_http_guard_fail(s->guard, call->door, &n, address);
    if (s->how.strange)
        s->how.strange(s->how.context, call->client, address, n);
}

/* Refuses a request whose body is still to come. Whoever sends one reads nothing until it is
 * sent, and may lose an answer that is given before: one that is not long is taken and dropped.
 */
static enum MHD_Result http_decline(http_call *call, eg_http_answer *a)
{
    size_t most = call->known ? 2 * a->most : 0;
    if (call->n_body == 0 || call->n_body > (most > HTTP_SWALLOWS ? most : HTTP_SWALLOWS))
        return http_send(call->connection, a);
    call->refusal = *a;
    return MHD_YES;
}

/* The head of a request is there: says at once what can be said, or that the body may come. */
static enum MHD_Result http_begin(eg_http_server *s, http_call *call, eg_http_request *r)
{
    eg_http_answer a = {0};
    bool says = http_length(call->connection, &call->n_body);
    eg_http_guard_head(s->guard, call->door, call->n_body);
    if (!says)
        return http_refuse(call->connection, MHD_HTTP_LENGTH_REQUIRED,
                           "the length of a body is said before it comes");
    r->n_body = call->n_body;
    s->how.handle(s->how.context, r, &a);
    call->known = a.known;
    if (a.known)
        eg_http_guard_prove(s->guard, call->door);
    if (a.code == MHD_HTTP_UNAUTHORIZED) {
        http_strange(s, call);
        call->refusal = a;
        return call->n_body <= HTTP_SWALLOWS ? MHD_YES : http_send(call->connection, &a);
    }
    if (!a.code && call->n_body > a.most) {
        a.code = MHD_HTTP_CONTENT_TOO_LARGE;
        snprintf(a.text, sizeof a.text, "this is too long");
    }
    if (a.code)
        return http_decline(call, &a);
    if (call->n_body > 0 && eg_chunk_new(s->how.spool, call->n_body, &call->body) != EG_OK)
        return http_refuse(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE, eg_error());
    return MHD_YES;
}

/* A piece of the body. */
static void http_add(http_call *call, const char *bytes, size_t n)
{
    if (call->refusal.code || !call->body || eg_chunk_add(call->body, bytes, n) == EG_OK)
        return;
    call->refusal.code = MHD_HTTP_SERVICE_UNAVAILABLE;
    snprintf(call->refusal.text, sizeof call->refusal.text, "%.500s", eg_error());
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
        http_add(call, upload, *n_upload);
        *n_upload = 0;
        return MHD_YES;
    }
    eg_http_request r = {.method = method,
                         .path = url,
                         .key = call->key,
                         .proof = call->proof,
                         .client = call->client,
                         .number = call->number,
                         .session = call->session,
                         .begins = begins};
    eg_http_answer a = {0};
    if (begins)
        return http_begin(s, call, &r);
    eg_http_guard_body(s->guard, call->door);
    if (call->refusal.code)
        return http_dawdles(s, call) ? MHD_YES : http_send(c, &call->refusal);
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
    if (s->how.ended && call->known && call->n_body > 0)
        s->how.ended(s->how.context, call->client, call->n_body);
    eg_http_guard_done(s->guard, call->door);
    http_count(s, -1);
    eg_chunk_free(call->body);
    free(call);
    *own = NULL;
}

static enum MHD_Result http_admits(void *self, const struct sockaddr *from, socklen_t n)
{
    const eg_http_server *s = self;
    (void)n;
    return eg_http_guard_admits(s->guard, from) ? MHD_YES : MHD_NO;
}

/* A connection comes or goes. */
static void http_connected(void *self, struct MHD_Connection *c, void **door,
                           enum MHD_ConnectionNotificationCode what)
{
    const eg_http_server *s = self;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        eg_http_guard_leave(s->guard, *door);
        *door = NULL;
        return;
    }
    const union MHD_ConnectionInfo *socket =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *door = socket && from
                ? eg_http_guard_enter(s->guard, socket->connect_fd, from->client_addr)
                : NULL;
}

void eg_http_server_wake(eg_http_server *s, int64_t client)
{
    pthread_mutex_lock(&s->lock);
    s->n_wakes++;
    uint64_t first = client < 0 ? 0 : (uint64_t)client % HTTP_BUCKETS;
    uint64_t end = client < 0 ? HTTP_BUCKETS : first + 1;
    for (uint64_t b = first; b < end; b++)
        for (http_call *c = s->suspended[b], *next; c; c = next) {
            next = c->next;
            if ((client < 0 || c->client == client) && !c->refusal.code)
                http_resume(c);
        }
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock: resumes those who have waited for long, or all at the end. */
static void http_resume_late(eg_http_server *s)
{
    double now = eg_seconds();
    for (int b = 0; b < HTTP_BUCKETS; b++)
        for (http_call *c = s->suspended[b], *next; c; c = next) {
            next = c->next;
            bool due = c->refusal.code ? now >= c->until : now - c->since > s->how.wait;
            c->late = s->closing || due;
            if (c->late)
                http_resume(c);
        }
}

static void *http_watch(void *self)
{
    eg_http_server *s = self;
    pthread_mutex_lock(&s->lock);
    while (!s->closing) {
        eg_cond_wait(&s->leaves, &s->lock, s->how.wait / 2 < 0.2 ? s->how.wait / 2 : 0.2);
        http_resume_late(s);
        eg_http_guard_sweep(s->guard);
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

/* Starts a daemon at an address, or, if that is NULL, on a socket that listens already. */
static eg_status http_start(eg_http_server *s, const eg_http_listen *how,
                            const struct sockaddr *at, int socket)
{
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (how->certificate ? MHD_USE_TLS : 0) |
                     (at && at->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    struct MHD_OptionItem where[] = {{at ? MHD_OPTION_SOCK_ADDR : MHD_OPTION_LISTEN_SOCKET,
                                      at ? 0 : socket, (void *)(uintptr_t)at},
                                     {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)how->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)how->secret},
        {MHD_OPTION_HTTPS_PRIORITIES, 0,
         (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL}};
    if (!how->certificate)
        tls[0].option = MHD_OPTION_END;
    errno = 0;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, http_admits, s, http_access, s, MHD_OPTION_EXTERNAL_LOGGER, http_log, s,
        MHD_OPTION_NOTIFY_COMPLETED, http_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        http_connected, s, MHD_OPTION_ARRAY, where, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)HTTP_IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)how->connections,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    const char *why = errno              ? strerror(errno)
                      : how->certificate ? "the certificate and its key do not fit"
                                         : "the library says no more";
    if (!daemon && !at)
        return eg_fail(EG_EIO, "cannot listen with another certificate: %s", why);
    if (!daemon)
        return eg_fail(EG_EIO, "cannot listen on %s:%s: %s", how->host, how->port, why);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->daemon = daemon;
    s->port = info && at ? info->port : s->port;
    return EG_OK;
}

/* Ends the daemons of earlier certificates that nobody is connected to any more. */
static void http_reap(eg_http_server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_older; i++) {
        const union MHD_DaemonInfo *info =
            MHD_get_daemon_info(s->older[i], MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (info && info->num_connections == 0)
            MHD_stop_daemon(s->older[i]);
        else
            s->older[n++] = s->older[i];
    }
    s->n_older = n;
}

eg_status eg_http_server_renew(eg_http_server *s, const char *certificate, const char *secret)
{
    struct MHD_Daemon **more, *old = s->daemon;
    eg_http_listen how = s->how;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(old, MHD_DAEMON_INFO_LISTEN_FD);
    http_reap(s);
    more = realloc(s->older, (s->n_older + 1) * sizeof *more);
    s->older = more ? more : s->older;
    int both = more && info ? dup(info->listen_fd) : -1;
    if (both < 0)
        return eg_fail(EG_ENOMEM, "nothing to listen with for another certificate");
    how.certificate = certificate, how.secret = secret;
    eg_status status = http_start(s, &how, NULL, both);
    if (status != EG_OK) {
        close(both);
        return status;
    }
    int left = MHD_quiesce_daemon(old);
    if (left >= 0)
        close(left);
    s->older[s->n_older++] = old;
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
    eg_status status = http_start(s, &s->how, found->ai_addr, -1);
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
    if (how->connections <= 0)
        s->how.connections = eg_http_open_files();
    const eg_http_limits limits = {
        .connections = s->how.connections,
        .head_seconds = how->head_seconds > 0 ? how->head_seconds : HTTP_IDLE_SECONDS,
        .body_seconds = how->body_seconds > 0 ? how->body_seconds : HTTP_BODY_SECONDS,
        .body_rate = HTTP_BODY_RATE};
    pthread_mutex_init(&s->lock, NULL);
    eg_cond_init(&s->leaves);
    eg_status status = eg_http_guard_new(&limits, &s->guard);
    if (status == EG_OK)
        status = http_open(s);
    s->how.host = s->how.port = s->how.certificate = s->how.secret = NULL; /* the caller's */
    if (status == EG_OK)
        *out = s;
    else
        eg_http_server_free(s);
    return status;
}

/* Waits until the last answers are sent, if that does not take long. */
static void http_settle(eg_http_server *s)
{
    double late = eg_seconds() + HTTP_SETTLE_SECONDS;
    pthread_mutex_lock(&s->lock);
    while (s->n_calls > 0 && eg_seconds() < late)
        eg_cond_wait(&s->leaves, &s->lock, late - eg_seconds());
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
    for (size_t i = 0; i < s->n_older; i++)
        MHD_stop_daemon(s->older[i]);
    free(s->older);
    eg_http_guard_free(s->guard);
    pthread_cond_destroy(&s->leaves);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int eg_http_server_port(const eg_http_server *s)
{
    return s->port;
}
