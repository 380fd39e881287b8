/* ranks.h - ranks as threads of one process, over calls that stand in for MPI.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is sent is done at the second question only, so that nothing may count on more.
 */
#ifndef EG_TEST_RANKS_H
#define EG_TEST_RANKS_H

#include "runs.h"

#include "run/transport/cluster.h"

#include <pthread.h>

enum { RANKS = 3 };

typedef struct packet {
    int from;
    size_t n;
    struct packet *next;
    unsigned char bytes[];
} packet;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static packet *queues[RANKS]; /* what each rank has not received yet, in order */
static int ranks;             /* how many there are */

typedef struct request {
    int asked;
} request;

static inline request *new_request(void)
{
    request *r = calloc(1, sizeof *r);
    assert_non_null(r);
    return r;
}

static inline int fake_init(void *self, int *rank, int *size, char host[EG_MPI_TEXT],
                            char why[EG_MPI_TEXT])
{
    why[0] = 0;
    *rank = *(int *)self, *size = ranks;
    snprintf(host, EG_MPI_TEXT, "host%d", *rank);
    return 0;
}

static inline void *fake_send(void *self, int to, const void *bytes, int n)
{
    packet *p = malloc(sizeof *p + (size_t)n);
    assert_non_null(p);
    *p = (packet){.from = *(int *)self, .n = (size_t)n};
    memcpy(p->bytes, bytes, (size_t)n);
    pthread_mutex_lock(&lock);
    packet **end = &queues[to];
    while (*end)
        end = &(*end)->next;
    *end = p;
    pthread_mutex_unlock(&lock);
    return new_request();
}

static inline void *fake_receive(void *self, int from, void *bytes, int n)
{
    pthread_mutex_lock(&lock);
    packet **at = &queues[*(int *)self];
    while ((*at)->from != from)
        at = &(*at)->next;
    packet *p = *at;
    *at = p->next;
    pthread_mutex_unlock(&lock);
    assert_int_equal(p->n, n);
    memcpy(bytes, p->bytes, p->n);
    free(p);
    return new_request();
}

static inline int fake_done(void *self, void *of)
{
    (void)self;
    request *r = of;
    if (r->asked++ == 0)
        return 0;
    free(r);
    return 1;
}

static inline int fake_probe(void *self, int *from, int *n)
{
    pthread_mutex_lock(&lock);
    const packet *p = queues[*(int *)self];
    if (p)
        *from = p->from, *n = (int)p->n;
    pthread_mutex_unlock(&lock);
    return p != NULL;
}

static inline void fake_finalise(void *self)
{
    (void)self;
}

static int numbers[RANKS] = {0, 1, 2};

static inline eg_cluster *join(int rank)
{
    eg_cluster *c;
    const eg_mpi_calls calls = {.version = EG_MPI_CALLS,
                                .self = &numbers[rank],
                                .init = fake_init,
                                .send = fake_send,
                                .receive = fake_receive,
                                .done = fake_done,
                                .probe = fake_probe,
                                .finalise = fake_finalise};
    assert_ok(eg_cluster_new(&calls, NULL, &c));
    eg_cluster_set_piece(c, 1000);
    return c;
}

/* What one rank does in a test, and what it came to. */
typedef struct one {
    int rank;
    eg_cluster *c;
    void (*life)(struct one *o);
    const eg_experiment *e;
    eg_run_how how;
    char path[512], why[1024];
    eg_status status;
    int code;
    pthread_t thread;
} one;

static inline void *one_thread(void *arg)
{
    one *o = arg;
    o->c = join(o->rank);
    o->life(o);
    snprintf(o->why, sizeof o->why, "%s", o->status == EG_OK ? "" : eg_error());
    if (o->status != EG_OK && o->rank)
        eg_cluster_fail(o->c, eg_error());
    o->code = o->status != EG_OK;
    if (eg_cluster_close(o->c, &o->code) != EG_OK) {
        o->status = EG_EIO;
        snprintf(o->why, sizeof o->why, "%s", eg_error());
    }
    return NULL;
}

/* Each rank on a thread of its own, until all have ended. */
static inline void together(one *all, int n)
{
    ranks = n;
    for (int r = 0; r < n; r++) {
        all[r].rank = r;
        assert_int_equal(pthread_create(&all[r].thread, NULL, one_thread, &all[r]), 0);
    }
    for (int r = 0; r < n; r++)
        pthread_join(all[r].thread, NULL);
    for (int r = 0; r < n; r++)
        assert_null(queues[r]); /* nothing is left behind */
}

#endif
