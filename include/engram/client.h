/* engram/client.h - what a method sees of a client, and what it may ask of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three things have three lifetimes. What a client keeps for good (its memory, records that
 * parts keep) is on the client's side and outlives the program. What a worker thread has
 * (compiled programs, networks of a part's own) serves one client after the other. What an
 * eg_client holds lasts for one turn: one client's share of one exchange.
 *
 * All of this belongs to one thread at a time. Arrays of weights are flat, in the layout of the
 * network's table, the gaps between tensors zero.
 */
#ifndef EG_CLIENT_H
#define EG_CLIENT_H

#include <engram/exchange.h>
#include <engram/generator.h>
#include <engram/memory.h>
#include <engram/model.h>
#include <engram/opt.h>
#include <engram/program.h>
#include <engram/scenario.h>
#include <engram/target.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* A training sample: its task, which fixes source and transform, and its index there; or a row
 * that a part made (eg_client_add_rows): task EG_OWN_ROW, and its number among these. */
enum { EG_OWN_ROW = -1 };
typedef struct eg_sample {
    int64_t task, id;
} eg_sample;

/* How the run trains. */
typedef struct eg_train_opts {
    int64_t epochs, batch;
    int64_t steps;                     /* batches of a round, all whole; 0: as epochs make */
    int classes;                       /* of "all|seen|client|task": the outputs in the loss */
    int optimizer_state;               /* of "fresh|keep" */
    const char *optimizer;             /* its name */
    double lr, momentum, weight_decay; /* the optimiser's own; 0 where it has none */
    double clip;                       /* the longest gradient an optimiser gets; 0: any */
    double temperature;                /* what logits are divided by in the loss */
    bool rotations; /* a sample of class y is four rows of a batch, turned by 0, 90, 180 and 270
                       degrees, with labels 4 y to 4 y + 3 */
} eg_train_opts;

/* Rows of a batch that one sample becomes, and outputs of the head that one class has; the
 * first of them is that of the upright image. */
static inline int64_t eg_train_fan(const eg_train_opts *t)
{
    return t->rotations ? 4 : 1;
}

/* What a worker thread has, whoever is the client. */
typedef struct eg_worker eg_worker;

typedef struct eg_client {
    int64_t id, round, epoch;
    uint64_t seed, step; /* step counts the client's batches of this round */
    const eg_scenario *scenario;
    const eg_train_opts *train;
    const eg_aim *aim;  /* what outputs are held to */
    eg_view view;       /* what it has this round */
    bool has_trained;   /* it took part before */
    bool told_boundary; /* a task begins for it and the scenario announces that */

    const eg_net *net;
    size_t n_params, n_state;
    float *param, *grad, *state;        /* its own model */
    const float *global, *global_state; /* the model it received, from which it starts unless
                                           models are personal; NULL without one */

    eg_sample *samples; /* what it trains on this round: see the samples hook */
    int64_t n_samples, cap_samples;
    int64_t n_rows; /* of these, made by parts */

    int64_t batch;          /* rows of the current batch, replayed ones that join it included */
    const eg_sample *drawn; /* [n_drawn]: each of the batch's first rows; the others are
                               replayed */
    int64_t n_drawn;
    float *x;            /* [batch, c, h, w], as fed to the network */
    float *labels;       /* [batch, aim->width]: their targets; of classes [batch] */
    eg_plan *plan;       /* of this batch: where a loss hook's inputs are */
    const float *logits; /* [batch, n_classes], from the grad hook on: before this step */
    int64_t n_classes;   /* outputs of the head; of classes: eg_train_fan of each */
    eg_node *features;   /* [batch, d] of the batch, while a loss hook records */
    eg_node *plain;      /* its mean loss without any part's terms, likewise */

    eg_memory *memory; /* NULL unless the experiment declares one */
    double loss;       /* sum over batches of the mean loss; n_batches of them */
    int64_t n_batches;
    double lr; /* the step size of this round */

    size_t part;       /* whose hook runs now: the core's */
    eg_worker *worker; /* who carries out the turn */
    bool hides;        /* of its answers the server learns the sum alone */
} eg_client;

/* Whether there is such a training sample, for parts that keep samples by their numbers. */
bool eg_client_knows(const eg_client *c, const eg_sample *s);

/* In the samples hook: adds a training sample to this round's. No memory is offered it, unless
 * it is among the client's own of this round. */
eg_status eg_client_add_sample(eg_client *c, int64_t task, int64_t id);

/* In the samples hook: adds n rows of the part's own (drawn by a generator, say), which are
 * shuffled among the round's samples and trained on like them, random crops, flips, cutouts and
 * rotations included. x [n, c, h, w] is as the network is fed it, labels [n] are classes; both
 * are copied. In c->samples and c->drawn such a row has the task EG_OWN_ROW, which means none:
 * it may be of any that the client has met. Its id is its number: the first one here is what
 * c->n_rows was before. Rows last until the turn ends. No memory is offered them, and they do
 * not count in the client's weight. EG_EINVAL: a label is no class. */
eg_status eg_client_add_rows(eg_client *c, const float *x, const float *labels, int64_t n);

/* Marks the classes of the client's earlier stages that are none of this one's, to be known for
 * their past alone. marks: [classes], zeroed */
void eg_client_past_classes(const eg_client *c, uint8_t *marks);

/* The rows of n training samples as the network is fed them, upright and without random crops
 * and flips: x [n, c, h, w], labels [n, aim->width]. */
void eg_client_feed(eg_client *c, const eg_sample *samples, int64_t n, float *x, float *labels);
/* The same as a batch has them: with random crops, flips and cutouts by rng, eg_train_fan rows
 * for each. */
void eg_client_feed_batch(eg_client *c, const eg_sample *samples, int64_t n, eg_rng *rng,
                          float *x, float *labels);

/* --- What a loss hook records with. */

/* Outputs [n, n_classes] for rows x [n, c, h, w] apart from the batch, whose tasks are not
 * known. */
eg_node *eg_client_outputs(eg_client *c, eg_graph *g, eg_node *x);
/* The same for features [n, d]. */
eg_node *eg_client_outputs_of(eg_client *c, eg_graph *g, eg_node *features);

/* Logits as the training loss sees them: for rows of unknown task those that train.classes
 * excludes are masked, and all are divided by train.temperature. */
eg_node *eg_client_counted(eg_client *c, eg_graph *g, eg_node *logits);

/* The mean loss of such outputs with the rows' targets, as of the batch's own. */
eg_node *eg_client_loss(eg_client *c, eg_graph *g, eg_node *outputs, eg_node *targets);

/* Rows that the part's setup asked for (wishes.replays[i]) and that stand apart from the batch:
 * inputs that the core fills before each batch. n is 0 while the memory is empty; labels and
 * logits are NULL unless they were asked for. */
typedef struct eg_replayed {
    int64_t n;
    eg_node *x;      /* [n, c, h, w] */
    eg_node *labels; /* the targets: eg_aim_shape */
    eg_node *logits; /* [n, n_classes]: the outputs they were stored with */
} eg_replayed;
eg_replayed eg_client_replayed(eg_client *c, eg_graph *g, size_t i);

/* --- What lasts as long as the client: named records. */

/* A record as it was last kept; *out is NULL if there is none. Borrowed for the turn, or until
 * it is kept anew. Names begin with the part's: "ewc". */
eg_status eg_client_recall(eg_client *c, const char *name, const eg_bundle **out);
/* Keeps a record in place of the last one of its name. The bundle belongs to the core from here
 * on, even on failure. */
eg_status eg_client_keep(eg_client *c, const char *name, eg_bundle *record);
/* Lets go of a record in memory, for parts that have many large ones: nothing borrowed of it
 * may be used any more, and it is read again when it is recalled. */
eg_status eg_client_release(eg_client *c, const char *name);

/* The same for a record that is one vector as long as the model; *out is NULL if there is none.
 * And for one that is the client's model as it stands (eg_learner_recall takes it back, the
 * name is the prefix). */
eg_status eg_client_recall_flat(eg_client *c, const char *name, const float **out);
eg_status eg_client_keep_flat(eg_client *c, const char *name, const float *values);
eg_status eg_client_keep_model(eg_client *c, const char *name);

/* In the download hook of training: the model that the client received when its stage began, as
 * a record. *out is NULL in its first stage; else the worker's, for the turn. */
eg_status eg_client_stage_model(eg_client *c, const char *name, eg_learner **out);

/* A number worth seeing: an event in the log, a curve on the page. A name is 1 to 63 printable
 * ASCII characters without quotes and backslashes (EG_EINVAL); a value that is not finite is a
 * gap of the curve. Where the server learns sums alone it is not sent. */
eg_status eg_client_note(eg_client *c, const char *name, double value);

const char *eg_client_part(const eg_client *c); /* the name of the part whose hook runs */

/* The part's own random numbers: another stream for each of its draws, numbered below 16, and
 * each batch of this round; or tied to a stage instead, whatever the round. */
eg_rng eg_client_stream(const eg_client *c, uint32_t draw);
eg_rng eg_client_stage_stream(const eg_client *c, int64_t stage, uint32_t draw);

/* --- What lasts as long as the worker. */

/* A program under a key ("moon.past"), made when it is first asked for. context is what the
 * recorder gets from now on. A few plans stay compiled. */
eg_status eg_worker_program(eg_worker *w, const char *key, eg_recorder record, void *context,
                            eg_program **out);

/* A network of a part's own under a key; it holds what its last user left. */
eg_status eg_worker_learner(eg_worker *w, const char *key, const eg_params *table,
                            eg_learner **out);

/* A generator under a key; likewise. */
eg_status eg_worker_generator(eg_worker *w, const char *key, const eg_generator_spec *spec,
                              eg_generator **out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
