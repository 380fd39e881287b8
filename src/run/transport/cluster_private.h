/* cluster_private.h - the inside of a cluster.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLUSTER_PRIVATE_H
#define EG_CLUSTER_PRIVATE_H

#include "run/transport/cluster.h"

#include <pthread.h>

struct eg_parcel {
    unsigned char *bytes;
    size_t n;
    int uses; /* its maker's, and one for each post under way */
};

/* What goes before a frame's bytes, as a piece of its own. */
typedef struct cluster_head {
    char magic[4];
    uint32_t kind;
    uint64_t n;
} cluster_head;

/* A frame on its way out. */
typedef struct cluster_post {
    cluster_head head;
    eg_parcel *what;
    bool headed; /* the head is sent */
    size_t sent; /* bytes */
    struct cluster_post *next;
} cluster_post;

/* A frame on its way in, and those that are here. */
typedef struct cluster_arrival {
    eg_cluster_frame frame;
    size_t got;
    struct cluster_arrival *next;
} cluster_arrival;

/* What there is of another rank. */
typedef struct cluster_peer {
    char host[EG_MPI_TEXT];
    cluster_post *first, *last; /* posts to it */
    void *sending;              /* the request of a piece of the first; NULL: none */
    size_t piece;               /* its bytes; 0: the head */
    cluster_arrival *coming; /* the frame of which pieces are missing; NULL: a head is next */
    double heard, pinged;    /* when */
    bool bye;
} cluster_peer;

struct eg_cluster {
    eg_mpi_calls calls;
    void *library;
    int rank, size;
    cluster_peer *peers; /* [size] */
    size_t most;         /* bytes of a piece */
    void *receiving;     /* the one request under way; NULL: none */
    int receives_from;
    size_t receives; /* bytes */
    cluster_head head;
    cluster_arrival *first, *last; /* frames to be taken, and orders */
    bool over;                     /* rank 0 has ended all, or is about to */
    int code;                      /* of the end */
    bool failed, broken;           /* a rank has; broken: and cannot be asked to end */
    char why[1024];
    int64_t number;
    long nap; /* nanoseconds */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool awake;
};

/* The first frame of this kind that is here; false: none. */
bool eg_cluster_take_kind(eg_cluster *c, eg_cluster_kind kind, eg_cluster_frame *out);

/* Pumps until everything that was posted has been sent. */
eg_status eg_cluster_flush(eg_cluster *c);

/* Notes a failure that ends all; the first one counts. */
void eg_cluster_note(eg_cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
