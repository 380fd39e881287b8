/* cluster.h - ranks, as senders and receivers see them: whole frames, in order.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame is a kind and any number of bytes. It goes as pieces that MPI can count; frames of
 * one rank arrive in the order in which they were posted. Nothing blocks: pumping moves what
 * can be moved, and whoever has nothing to do naps, up to a millisecond, until a thread of this
 * process wakes it. Only the thread that opened the cluster may use it, but for
 * eg_cluster_wake.
 */
#ifndef EG_CLUSTER_H
#define EG_CLUSTER_H

#include <engram/cluster.h>

#include "run/transport/mpi_calls.h"

/* The kinds of frames that the cluster itself deals with come first. */
typedef enum eg_cluster_kind {
    EG_CLUSTER_HERE,  /* to rank 0, the first: the host's name */
    EG_CLUSTER_ORDER, /* from rank 0: eg_cluster_order */
    EG_CLUSTER_FAIL,  /* to rank 0: why */
    EG_CLUSTER_END,   /* from rank 0, the last: the exit code */
    EG_CLUSTER_BYE,   /* to rank 0, the last */
    EG_CLUSTER_PING,  /* from rank 0: answer */
    EG_CLUSTER_PONG,  /* to rank 0 */
    EG_CLUSTER_HELLO, /* to rank 0: what a rank is about to run */
    EG_CLUSTER_TOKEN, /* from rank 0: a file that must be seen */
    EG_CLUSTER_SEEN,  /* to rank 0 */
    EG_CLUSTER_WORK,  /* from rank 0: a message with a download, a turn or a test */
    EG_CLUSTER_REPLY, /* to rank 0: the answer */
    EG_CLUSTER_OVER,  /* from rank 0: the run is over */
    EG_CLUSTER_N_KINDS,
} eg_cluster_kind;

typedef struct eg_cluster_frame {
    int from;
    eg_cluster_kind kind;
    unsigned char *bytes; /* [n]; the taker's, to free() */
    size_t n;
} eg_cluster_frame;

/* Bytes that may be posted to several ranks; freed when the last has them. */
typedef struct eg_parcel eg_parcel;
eg_status eg_parcel_new(unsigned char *take, size_t n, eg_parcel **out); /* takes them always */
void eg_parcel_drop(eg_parcel *p); /* no more posts of it by its maker; NULL is fine */

/* A rank over these calls, which are copied; for eg_cluster_open and for tests. */
eg_status eg_cluster_new(const eg_mpi_calls *calls, void *library, eg_cluster **out);
void eg_cluster_set_piece(eg_cluster *c, size_t bytes); /* the largest piece, for tests */

int64_t eg_cluster_number(eg_cluster *c); /* another one each time: to tell old from new */

/* Sends a frame, sooner or later; small ones at once. */
eg_status eg_cluster_post(eg_cluster *c, int to, eg_cluster_kind kind, eg_parcel *what);
eg_status eg_cluster_post_bytes(eg_cluster *c, int to, eg_cluster_kind kind, const void *bytes,
                                size_t n);

/* Moves all that can be moved. EG_EIO: another rank has failed and here is why, a rank is gone,
 * or rank 0 has ended all. */
eg_status eg_cluster_pump(eg_cluster *c);

/* The next frame that is here whole, of those that are not the cluster's own; false: none. */
bool eg_cluster_take(eg_cluster *c, eg_cluster_frame *out);

/* Waits a little, the longer the less has happened; wake ends it, from any thread. */
void eg_cluster_nap(eg_cluster *c);
void eg_cluster_wake(eg_cluster *c);

/* On rank 0, while others are at work and listen: whether all are still there. EG_EIO: one has
 * not been heard of for too long. */
eg_status eg_cluster_check(eg_cluster *c);

#endif
