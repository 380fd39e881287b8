/* ranks.c - orders from rank 0 to the others, and the words of all through rank 0.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only rank 0 looks at what is there and decides what to run: the others would see the folder
 * at another moment.
 */
#include "ranks.h"
#include "cli.h"
#include "stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static eg_cluster *ranks; /* set once, before anything runs */

enum { RANKS_RUN, RANKS_SWEEP }; /* kinds of orders: {kind, source, run, seed} */

eg_cluster *ranks_cluster(void)
{
    return ranks;
}

int ranks_size(void)
{
    return ranks ? eg_cluster_size(ranks) : 1;
}

bool ranks_follows(void)
{
    return ranks && eg_cluster_rank(ranks) > 0;
}

bool ranks_say(const char *text)
{
    if (!ranks_follows())
        return false;
    int rank = eg_cluster_rank(ranks);
    if (!eg_cluster_fail(ranks, text))
        fprintf(stderr, "engram: rank %d on %s: %s\n", rank, eg_cluster_host(ranks, rank),
                text);
    return true;
}

/* A number that the starter has set: the rank among all, or among those on this machine. */
static bool ranks_is_first(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value)
            return strcmp(value, "0") == 0;
    }
    return true;
}

/* Without MPI the ranks know nothing of one another: one of each machine speaks, and the others
 * give it the time, since mpirun ends all when the first one fails. */
static int ranks_refused(void)
{
    static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", NULL};
    if (ranks_is_first(local))
        return eg_cli_failed();
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return 1;
}

int ranks_open(int argc, char **argv)
{
    static const char *const all[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID",
                                      NULL};
    bool wanted = eg_cluster_is_started();
    for (int i = 1; i < argc; i++)
        wanted |= strcmp(argv[i], "--mpi") == 0;
    if (!wanted)
        return 0;
    /* MPI has threads of its own: they must inherit what is done with signals. */
    if (stop_watch(ranks_is_first(all)) != EG_OK || eg_cluster_open(&ranks) != EG_OK)
        return ranks_refused();
    return 0;
}

int ranks_close(int code)
{
    if (!ranks)
        return code;
    fflush(stdout);
    stop_ignore(); /* mpirun ends the others when the first has ended with a code */
    if (eg_cluster_close(ranks, &code) != EG_OK) {
        ranks = NULL;
        return eg_cli_failed();
    }
    ranks = NULL;
    return code;
}

static int ranks_order(const int64_t order[EG_ORDER])
{
    return eg_cluster_order(ranks, order) == EG_OK ? 0 : eg_cli_failed();
}

int ranks_run(const runner_options *o, const eg_experiment *e, uint64_t seed)
{
    for (size_t s = 0; s < o->n_sources; s++)
        for (size_t i = 0; i < o->sources[s].n_runs; i++)
            if (o->sources[s].runs[i] == e)
                return ranks_order(
                    (int64_t[EG_ORDER]){RANKS_RUN, (int64_t)s, (int64_t)i, (int64_t)seed});
    return 1;
}

int ranks_sweep(void)
{
    return ranks_order((int64_t[EG_ORDER]){RANKS_SWEEP});
}

/* Takes part in a run that rank 0 leads. A rank that has read other files may not have it. */
static int ranks_join(const runner_options *o, const int64_t order[EG_ORDER])
{
    const runner_source *source = &o->sources[order[1]];
    if (order[1] < 0 || order[1] >= (int64_t)o->n_sources || order[2] < 0 ||
        order[2] >= (int64_t)source->n_runs) {
        eg_fail(EG_EINVAL, "it has another configuration: there is no such run");
        return eg_cli_failed();
    }
    char folder[512];
    bool stopped;
    const eg_run_how how = {.seed = (uint64_t)order[3],
                            .workers = (int)o->workers,
                            .threads = (int)o->threads,
                            .out = o->out,
                            .data_dir = o->data_dir,
                            .folder = source->file ? NULL : source->path,
                            .cluster = ranks};
    return eg_experiment_run(source->runs[order[2]], &how, folder, &stopped) == EG_OK
               ? 0
               : eg_cli_failed();
}

int ranks_follow(const runner_options *o)
{
    for (int code = 0; code == 0;) {
        int64_t order[EG_ORDER];
        bool over;
        if (eg_cluster_next(ranks, order, &over) != EG_OK)
            return eg_cli_failed();
        if (over)
            return 0;
        code = order[0] == RANKS_SWEEP ? runner_help(o, (size_t)eg_cluster_rank(ranks))
                                       : ranks_join(o, order);
        if (code)
            return code;
    }
    return 0;
}
