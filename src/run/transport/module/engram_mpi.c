/* engram_mpi.c - the module: a table of calls over MPI, the only file that sees mpi.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/mpi_calls.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MODULE_TAG = 1 };

static int module_init(void *self, int *rank, int *size, char host[EG_MPI_TEXT],
                       char why[EG_MPI_TEXT])
{
    (void)self;
    int offered, n;
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &offered) != MPI_SUCCESS ||
        offered < MPI_THREAD_FUNNELED) {
        snprintf(why, EG_MPI_TEXT, "MPI cannot be started with threads beside it");
        return -1;
    }
    /* A rank that is gone shall be an error that can be said, not the end of this process. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    MPI_Get_processor_name(name, &n);
    snprintf(host, EG_MPI_TEXT, "%.255s", name);
    return 0;
}

static void *module_started(int result, MPI_Request *r)
{
    if (result == MPI_SUCCESS)
        return r;
    free(r);
    return NULL;
}

static void *module_send(void *self, int to, const void *bytes, int n)
{
    (void)self;
    MPI_Request *r = malloc(sizeof *r);
    return r ? module_started(MPI_Isend(bytes, n, MPI_BYTE, to, MODULE_TAG, MPI_COMM_WORLD, r),
                              r)
             : NULL;
}

static void *module_receive(void *self, int from, void *bytes, int n)
{
    (void)self;
    MPI_Request *r = malloc(sizeof *r);
    return r ? module_started(
                   MPI_Irecv(bytes, n, MPI_BYTE, from, MODULE_TAG, MPI_COMM_WORLD, r), r)
             : NULL;
}

static int module_done(void *self, void *request)
{
    (void)self;
    int done = 0;
    int result = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && !done)
        return 0;
    free(request);
    return result == MPI_SUCCESS ? 1 : -1;
}

static int module_probe(void *self, int *from, int *n)
{
    (void)self;
    int there = 0;
    MPI_Status about;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MODULE_TAG, MPI_COMM_WORLD, &there, &about) != MPI_SUCCESS)
        return -1;
    if (!there)
        return 0;
    *from = about.MPI_SOURCE;
    return MPI_Get_count(&about, MPI_BYTE, n) == MPI_SUCCESS ? 1 : -1;
}

static void module_finalise(void *self)
{
    (void)self;
    MPI_Finalize();
}

extern const eg_mpi_calls engram_mpi_calls;

__attribute__((visibility("default"))) const eg_mpi_calls engram_mpi_calls = {
    .version = EG_MPI_CALLS,
    .init = module_init,
    .send = module_send,
    .receive = module_receive,
    .done = module_done,
    .probe = module_probe,
    .finalise = module_finalise,
};
