/* engram/fed.h - carries out the runs of an experiment.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run is a function of the resolved experiment and a seed; workers, transport and crashes
 * never change its result.
 */
#ifndef EG_FED_H
#define EG_FED_H

#include <engram/cluster.h>
#include <engram/pretrain.h>
#include <engram/remote.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What happened since the last call of a progress function. */
typedef struct eg_progress {
    int64_t round, n_rounds; /* rounds done */
    double loss;             /* mean training loss of the round */
    double accuracy;         /* mean over the tasks learned so far; -1: not measured yet */
    double epsilon; /* of differential privacy, spent so far; 0: there is none; below 0:
                       its noise is the seed's, so that there is no privacy */
    double seconds; /* since the start */
    bool evaluated; /* accuracy is of this round */
} eg_progress;

typedef enum eg_at { EG_AT_CLIENTS, EG_AT_SERVER, EG_AT_TESTS } eg_at;

/* Where a round stands that is not over yet. */
typedef struct eg_moment {
    int64_t round, n_rounds; /* the round under way, from 1 */
    eg_at at;                /* who is at work */
    const char *what;        /* of clients, the exchange: "training"; of the server, the part */
    int64_t done, of;        /* answers, pieces of work, tests; of 0: not known */
    double seconds;          /* since the start */
} eg_moment;

/* How a run is carried out; nothing here changes its result. */
typedef struct eg_run_how {
    uint64_t seed;
    int workers;             /* 0: as many as there are cores; of a rank: 1 */
    int threads;             /* of each of these; 0: one, and those of workers without a turn */
    const char *out;         /* where run folders go; NULL: "runs" */
    const char *data_dir;    /* NULL: ENGRAM_DATA */
    bool resume;             /* continue what is there */
    bool force;              /* even with other data or another program: bits may differ */
    const char *folder;      /* with resume: this run folder, wherever it is; else NULL */
    const char *replay;      /* a finished run's folder: who answered in which round is in its
                                log, and the same take their turns here; NULL: all answer */
    const char *transport;   /* of eg_transport_family; NULL: threads of this process, or mpi */
    eg_cluster *cluster;     /* all its ranks carry out the run together; NULL: this process */
    const eg_listen *listen; /* clients are devices that join here; NULL: there are none */
    int64_t sheets; /* pictures of what the method draws: 0: at task ends; above 0: every
                       so many rounds too; below 0: none */
    bool (*progress)(void *context, const eg_progress *p); /* false: stop at a checkpoint */
    /* Before each client's answer, each test and each piece of a part's work on the server: as
     * often as there are any, on the thread that called. */
    void (*moment)(void *context, const eg_moment *m);
    /* As those of eg_pretrain_how, before the first round. */
    bool (*pretraining)(void *context, const eg_pretraining *p);
    void (*say)(void *context, const char *sentence);
    /* While data of many files are loaded; false: no further. */
    bool (*loading)(void *context, int64_t done, int64_t all);
    void *context;
} eg_run_how;

/* Where a run with this seed goes: "<out>/<name>-<label>-s<seed>-<8 of the hash>". */
eg_status eg_experiment_folder(const eg_experiment *e, const char *out, uint64_t seed,
                               char folder[512]);

/* Runs it to the end, or until progress says stop (*stopped). folder gets the run's path.
 * EG_EBUSY: another process carries it out, or has begun it since. On a rank other than 0 it
 * takes turns until the run is over, writes no log, and says nothing through progress. Of a
 * replay also EG_EINVAL, once the run is over: it ended in other bits than the first. */
eg_status eg_experiment_run(const eg_experiment *e, const eg_run_how *how, char folder[512],
                            bool *stopped);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
