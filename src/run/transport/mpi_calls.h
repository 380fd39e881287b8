/* mpi_calls.h - what the program asks of MPI: a table that the module engram_mpi.so fills.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plain C, with nothing of MPI and nothing of engram in it, so that the two can be built apart
 * and a test can stand in for MPI. All calls come from the thread that called init.
 */
#ifndef EG_MPI_CALLS_H
#define EG_MPI_CALLS_H

enum { EG_MPI_CALLS = 1 }; /* the version of this table */
enum { EG_MPI_TEXT = 256 };

typedef struct eg_mpi_calls {
    int version;
    void *self; /* handed to every call */
    /* 0: this process is one of size ranks; else why says what is wrong. */
    int (*init)(void *self, int *rank, int *size, char host[EG_MPI_TEXT],
                char why[EG_MPI_TEXT]);
    /* Begin to send or receive n bytes, which stay until it is done. NULL: it cannot be. */
    void *(*send)(void *self, int to, const void *bytes, int n);
    void *(*receive)(void *self, int from, void *bytes, int n);
    /* 1: it is done, and the request gone; 0: not yet; -1: it failed, and is gone. */
    int (*done)(void *self, void *request);
    /* 1: n bytes from a rank can be received; 0: nothing; -1: it failed. */
    int (*probe)(void *self, int *from, int *n);
    void (*finalise)(void *self);
} eg_mpi_calls;

/* The name of the table in the module. */
#define EG_MPI_SYMBOL "engram_mpi_calls"

#endif
