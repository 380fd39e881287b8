/* cluster_life.c - a cluster's beginning and end, orders, and who is still there.
 * SPDX-License-Identifier: Apache-2.0
 *
 * At the end rank 0 tells all, and each says goodbye as the last thing it sends: so no frame is
 * left behind, and all know the exit code.
 */
#include "run/transport/cluster_private.h"

#include "base/pool.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLUSTER_PIECE = 1 << 28, /* bytes; MPI counts to 2^31 - 1 */
    CLUSTER_PATH = 1024,
    CLUSTER_NAP = 20000,      /* nanoseconds, at first */
    CLUSTER_PING_SECONDS = 5, /* of silence, before rank 0 asks */
};

static const char cluster_module[] = "engram_mpi.so";

bool eg_cluster_is_started(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

/* How long a rank may leave a question unanswered. */
static double cluster_patience(void)
{
    const char *wish = getenv("ENGRAM_RANK_SECONDS");
    double seconds = wish ? strtod(wish, NULL) : 60;
    return seconds > 0 ? seconds : 60;
}

static void cluster_free(eg_cluster *c)
{
    for (cluster_arrival *a = c->first, *next; a; a = next) {
        next = a->next;
        free(a->frame.bytes);
        free(a);
    }
    for (int r = 0; c->peers && r < c->size; r++) {
        cluster_peer *peer = &c->peers[r];
        for (cluster_post *p = peer->first, *next; p; p = next) {
            next = p->next;
            eg_parcel_drop(p->what);
            free(p);
        }
        if (peer->coming)
            free(peer->coming->frame.bytes);
        free(peer->coming);
    }
    free(c->peers);
    pthread_cond_destroy(&c->woken);
    pthread_mutex_destroy(&c->lock);
    free(c); /* the module stays: MPI's own threads may still be in it */
}

static eg_status cluster_join(eg_cluster *c)
{
    char host[EG_MPI_TEXT] = "", why[EG_MPI_TEXT] = "";
    if (c->calls.version != EG_MPI_CALLS)
        return eg_fail(EG_ENOTSUP, "the module %s is of another engram", cluster_module);
    if (c->calls.init(c->calls.self, &c->rank, &c->size, host, why) != 0)
        return eg_fail(EG_EIO, "%s", why);
    EG_TRY(eg_alloc((size_t)c->size, sizeof *c->peers, &c->peers));
    snprintf(c->peers[c->rank].host, EG_MPI_TEXT, "%s", host);
    return c->rank == 0 ? EG_OK
                        : eg_cluster_post_bytes(c, 0, EG_CLUSTER_HERE, host, strlen(host));
}

eg_status eg_cluster_new(const eg_mpi_calls *calls, void *library, eg_cluster **out)
{
    eg_cluster *c;
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    *c = (eg_cluster){
        .calls = *calls, .library = library, .most = CLUSTER_PIECE, .nap = CLUSTER_NAP};
    pthread_mutex_init(&c->lock, NULL);
    eg_cond_init(&c->woken);
    eg_status s = cluster_join(c);
    if (s == EG_OK)
        *out = c;
    else
        cluster_free(c);
    return s;
}

/* The folder of the program, and what is beside it: "<up>/lib/engram". */
static void cluster_places(char beside[CLUSTER_PATH], char library[CLUSTER_PATH])
{
    ssize_t n = readlink("/proc/self/exe", beside, CLUSTER_PATH - 32);
    beside[n > 0 ? n : 0] = 0;
    char *slash = strrchr(beside, '/');
    if (slash)
        *slash = 0;
    snprintf(library, CLUSTER_PATH, "%.*s/../lib/engram", CLUSTER_PATH - 32, beside);
}

/* Open MPI loads parts of its own that look for its symbols among those of the program. */
static eg_status cluster_load(void **out)
{
    char beside[CLUSTER_PATH], library[CLUSTER_PATH], path[2 * CLUSTER_PATH];
    cluster_places(beside, library);
    const char *const places[] = {getenv("ENGRAM_MODULES"), beside, library};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !*places[i])
            continue;
        snprintf(path, sizeof path, "%s/%s", places[i], cluster_module);
        if (access(path, F_OK) != 0)
            continue;
        *out = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        return *out ? EG_OK : eg_fail(EG_EIO, "%s cannot be opened: %s", path, dlerror());
    }
    return eg_fail(EG_ENOENT,
                   "mpirun started this program, but its module %s is neither in %s nor in %s: "
                   "install libopenmpi-dev and build again, or run without mpirun",
                   cluster_module, beside, library);
}

eg_status eg_cluster_open(eg_cluster **out)
{
    void *library;
    EG_TRY(cluster_load(&library));
    const eg_mpi_calls *calls = dlsym(library, EG_MPI_SYMBOL);
    if (!calls)
        return eg_fail(EG_EFORMAT, "%s: %s", cluster_module, dlerror());
    return eg_cluster_new(calls, library, out);
}

static eg_status cluster_tell_all(eg_cluster *c, eg_cluster_kind kind, const void *bytes,
                                  size_t n)
{
    for (int r = 1; r < c->size; r++)
        EG_TRY(eg_cluster_post_bytes(c, r, kind, bytes, n));
    return EG_OK;
}

eg_status eg_cluster_order(eg_cluster *c, const int64_t order[EG_ORDER])
{
    EG_TRY(cluster_tell_all(c, EG_CLUSTER_ORDER, order, EG_ORDER * sizeof *order));
    return eg_cluster_pump(c);
}

eg_status eg_cluster_next(eg_cluster *c, int64_t order[EG_ORDER], bool *over)
{
    *over = false;
    for (;;) {
        eg_cluster_frame f;
        eg_status s = eg_cluster_pump(c);
        if (eg_cluster_take_kind(c, EG_CLUSTER_ORDER, &f)) {
            bool whole = f.n == EG_ORDER * sizeof *order;
            if (whole)
                memcpy(order, f.bytes, f.n);
            free(f.bytes);
            return whole ? EG_OK : eg_fail(EG_EFORMAT, "an order of %zu bytes", f.n);
        }
        while (eg_cluster_take(c, &f)) /* of a run that is over */
            free(f.bytes);
        if ((*over = c->over))
            return EG_OK;
        EG_TRY(s);
        eg_cluster_nap(c);
    }
}

bool eg_cluster_fail(eg_cluster *c, const char *why)
{
    if (!c->broken && !c->over &&
        eg_cluster_post_bytes(c, 0, EG_CLUSTER_FAIL, why, strlen(why)) != EG_OK)
        c->broken = true;
    (void)eg_cluster_pump(c);
    return !c->broken;
}

eg_status eg_cluster_check(eg_cluster *c)
{
    double now = eg_seconds(), patience = cluster_patience();
    for (int r = 1; r < c->size; r++) {
        cluster_peer *peer = &c->peers[r];
        double last = peer->heard > peer->pinged ? peer->heard : peer->pinged;
        double pause =
            patience < 2 * CLUSTER_PING_SECONDS ? patience / 2 : CLUSTER_PING_SECONDS;
        if (peer->pinged > peer->heard && now - peer->pinged > patience) {
            c->broken = true;
            eg_cluster_note(c, "rank %d on %s has not been heard of for %.0f seconds", r,
                            peer->host, now - peer->heard);
            return eg_cluster_pump(c);
        }
        /* While a question is open none is added: silence counts from the first. */
        if (now - last > pause && peer->pinged <= peer->heard) {
            EG_TRY(eg_cluster_post_bytes(c, r, EG_CLUSTER_PING, NULL, 0));
            peer->pinged = now;
        }
    }
    return EG_OK;
}

/* Rank 0's goodbye: to all, and back. */
static void cluster_end_all(eg_cluster *c, int code)
{
    unsigned char last = (unsigned char)code;
    if (cluster_tell_all(c, EG_CLUSTER_END, &last, 1) != EG_OK)
        c->broken = true;
    for (bool left = true; left && !c->broken;) {
        (void)eg_cluster_pump(c);
        left = false;
        for (int r = 1; r < c->size; r++)
            left |= !c->peers[r].bye || c->peers[r].first;
        if (left)
            eg_cluster_nap(c);
    }
}

/* A follower's: it waits for rank 0. */
static void cluster_end_one(eg_cluster *c, int *code)
{
    while (!c->over && !c->broken) {
        (void)eg_cluster_pump(c);
        if (!c->over)
            eg_cluster_nap(c);
    }
    if (eg_cluster_post_bytes(c, 0, EG_CLUSTER_BYE, NULL, 0) != EG_OK)
        c->broken = true;
    (void)eg_cluster_flush(c);
    *code = *code ? *code : c->code;
}

eg_status eg_cluster_close(eg_cluster *c, int *code)
{
    bool knew = c->failed; /* then it has been said */
    eg_status s = EG_OK;
    if (c->rank == 0)
        cluster_end_all(c, *code);
    else
        cluster_end_one(c, code);
    if (c->rank == 0 && c->failed && !knew && *code == 0)
        s = eg_fail(EG_EIO, "%s", c->why);
    if (c->broken)
        *code = *code ? *code : 1; /* no goodbye: mpirun ends all when a rank ends so */
    else
        c->calls.finalise(c->calls.self);
    cluster_free(c);
    return s;
}
