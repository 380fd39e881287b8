/* federation.h - a run in progress: the server, its workers, and the way to the clients.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FEDERATION_H
#define EG_FEDERATION_H

#include <engram/fed.h>

#include "base/pool.h"
#include "engine/optim/server.h"
#include "method/mean.h"
#include "run/experiment/feed.h"
#include "run/log/run_folder.h"
#include "run/store/ledger.h"
#include "run/transport/transport.h"

/* Seconds: of the whole run, and of its clients, added up; of the server's parts. What plans
 * computed: in clients' turns, and in the server's hooks. */
typedef struct eg_spent {
    double seconds, train, phase, part[EG_MAX_PARTS], server_part[EG_MAX_PARTS];
    uint64_t flops_clients, flops_server;
} eg_spent;

/* A vector that a part has on the server, saved with every checkpoint. */
typedef struct eg_kept_vector {
    const char *name;
    float *values; /* [n_params] */
} eg_kept_vector;

/* Who is late for its round, and may still answer it (late.h). */
typedef struct eg_late_model eg_late_model;
typedef struct eg_late {
    int64_t client, stage, dealt; /* its stage then, and the samples it has in it */
    eg_late_model *model;         /* that it was sent */
    eg_reply reply;               /* in a replay: what it answered */
} eg_late;

/* How long validation has not become better, since all tasks have come. */
typedef struct eg_patience {
    double best;    /* -1: nothing was validated yet */
    int64_t round;  /* after which it was */
    int64_t points; /* of the curve since */
    bool stops;     /* the run is over before its last round */
} eg_patience;

typedef struct eg_federation {
    const eg_experiment *e;
    const eg_run_how *how;
    uint64_t seed;
    eg_feed feed;
    eg_fingerprint print; /* of the data and of this program */
    eg_net *net;
    eg_agreement agreed; /* what the parts wish */
    eg_chain chain;      /* the server's half of every part */
    eg_worker workers[EG_MAX_THREADS];
    int n_workers;
    int threads;   /* that all of them may have, or the server while they wait */
    eg_team *team; /* the server's own; NULL: one thread */
    const eg_transport *transport;
    void *carrier; /* the transport's state */
    eg_cursor *cursor;
    eg_server server;
    char encoder_sha256[65];        /* of what it was pre-trained to; "": it was not */
    float *param, *state;           /* the global model */
    float *next_param, *next_state; /* the mean that will become it */
    /* What moves the model along the mean change; NULL: nothing. */
    eg_server_optimizer *optimizer;
    eg_robust *robust_param, *robust_state; /* where server.mean is no plain mean; else NULL: */
    eg_weighted_mean mean_param, mean_state;
    eg_weighted_mean unweighed_param, unweighed_state; /* without the factors that parts have */
    bool *lost;      /* [clients selected]: those lost in this round; NULL: none was */
    size_t n_losses; /* of clients, over all rounds */
    eg_late *late;   /* [n_late] */
    size_t n_late, cap_late;
    struct eg_script *script; /* a log that says who answers when; NULL: this is no replay */
    char folder_path[512], store[EG_RUN_PATH];
    eg_ledger *ledger;
    eg_records *records; /* the server's own */
    eg_kept_vector *vectors;
    size_t n_vectors, cap_vectors;
    eg_run_folder *folder;
    int lock;                    /* of the folder, against other processes; -1: none */
    double since;                /* eg_seconds() at the start of this process */
    eg_spent before;             /* spent by earlier processes of this run */
    eg_spent now;                /* by clients in this one */
    double bytes_up, bytes_down; /* whole numbers, over all rounds */
    double round_loss;
    struct eg_privacy *privacy; /* what is spent, and the clip; NULL: no dp */
    struct eg_members *members; /* of clients, where sums are masked */
    double accuracy;            /* the last mean measured; -1: none yet */
    double validation;          /* likewise, on samples held out of training */
    eg_patience patience;
} eg_federation;

/* Tells whoever waits where the round stands: m->at, what, done and of. */
void eg_federation_moment(const eg_federation *f, eg_moment m);

/* crew.c: how many clients may work at once, how many threads there are for all of them, and
 * the server's own team of as many, which its thread enters. */
int eg_federation_workers(const eg_run_how *how);
int eg_federation_threads(const eg_run_how *how);
eg_status eg_federation_gather(eg_federation *f);
void eg_federation_scatter(eg_federation *f);

/* One round of exchanges, logged. */
eg_status eg_federation_round(eg_federation *f);

/* Has any workers do what can be done anywhere, tests or pieces of the server's work,
 * and takes each reply in order, on this thread. is: shown as progress. */
typedef eg_status (*eg_share_take)(void *context, int64_t i, const eg_reply *reply);
eg_status eg_federation_share(eg_federation *f, const eg_job *job, eg_share_take take,
                              eg_moment is);

/* Who clients are, where sums of theirs are masked, and what privacy was spent so far. The
 * folder is there. */
eg_status eg_federation_open_hidden(eg_federation *f);

/* The samples that a client was dealt for this round; -1: that is not known here. */
int64_t eg_federation_dealt(const eg_federation *f, int64_t client);

/* Whether an answer may count; else one sentence that says why not. It must have what is asked
 * for and nothing that no part knows, all of it finite; as many samples as there can be, a
 * whole number; a change of the model no longer than server.max_change allows; statistics that
 * batches can have brought about; and the parts must find theirs in order. The gaps between
 * tensors, which nobody should send, are made zero. */
eg_status eg_federation_accept(eg_federation *f, size_t exchange, int64_t client, int64_t dealt,
                               eg_bundle *up);

/* The same of a mean that nobody can judge by its summands. */
eg_status eg_federation_check_model(const eg_federation *f, const float *param,
                                    const float *state);

/* The mean of a round's uploads, into next_param and next_state: by server.mean, with weights
 * and the parts' factors, in client order. */
eg_status eg_federation_mean_open(eg_federation *f); /* the folder is there */
void eg_federation_mean_close(eg_federation *f);
void eg_federation_mean_begin(eg_federation *f);
eg_status eg_federation_mean_add(eg_federation *f, int64_t client, const eg_bundle *up,
                                 double weight);
eg_status eg_federation_mean_get(eg_federation *f);

/* Tests the model, or every client's own, on all tasks, and logs it. `round` rounds are done;
 * full: on all test samples, else on the curve's. */
eg_status eg_federation_evaluate(eg_federation *f, int64_t round, bool task_end, bool full);

/* Logs what the server's model takes for what among the classes met so far. answers
 * [tasks]: what it answered on each task's test samples. */
eg_status eg_federation_log_seen(eg_federation *f, int64_t round, int32_t *const *answers);

/* Logs what judges told of boxes on each task's test images, as named in tests (EG_JUDGED), and
 * writes the images. */
eg_status eg_federation_log_boxes(eg_federation *f, int64_t round, const eg_bundle *told);

/* Tests what each client uploaded in the last of `round` rounds on the client's own tasks, and
 * logs it, if eval.local asks for it behind this one. */
eg_status eg_federation_evaluate_uploads(eg_federation *f, int64_t round);

/* In a stream: tests the model on each client's cumulative test set, or each client's own, and
 * logs it with the samples the client has met. The cursor stands behind the round. */
eg_status eg_federation_evaluate_met(eg_federation *f, int64_t round, bool task_end);

/* A picture of what the parts' generators draw after `round` rounds, and its line in
 * the log; nothing if there are none. */
eg_status eg_federation_draw(eg_federation *f, int64_t round);

/* Notes a point of the curve after `round` rounds, and ends the run if it was one too many
 * without a better validation. */
eg_status eg_federation_wait(eg_federation *f, int64_t round);
eg_status eg_federation_save_patience(const eg_federation *f, eg_bundle *to);
eg_status eg_federation_load_patience(eg_federation *f, const eg_bundle *from);

/* Brings all there is to disk, in one commit; takes it up again, if there was one. Without
 * force the data and the program must be those the run began with (EG_EINVAL, naming what is
 * not); with it, the log says what is not. */
eg_status eg_federation_checkpoint(eg_federation *f);
eg_status eg_federation_resume(eg_federation *f, bool force);
/* EG_EINVAL: the data or the program are not those that the run in a folder began with. */
eg_status eg_federation_compare(const eg_federation *f, const char *folder);

/* What was learned, as a digest. */
eg_status eg_federation_hash(eg_federation *f, const struct eg_gallery *g,
                             const eg_bundle *known, char out[65]);

/* Adds what the parts' own answers know to what tests are sent, or what is saved. */
eg_status eg_federation_add_known(eg_federation *f, eg_bundle *to);

/* The server's own model of a client, as a bundle; *own stays NULL if it has none. */
eg_status eg_federation_model_of(eg_federation *f, int64_t client, eg_bundle **own);

/* A client's own model, if models are personal and it has one, else the global one. In a
 * simulation its records are within reach; *own must outlive what points into it: free it with
 * eg_records_free. */
eg_status eg_federation_own(const eg_federation *f, int64_t client, eg_records **own,
                            eg_weights *out);

/* What the run took so far; into a checkpoint and back; and the end event that says so. */
/* stand.c. Tells the transport how the run stands, and shows it the model if somebody wants it;
 * saves the model of now, of which the parts' answers know this. free() *path. */
eg_status eg_federation_stand(eg_federation *f);
eg_status eg_federation_save_model(eg_federation *f, const eg_bundle *known, char **path);

eg_spent eg_federation_spent(const eg_federation *f);
eg_status eg_federation_save_spent(const eg_federation *f, eg_bundle *to);
void eg_federation_load_spent(eg_federation *f, const eg_bundle *from);
eg_status eg_federation_write_end(const eg_federation *f);

#endif
