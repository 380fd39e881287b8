/* engram/method.h - what a federated method is: a few hooks, both halves in one file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run names a list of parts; hooks fire in that order. A part fills only the hooks it needs,
 * all may be NULL. Its state is `size` zeroed bytes, one for each client and one for the
 * server, that the core allocates, fills with the options (which come first in the struct) and
 * frees after fini, which must bear a state that was never used. A client's state lasts for one
 * turn: a round's training, or its second exchange. What a client's part must remember from
 * round to round it writes into a bundle (keep) and reads back (recall): between rounds a
 * client exists only as bytes.
 *
 * A client's hooks run on one worker thread, with nothing shared; the server's on one thread.
 */
#ifndef EG_METHOD_H
#define EG_METHOD_H

#include <engram/exchange.h>
#include <engram/memory.h>
#include <engram/model.h>
#include <engram/opt.h>
#include <engram/scenario.h>

#pragma GCC visibility push(default)

/* A training sample: a task says source and transform, the number which one. */
typedef struct eg_sample {
    int64_t task, id;
} eg_sample;

/* How the run trains. */
typedef struct eg_train_opts {
    int64_t epochs, batch;
    int classes;         /* of "all|seen|client|task": the outputs in the loss */
    int optimizer;       /* of "sgd|adam|adamw" */
    int optimizer_state; /* of "fresh|keep" */
    double lr, momentum, weight_decay;
} eg_train_opts;

/* What a method sees of a client while it trains. Arrays are flat, in the table's layout. */
typedef struct eg_client {
    int64_t id, round, epoch;
    uint64_t seed, step; /* step counts the client's batches of this round */
    const eg_scenario *scenario;
    const eg_train_opts *train;
    eg_view view;       /* what it has this round */
    bool has_trained;   /* it took part before */
    bool told_boundary; /* a task begins for it and the scenario announces that */

    const eg_net *net;
    size_t n_params, n_state;
    float *param, *grad, *state;        /* its own model */
    const float *global, *global_state; /* the model it received; NULL without one */

    eg_sample *samples; /* what it trains on this round: see the samples hook */
    int64_t n_samples, cap_samples;

    int64_t batch;          /* rows of the current batch, those of extra hooks included */
    const eg_sample *drawn; /* [n_drawn]: of the batch's first rows; the others are parts' */
    int64_t n_drawn;
    float *x;            /* [batch, c, h, w], as fed to the network */
    float *labels;       /* [batch] */
    eg_plan *plan;       /* of this batch: where a loss hook's inputs are */
    const float *logits; /* [batch, n_classes], from the grad hook on: before this step */
    int64_t n_classes;   /* outputs of the head */
    eg_node *features;   /* [batch, d] of the batch, while a loss hook records */

    eg_memory *memory; /* NULL unless the experiment declares one */
    double loss;       /* sum over batches of the mean loss; n_batches of them */
    int64_t n_batches;
    struct eg_worker *worker; /* the core's */
} eg_client;

/* What a method sees of the server. */
typedef struct eg_server {
    int64_t round;
    uint64_t seed;
    const eg_scenario *scenario;
    const eg_net *net;
    size_t n_params, n_state;
    float *param, *state; /* the global model */
} eg_server;

typedef struct eg_method {
    const char *name, *help;
    size_t size; /* of the state */
    const eg_opt *opts;
    unsigned needs;    /* EG_OFFERS_* bits of the scenario */
    bool needs_memory; /* the experiment must declare a memory */
    bool needs_logits; /* rows of the memory keep the outputs they were stored with */
    /* The memory is offered each sample once a stage, whatever memory.insert says. */
    bool (*remembers_once)(const void *self);
    bool personal; /* every client keeps its own model; there is no global one */
    /* What options, scenario and training cannot be together: asked before the first round. */
    eg_status (*check)(const void *self, const eg_scenario *s, const eg_train_opts *train);
    /* Outputs of a second head on the network's features (eg_net_side); NULL: none. One part
     * at most. */
    int64_t (*side)(const void *self, const eg_scenario *s);
    /* Records outputs [n, n_classes] from features [n, d] in place of the head's, in training
     * and in tests. tasks [n, n_tasks] is 1 at each task a row may be of: at one if it is
     * known, else at all that were met. self has its options only. One part at most. */
    eg_node *(*outputs)(const void *self, const eg_net *net, eg_graph *g, eg_node *features,
                        eg_node *tasks);

    /* Client, in the order they fire in a round. First what it kept last time, if there was
     * one, then what the server sent. */
    eg_status (*recall)(void *self, eg_client *c, const eg_bundle *from);
    eg_status (*download)(void *self, eg_client *c, const eg_bundle *from);
    /* In the first round of a task that is announced: the one before is over (if there was one;
     * that it would end was not known then), and the new one begins. */
    eg_status (*task_end)(void *self, eg_client *c);
    eg_status (*task_begin)(void *self, eg_client *c);
    /* Changes what the client trains on this round (eg_client_add_sample). */
    eg_status (*samples)(void *self, eg_client *c);
    /* Replaces the whole local training. Exclusive. */
    eg_status (*train)(void *self, eg_client *c);
    /* How many rows it adds to the next batch, and the rows. */
    int64_t (*extra)(void *self, eg_client *c);
    eg_status (*batch)(void *self, eg_client *c, float *x, float *labels);
    /* How many rows its loss terms see apart from the batch. Whatever else its recording
     * depends on must follow from this number: each has a plan of its own. */
    int64_t (*aside)(void *self, eg_client *c);
    /* Records terms: returns loss plus what it adds. Inputs are named "<part>.<input>". For a
     * network output of its own it may record the net again (eg_client_outputs). */
    eg_node *(*loss)(void *self, eg_client *c, eg_graph *g, eg_node *loss);
    /* Fills the inputs it recorded, in c->plan. */
    eg_status (*fill)(void *self, eg_client *c);
    eg_status (*grad)(void *self, eg_client *c);
    eg_status (*batch_end)(void *self, eg_client *c);
    eg_status (*upload)(void *self, eg_client *c, eg_bundle *to);
    eg_status (*keep)(void *self, eg_client *c, eg_bundle *to);
    /* A second exchange in the same round: after aggregation every client that took part stands
     * at the new global model, with its memory as training left it. */
    eg_status (*phase)(void *self, eg_client *c, eg_bundle *to);

    /* Server. */
    eg_status (*begin)(void *self, eg_server *s); /* once, before the first round */
    /* Adds to what all clients are sent, once a round; and to what one of them is sent besides,
     * which costs a bundle of its own for every client. */
    eg_status (*send_all)(void *self, eg_server *s, eg_bundle *to);
    eg_status (*send)(void *self, eg_server *s, int64_t client, eg_bundle *to);
    /* Which clients train this round: false leaves the round without training. */
    bool (*wants_round)(void *self, eg_server *s);
    /* One upload, in client order, then the new global model. Exclusive: without it the
     * server's mean applies. */
    eg_status (*collect)(void *self, eg_server *s, int64_t client, const eg_bundle *from);
    eg_status (*aggregate)(void *self, eg_server *s);
    /* A factor, not negative, of an upload's weight in the server's mean; all zero counts as
     * all one. */
    double (*weight)(void *self, eg_server *s, int64_t client, const eg_bundle *from);
    /* Whether the second exchange takes place this round; without it: always. */
    bool (*wants_phase)(void *self, eg_server *s);
    /* What the clients' phase brought, in client order, and its end. */
    eg_status (*phase_collect)(void *self, eg_server *s, int64_t client, const eg_bundle *from);
    eg_status (*phase_end)(void *self, eg_server *s);
    /* What the server's half must remember: into a checkpoint, and back after begin. */
    eg_status (*save)(void *self, eg_server *s, eg_bundle *to);
    eg_status (*load)(void *self, eg_server *s, const eg_bundle *from);

    void (*fini)(void *self);
} eg_method;

extern const eg_method *const eg_methods[]; /* NULL at the end */
const eg_method *eg_method_find(const char *word);

/* The gradient of the plain loss at the client's model for rows of one's own, whose tasks are
 * not known: ask for room for n rows, fill them, and have the gradient taken. c->grad stays as
 * it is; *out [n_params] is the core's, valid until a part asks for a gradient again. */
eg_status eg_client_rows(eg_client *c, int64_t n, float **x, float **labels);
eg_status eg_client_gradient_beside(eg_client *c, const float **out);

/* The gradient of the mean plain loss of n training samples, without random crops and flips,
 * written into c->grad. */
eg_status eg_client_gradient(eg_client *c, const eg_sample *samples, int64_t n);

/* In a loss hook: outputs [n, n_classes] for rows x [n, c, h, w] that the part sees apart from
 * the batch, whose tasks are not known. */
eg_node *eg_client_outputs(eg_client *c, eg_graph *g, eg_node *x);

/* In a loss hook: such outputs as a loss may use them. Outputs of classes that do not count
 * (train.classes) are masked; those are what rows of unknown task may be taken for. */
eg_node *eg_client_counted(eg_client *c, eg_graph *g, eg_node *logits);

/* The gradient of the mean plain loss of n training samples in eval form (no dropout, running
 * statistics) at the client's model, written into c->grad. */
eg_status eg_client_eval_gradient(eg_client *c, const eg_sample *samples, int64_t n);

/* The rows of n training samples as the network is fed them, without random crops and flips:
 * x [n, c, h, w], labels [n]. */
void eg_client_feed(eg_client *c, const eg_sample *samples, int64_t n, float *x, float *labels);

/* What the client's model makes of n samples in eval form, at c->param; what is NULL is not
 * computed. The work is cut into batches of the run's size. */
typedef struct eg_look {
    float *norms;    /* [n]: squared norm of each sample's own gradient */
    float *losses;   /* [n] */
    float *logits;   /* [n, n_classes] */
    float *features; /* [n, eg_net_n_features] */
} eg_look;
eg_status eg_client_look(eg_client *c, const eg_sample *samples, int64_t n, const eg_look *out);

/* Adds a training sample to this round's. */
eg_status eg_client_add_sample(eg_client *c, int64_t task, int64_t id);

#pragma GCC visibility pop

#endif
