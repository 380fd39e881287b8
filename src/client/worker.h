/* worker.h - one thread's model, plans and optimiser, and the client it is at the moment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_WORKER_H
#define EG_WORKER_H

#include <engram/optim.h>
#include <engram/program.h>

#include "experiment/feed.h"

typedef struct eg_worker {
    const eg_experiment *e;
    const eg_feed *feed;
    const eg_net *net;
    eg_client client;
    void *states[EG_MAX_PARTS]; /* of the client's parts */
    eg_program *learn, *judge;
    eg_program *plain;    /* the loss without the parts' terms */
    eg_plan *rows;        /* the plan of the last eg_client_rows */
    int64_t n_rows;       /* in it */
    uint64_t apart;       /* its dropout masks are apart from the batches', and the phase's */
    eg_program *eval;     /* the plain loss in eval form */
    eg_program *looks[2]; /* eval form: without and with norms of each sample's gradient */
    eg_optimizer *optimizer;
    double train_seconds, phase_seconds, part_seconds[EG_MAX_PARTS]; /* spent so far */
    float *param, *grad, *state;
    float *beside; /* [n_params]: the gradient of `plain`, so that a batch's stays */
    int64_t *order, cap_order;
    eg_sample *picked; /* [cap_order]: the epoch's samples, shuffled */
    int32_t *truth;    /* [judge batch] */
    uint8_t *met;      /* [n_classes]: what rows of unknown task may be taken for */
    eg_node *counted;  /* while a loss is recorded: the input that says so; NULL: none yet */
    eg_node *tasks;    /* likewise: those that rows of unknown task may be of */
} eg_worker;

/* Makes the programs behind eg_client_look and eg_client_eval_gradient. */
eg_status eg_client_open_looks(eg_worker *w);

eg_status eg_worker_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                         eg_worker *out);
void eg_worker_close(eg_worker *w);

/* Whether all values are. What is not finite is not kept: the client would never come back. */
bool eg_worker_is_finite(const float *values, size_t n);

/* The optimiser as the experiment says; as a client begins a round with it (kept may be NULL);
 * and into what the client keeps, if it does. */
eg_status eg_worker_open_optimizer(eg_worker *w);
eg_status eg_worker_begin_optimizer(eg_worker *w, const eg_bundle *kept);
eg_status eg_worker_keep_optimizer(const eg_worker *w, eg_bundle *to);

/* One client's round: what it received and kept goes in, what it uploads and keeps comes out.
 * down: the server's bundle ("param", "state" and what parts added); kept: NULL at first. */
typedef struct eg_turn {
    int64_t id, round;
    uint64_t seed;
    eg_view view;
    const eg_cursor *cursor; /* before this round */
    bool told_boundary, own; /* own: it goes on from its own model, if it has one */
    const eg_bundle *down, *kept;
    eg_bundle *up, *keep; /* filled */
} eg_turn;
eg_status eg_worker_train(eg_worker *w, const eg_turn *turn);

/* The parts' second exchange: the client at the new global model, what it kept put back. */
eg_status eg_worker_phase(eg_worker *w, const eg_turn *turn);

/* A test: n samples of a task, the task's own classes, and those a model may answer with. */
typedef struct eg_exam {
    int64_t task, n, n_classes, n_allowed;
    int64_t period; /* of the run so far: 0 before it begins */
    const int64_t *ids;
    const int32_t *classes;
    const int32_t *allowed; /* NULL: all */
} eg_exam;

/* How many are right over the allowed classes (class-IL), and among the task's own (task-IL).
 */
typedef struct eg_score {
    int64_t n, right, right_in_task;
} eg_score;

eg_status eg_worker_judge(eg_worker *w, const float *param, const float *state,
                          const eg_exam *exam, eg_score *out);

#endif
