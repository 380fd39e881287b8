/* federation.h - a run in progress: the server, the workers and what they share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FEDERATION_H
#define EG_FEDERATION_H

#include <engram/fed.h>

#include <pthread.h>

#include "exchange/mean.h"
#include "log/run_folder.h"
#include "store/store.h"
#include "transport/wire.h"

enum { EG_MAX_WORKERS = 64 };

/* Seconds: of the whole run, and of the workers, added up. */
typedef struct eg_spent {
    double seconds, train, phase, part[EG_MAX_PARTS];
} eg_spent;

typedef struct eg_federation {
    const eg_experiment *e;
    uint64_t seed;
    eg_feed feed;
    eg_net *net;
    eg_worker workers[EG_MAX_WORKERS];
    int n_workers;
    eg_wire wires[EG_MAX_WORKERS]; /* to processes in which clients train, one a worker */
    int n_wires;                   /* 0: they train on the workers themselves */
    eg_cursor *cursor;
    eg_server server;
    void *states[EG_MAX_PARTS]; /* of the server's parts */
    float *param, *state;       /* the global model */
    eg_mean mean_param, mean_state;
    eg_mean plain_param, plain_state; /* without the parts' factors, if a part has one */
    bool personal;                    /* every client has its own model */
    eg_store *store;
    eg_run_folder *folder;
    int lock;                    /* of the folder, against other processes; -1: none */
    double since;                /* this process began with it */
    eg_spent before;             /* by processes before this one */
    double bytes_up, bytes_down; /* whole numbers, over all rounds */
    double round_loss;
    double accuracy; /* the last mean measured; -1: none yet */
} eg_federation;

/* Refuses a run in which a client's last batch will be a single sample, if the network cannot
 * be trained on one, as far as it can be known before the first round. */
eg_status eg_federation_check_batches(const eg_federation *f);

/* One round of training and aggregation, logged. */
eg_status eg_federation_round(eg_federation *f);

/* Tests the model, or every client's own, on all tasks, and logs it. `round` rounds are done;
 * full: on all test samples, else on the curve's. */
eg_status eg_federation_judge(eg_federation *f, int64_t round, bool task_end, bool full);

/* In a stream: tests the model on each client's cumulative test set, or each client's own, and
 * logs it with the samples the client has met. The cursor stands behind the round. */
eg_status eg_federation_judge_met(eg_federation *f, int64_t round, bool task_end);

/* Runs work(context, worker, i) for i = 0 .. n-1 on the workers' threads, and done(context, i)
 * for each in order on the calling thread. At most twice as many results wait as there are
 * workers. The first failure, in order, ends it. */
typedef struct eg_crew_job {
    int64_t n;
    eg_status (*work)(void *context, eg_worker *w, int64_t i);
    eg_status (*done)(void *context, int64_t i);
    void *context;
} eg_crew_job;
eg_status eg_crew_run(eg_federation *f, const eg_crew_job *job);

/* What the run took so far; into a checkpoint and back; and the end event that says so. */
eg_spent eg_federation_spent(const eg_federation *f);
eg_status eg_federation_save_spent(const eg_federation *f, eg_bundle *to);
void eg_federation_load_spent(eg_federation *f, const eg_bundle *from);
eg_status eg_federation_write_end(const eg_federation *f);

/* A client's state as it was last put; *out is NULL when there is none. */
eg_status eg_federation_kept(eg_federation *f, int64_t client, eg_bundle **out);

#endif
