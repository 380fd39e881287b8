/* engram/cluster.h - the processes that mpirun started together: ranks 0 to size - 1.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 leads: it decides what is run, gives orders, writes all there is to write and says
 * what went wrong on any rank. The others follow. The program does not link MPI: it opens a
 * module, engram_mpi.so, when there are ranks. Only the thread that opened a cluster may use
 * it.
 */
#ifndef EG_PUBLIC_CLUSTER_H
#define EG_PUBLIC_CLUSTER_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_cluster eg_cluster;

/* Whether mpirun started this process. */
bool eg_cluster_is_started(void);

/* Opens the module and becomes a rank. EG_ENOENT: there is no module; EG_EIO: MPI cannot be
 * started. End with eg_cluster_close. */
eg_status eg_cluster_open(eg_cluster **out);

int eg_cluster_rank(const eg_cluster *c);
int eg_cluster_size(const eg_cluster *c);

/* An order: numbers that mean something to those who give and follow it. Rank 0 gives one to
 * all; the others wait for the next. *over: there will be no more, close. */
enum { EG_ORDER = 4 };
eg_status eg_cluster_order(eg_cluster *c, const int64_t order[EG_ORDER]);
eg_status eg_cluster_next(eg_cluster *c, int64_t order[EG_ORDER], bool *over);

const char *eg_cluster_host(const eg_cluster *c, int rank); /* "" as long as it is unknown */

/* On a rank that follows: has rank 0 say what went wrong here. False: it cannot be reached; say
 * it yourself. */
bool eg_cluster_fail(eg_cluster *c, const char *why);

/* Ends the cluster, on all ranks: rank 0 says how it ended (code, 0: well) and waits for the
 * others; these wait for rank 0, and then have its code, if theirs is 0. On rank 0, fails if
 * another rank has failed since anybody listened. */
eg_status eg_cluster_close(eg_cluster *c, int *code);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
