/* http_guard.c - connections in a list by age, addresses in a table.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server's library closes sockets; here they are only shut down, which it notices. It says
 * so before it closes one, so that no socket of somebody else is shut down.
 */
#include "io/http_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARD_BUCKETS = 4096,
    GUARD_STRANGERS = 64,    /* per address, or a quarter of all connections, if that is more */
    GUARD_HOSTS = 65536,     /* addresses whose failures are remembered */
    GUARD_REMEMBERS = 600,   /* seconds */
    GUARD_FREE_FAILURES = 3, /* before answers become slower, as keys are mistyped */
    GUARD_SLOWEST = 5        /* seconds */
};

/* An address; of IPv6 the network of it, which is one customer's. */
typedef struct guard_host {
    unsigned char address[8];
    int n_strangers;
    int64_t n_failed;
    double failed; /* when, last */
    struct guard_host *next;
} guard_host;

struct eg_http_door {
    int socket;
    guard_host *host;
    char address[EG_HTTP_ADDRESS];
    bool stranger, gone; /* gone: it is shut down */
    double ends;         /* when it is hung up on; 0: it may wait */
    eg_http_door *before, *after;
};

struct eg_http_guard {
    eg_http_limits limits;
    pthread_mutex_t lock;
    int n_doors, n_hosts;
    eg_http_door *oldest, *newest;
    guard_host *hosts[GUARD_BUCKETS];
};

eg_status eg_http_guard_new(const eg_http_limits *limits, eg_http_guard **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    (*out)->limits = *limits;
    pthread_mutex_init(&(*out)->lock, NULL);
    return EG_OK;
}

void eg_http_guard_free(eg_http_guard *g)
{
    if (!g)
        return;
    for (int i = 0; i < GUARD_BUCKETS; i++)
        for (guard_host *h = g->hosts[i], *next; h; h = next) {
            next = h->next;
            free(h);
        }
    while (g->oldest) {
        eg_http_door *d = g->oldest;
        g->oldest = d->after;
        free(d);
    }
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static void guard_address(const struct sockaddr *from, unsigned char out[8])
{
    memset(out, 0, 8);
    if (from->sa_family == AF_INET) {
        memcpy(out + 4, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const unsigned char *six =
            ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr.s6_addr;
        static const unsigned char four[12] = {[10] = 0xff, [11] = 0xff};
        bool mapped = memcmp(six, four, sizeof four) == 0;
        memcpy(out + (mapped ? 4 : 0), mapped ? six + 12 : six, mapped ? 4 : 8);
    }
}

/* Forgets addresses in a bucket of which there is nothing to know any more. */
static void guard_forget(eg_http_guard *g, guard_host **bucket, double now)
{
    for (guard_host **h = bucket; *h;) {
        guard_host *old = *h;
        bool crowded = g->n_hosts >= GUARD_HOSTS;
        if (old->n_strangers ||
            (old->n_failed && now - old->failed < GUARD_REMEMBERS && !crowded)) {
            h = &old->next;
            continue;
        }
        *h = old->next;
        free(old);
        g->n_hosts--;
    }
}

/* Under the lock. NULL: there is no memory. */
static guard_host *guard_find(eg_http_guard *g, const struct sockaddr *from)
{
    unsigned char address[8];
    uint32_t hash = 2166136261u;
    guard_address(from, address);
    for (int i = 0; i < 8; i++)
        hash = (hash ^ address[i]) * 16777619u;
    guard_host **bucket = &g->hosts[hash % GUARD_BUCKETS];
    for (guard_host *h = *bucket; h; h = h->next)
        if (memcmp(h->address, address, 8) == 0)
            return h;
    guard_forget(g, bucket, eg_seconds());
    guard_host *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    memcpy(h->address, address, 8);
    h->next = *bucket;
    *bucket = h;
    g->n_hosts++;
    return h;
}

static void guard_hang_up(eg_http_door *d)
{
    shutdown(d->socket, SHUT_RDWR);
    d->gone = true;
}

bool eg_http_guard_admits(eg_http_guard *g, const struct sockaddr *from)
{
    pthread_mutex_lock(&g->lock);
    int quarter = g->limits.connections / 4;
    const guard_host *h = guard_find(g, from);
    bool admits = h &&
                  h->n_strangers < (quarter > GUARD_STRANGERS ? quarter : GUARD_STRANGERS) &&
                  g->n_doors < g->limits.connections;
    /* Near the end strangers make room: the next one finds it. */
    if (g->n_doors >= g->limits.connections - g->limits.connections / 8)
        for (eg_http_door *d = g->oldest; d; d = d->after)
            if (d->stranger && !d->gone) {
                guard_hang_up(d);
                break;
            }
    pthread_mutex_unlock(&g->lock);
    return admits;
}

static void guard_name(const struct sockaddr *from, char out[EG_HTTP_ADDRESS])
{
    const void *at =
        from->sa_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)from)->sin6_addr
            : (const void *)&((const struct sockaddr_in *)(const void *)from)->sin_addr;
    if (!inet_ntop(from->sa_family, at, out, EG_HTTP_ADDRESS))
        snprintf(out, EG_HTTP_ADDRESS, "an unknown address");
}

eg_http_door *eg_http_guard_enter(eg_http_guard *g, int socket, const struct sockaddr *from)
{
    eg_http_door *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    pthread_mutex_lock(&g->lock);
    d->socket = socket, d->stranger = true;
    d->ends = eg_seconds() + g->limits.head_seconds;
    d->host = guard_find(g, from);
    if (d->host)
        d->host->n_strangers++;
    guard_name(from, d->address);
    d->before = g->newest;
    *(g->newest ? &g->newest->after : &g->oldest) = d;
    g->newest = d;
    g->n_doors++;
    pthread_mutex_unlock(&g->lock);
    return d;
}

void eg_http_guard_leave(eg_http_guard *g, eg_http_door *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&g->lock);
    if (d->stranger && d->host)
        d->host->n_strangers--;
    *(d->before ? &d->before->after : &g->oldest) = d->after;
    *(d->after ? &d->after->before : &g->newest) = d->before;
    g->n_doors--;
    pthread_mutex_unlock(&g->lock);
    free(d);
}

static void guard_set(eg_http_guard *g, eg_http_door *d, double seconds)
{
    if (!d)
        return;
    pthread_mutex_lock(&g->lock);
    d->ends = seconds > 0 ? eg_seconds() + seconds : 0;
    pthread_mutex_unlock(&g->lock);
}

void eg_http_guard_head(eg_http_guard *g, eg_http_door *d, size_t n)
{
    guard_set(g, d, g->limits.body_seconds + (double)n / g->limits.body_rate);
}

void eg_http_guard_body(eg_http_guard *g, eg_http_door *d)
{
    guard_set(g, d, 0);
}

void eg_http_guard_done(eg_http_guard *g, eg_http_door *d)
{
    guard_set(g, d, g->limits.head_seconds);
}

void eg_http_guard_prove(eg_http_guard *g, eg_http_door *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&g->lock);
    if (d->stranger && d->host)
        d->host->n_strangers--;
    d->stranger = false;
    pthread_mutex_unlock(&g->lock);
}

double eg_http_guard_fail(eg_http_guard *g, eg_http_door *d, int64_t *n,
                          char address[EG_HTTP_ADDRESS])
{
    *n = 0;
    snprintf(address, EG_HTTP_ADDRESS, "%s", d ? d->address : "an unknown address");
    if (!d || !d->host)
        return GUARD_SLOWEST;
    double now = eg_seconds(), wait = 0.1;
    pthread_mutex_lock(&g->lock);
    guard_host *h = d->host;
    h->n_failed = now - h->failed < GUARD_REMEMBERS ? h->n_failed + 1 : 1;
    h->failed = now;
    *n = h->n_failed;
    for (int64_t i = GUARD_FREE_FAILURES; i < *n && wait < GUARD_SLOWEST; i++)
        wait *= 2;
    pthread_mutex_unlock(&g->lock);
    return wait < GUARD_SLOWEST ? wait : GUARD_SLOWEST;
}

void eg_http_guard_sweep(eg_http_guard *g)
{
    double now = eg_seconds();
    pthread_mutex_lock(&g->lock);
    for (eg_http_door *d = g->oldest; d; d = d->after)
        if (!d->gone && d->ends > 0 && now > d->ends)
            guard_hang_up(d);
    pthread_mutex_unlock(&g->lock);
}
