/* ranks.h - this process as one of those that mpirun started together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 does what its words say. The others read the same words, and then follow its orders;
 * what goes wrong with them rank 0 says. Without mpirun there is one process, and all of this
 * does nothing.
 */
#ifndef EG_CLI_RANKS_H
#define EG_CLI_RANKS_H

#include "runner.h"

#include <engram/cluster.h>

/* Joins the others, if mpirun started this process or --mpi is one of the words. 0, or the
 * exit code after saying what is wrong. */
int ranks_open(int argc, char **argv);

/* Ends together with the others; the code to exit with. */
int ranks_close(int code);

eg_cluster *ranks_cluster(void); /* NULL: there is none */
int ranks_size(void);            /* 1 without one */
bool ranks_follows(void);        /* this is another rank than 0 */

/* On a rank that follows: has rank 0 say it. False: say it yourself. */
bool ranks_say(const char *text);

/* Rank 0: has all carry out a run of the sources together, or the runs of a sweep each for
 * itself. 0, or the exit code. */
int ranks_run(const runner_options *o, const eg_experiment *e, uint64_t seed);
int ranks_sweep(void);

/* The others: does what it is told until all is over. 0, or the exit code. */
int ranks_follow(const runner_options *o);

#endif
