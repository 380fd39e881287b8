/* engram/method.h - what a federated method is: both halves in one file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run names a list of parts; hooks fire in that order, and all may be NULL. A part has
 * options, a setup that is asked before the first round, terms it records into the loss, a
 * client half and a server half.
 *
 * Each half has a state of its own: a struct that begins with the part's options, zeroed behind
 * them. The server's lasts for the run. A client's lasts for one turn: one client's share of
 * one exchange; then fini is called, which must bear a state that was never used. A half of
 * size 0 has just the options. What must last longer is in client.h and server.h.
 *
 * A round is a list of exchanges, all of one shape: the server wants it or not and sends, the
 * client downloads and answers, the server accepts, collects and finishes. The first, number
 * EG_TRAINING, is training, of all parts. Setup may add others, numbered from 1 for the part:
 * in these every client that was chosen stands at the new global model, with its memory as
 * training left it, and only the hooks of the part that added it are called. An exchange may
 * ask for those, too, who are there but had nothing to train on.
 */
#ifndef EG_METHOD_H
#define EG_METHOD_H

/* size: one contract, whose hooks are read together. */

#include <engram/component.h>
#include <engram/network.h>
#include <engram/server.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum {
    EG_TRAINING = 0,
    EG_MAX_REPLAYS = 4,
    EG_MAX_EXCHANGES = 4,
    EG_MAX_UPLOADS = 4,
    EG_MAX_KNOWN = 4
};

/* Rows of the client's memory that the core draws for every batch. */
typedef struct eg_replay {
    int64_t rows;        /* at most: fewer while the memory holds fewer */
    bool joins;          /* they join the batch; else they stand apart (eg_client_replayed) */
    bool labels, logits; /* wanted beside x of rows that stand apart: targets, outputs */
} eg_replay;

/* One more exchange in every round, after training. */
typedef struct eg_exchange {
    const char *name;
    /* Only the mean of the answers is used: collect is called once, for EG_SERVER, with the
     * mean of every tensor and scalar over the accepted answers that have it, if any has. */
    bool sum;
    /* Also clients who took part before and would now, if they had data; their view is what
     * they had then. Who was not drawn for the round is not asked. */
    bool everyone;
} eg_exchange;

/* What a part wishes of the run. */
typedef struct eg_wishes {
    unsigned offers;  /* EG_OFFERS_* bits that the scenario must offer */
    bool memory;      /* the experiment must declare a memory */
    bool logits;      /* whose rows keep the outputs they were stored with */
    bool insert_once; /* and which is offered each sample once per stage, whatever memory.insert
                         says */
    bool fills;       /* it fills the memory itself (eg_memory_set): the core offers it nothing;
                         one part at most */
    bool images;      /* rows must have pixels within [-1, 1], as generators draw them */
    bool pixels;      /* rows must be the samples themselves, not features of them */
    bool global;      /* there must be a global model: no part may wish for personal ones */
    bool personal;    /* every client keeps its own model; there is no global one */
    bool sums;        /* it can do with the sums of answers to training: see the sums hook */
    bool late;        /* an answer to training may count in a later round: the part looks at
                         nothing of it that belongs to the round it was asked in */
    bool plain_mean;  /* uploads count alike in the mean, whatever server.weights says */
    bool classes;     /* it needs one class for each sample: other targets are refused */
    bool shares_plain; /* its terms take weight off the batch's own cross entropy (c->plain), of
                          which two parts could take more than there is; one part at most */
    bool rests;        /* its `wants` may leave training out, so that nobody knows before which
                          rounds there will be */
    const char *train; /* what is trained, as model.train says it, unless that says more than
                          all: "head"; NULL: all. Two parts must say the same */
    int64_t side; /* outputs of a second head on the features (eg_net_side); one part at most */
    const char *uploads[EG_MAX_UPLOADS]; /* vectors as long as the model that every upload must
                                            have; up to the first NULL */
    eg_replay replays[EG_MAX_REPLAYS];   /* up to the first of 0 rows */
    eg_exchange exchanges[EG_MAX_EXCHANGES]; /* up to the first without a name */
} eg_wishes;

/* What is known of the run when setup is asked. */
typedef struct eg_setting {
    const eg_scenario *scenario; /* NULL while the file is read: then it is not known yet */
    const eg_train_opts *train;
    const eg_target *target; /* the kind of the run's targets; NULL: classification */
    int64_t interval; /* server.interval: every so many rounds bring clients the server's model;
                         in the others they go on from their own */
    bool augments;   /* rows of a batch are changed at random: cropped, flipped or cut out of */
    bool other_mean; /* what is refined is not just the uploads' mean: server.mean is another
                        rule, or server.optimizer steps along it */
    bool hides;      /* the server learns sums of answers alone (secure, dp) */
    bool late;       /* answers that come too late join a later mean (server.late) */
} eg_setting;

/* What a features hook may read in the graphs of a run: inputs [n, n_tasks], 1 where a row of
 * the batch "x" may be of the task, at all that were met where it is not known; and [n_tasks],
 * 1 at tasks that were met. In other graphs, as of a saved model, they are not there. */
#define EG_TASKS_OPEN "open tasks"
#define EG_TASKS_MET  "met tasks"

/* The client's record in which the core keeps what its know hook adds. */
#define EG_KNOWN "known"

/* What a part's own answers are made from. */
typedef struct eg_asked {
    eg_node *x;        /* [n, c, h, w] */
    eg_node *features; /* [n, d] */
    eg_node *outputs;  /* [n, n_classes]: the head's, or those of the part that makes them */
    eg_node *known[EG_MAX_KNOWN]; /* what the part declared (know), in that order */
} eg_asked;

typedef struct eg_client_half {
    size_t size; /* of the state */
    void (*fini)(void *self);
    /* What the server sent. Begins every turn. */
    eg_status (*download)(void *self, eg_client *c, int exchange, const eg_bundle *from);
    /* A task is announced: c->view is its first round, c->view.left the stage before (below 0:
     * there was none), whose end is known only now. */
    eg_status (*task)(void *self, eg_client *c);
    /* Changes what the client trains on this round (eg_client_add_sample). */
    eg_status (*samples)(void *self, eg_client *c);
    /* Edits c->grad, the batch's gradient. */
    eg_status (*grad)(void *self, eg_client *c);
    /* After the last batch. */
    eg_status (*trained)(void *self, eg_client *c);
    /* What it tells the server. */
    eg_status (*answer)(void *self, eg_client *c, int exchange, eg_bundle *to);
    /* Between rounds, where people look on: adds what the client draws with, as its records
     * have it, to a sheet. Nothing of it reaches the server. */
    eg_status (*exhibit)(void *self, eg_client *c, struct eg_gallery *to);
    /* After training, where clients have models of their own: what tests of this one's are to
     * know. All that was declared, or nothing; the core keeps it. */
    eg_status (*know)(void *self, eg_client *c, eg_bundle *to);
} eg_client_half;

typedef struct eg_server_half {
    size_t size; /* of the state */
    void (*fini)(void *self);
    /* Once, when the run begins or goes on: recalls what save kept. */
    eg_status (*begin)(void *self, eg_server *s);
    /* False leaves the exchange out; training left out leaves out the whole round, which only
     * a part that wished to rest may do. */
    bool (*wants)(void *self, eg_server *s, int exchange);
    /* Adds to what all clients are sent: once per exchange. */
    eg_status (*send)(void *self, eg_server *s, int exchange, eg_bundle *to);
    /* Adds to what one client is sent, in client order: made when its turn comes, and not long
     * before. */
    eg_status (*send_one)(void *self, eg_server *s, int64_t client, eg_bundle *to);
    /* Judges the part's own tensors of an answer, all finite, before anything is summed. A
     * failure leaves the answer out, with a line in the log. */
    eg_status (*accept)(void *self, eg_server *s, int exchange, int64_t client,
                        const eg_bundle *from);
    /* A factor >= 0 on the upload's weight in the mean. If all are 0 they are ignored. */
    double (*weight)(void *self, eg_server *s, int64_t client, const eg_bundle *from);
    /* One accepted answer, in client order. */
    eg_status (*collect)(void *self, eg_server *s, int exchange, int64_t client,
                         const eg_bundle *from);
    /* Changes the mean, as the server's optimiser left it, before it becomes the model;
     * s->param is still the last one. All parts in order. param [n_params], state [n_state] */
    eg_status (*refine)(void *self, eg_server *s, float *param, float *state);
    /* Does a piece of what eg_server_share shares out, and adds what it comes to. It may be on
     * another machine, so it has the options, and of the server what the piece was given. */
    eg_status (*work)(const void *options, const eg_piece *p, eg_bundle *to);
    /* All answers of the exchange are in; after training s->param is the new model. Not called
     * for training that brought too few good uploads (server.min_clients), or whose mean is not
     * finite, so that the last model stays. */
    eg_status (*finish)(void *self, eg_server *s, int exchange);
    /* Adds the server's own model of a client to what the client is sent, or what its tests are
     * (eg_server_add_model); nothing: it has none, the global one counts. What was recalled for
     * it can be released at once: so memory does not grow with the clients. One part at most.
     */
    eg_status (*model_of)(void *self, eg_server *s, int64_t client, eg_bundle *to);
    /* Keeps what begin needs to go on from here (eg_server_keep): before a checkpoint. */
    eg_status (*save)(void *self, eg_server *s);
    /* At the end of the run: puts what it draws with into generators.safetensors
     * (eg_gallery_add), whose values count in the run's params_sha256. Before, whenever a sheet
     * of drawings is made. */
    eg_status (*exhibit)(void *self, eg_server *s, struct eg_gallery *to);
    /* What tests are to know now: before each test, and when the model is saved. All that was
     * declared, or nothing. */
    eg_status (*know)(void *self, eg_server *s, eg_bundle *to);
} eg_server_half;

/* What of a client, beside its model and a few scalars, its answers take away from it. */
enum {
    EG_LEAVES_VECTORS = 1,
    EG_LEAVES_FIGURES = 2,
    EG_LEAVES_GENERATORS = 4,
};
typedef struct eg_leaving {
    unsigned bit;
    const char *name, *help;
} eg_leaving;
extern const eg_leaving eg_leavings[]; /* a name of NULL at the end */

typedef struct eg_method {
    eg_component component; /* its size is that of the options */
    /* Says what the part wishes, which is all zero at first, and refuses what cannot work: one
     * sentence without the part's name. Asked when the file is read, and when the run begins.
     */
    eg_status (*setup)(const void *options, const eg_setting *in, eg_wishes *out);

    /* Records features [n, d] of x in place of the network's own (eg_graft). One part at most.
     */
    eg_node *(*features)(const void *options, const eg_net *net, eg_graph *g, eg_node *x);
    /* Records outputs [n, n_classes] from features [n, d] in place of the head's, in training
     * and in tests. tasks [n, n_tasks] is 1 at each task a row may be of: at one if it is
     * known, else at all that were met. One part at most. */
    eg_node *(*outputs)(const void *options, const eg_net *net, eg_graph *g, eg_node *features,
                        eg_node *tasks);
    /* Declares what the part's own answers know: up to EG_MAX_KNOWN tensors, with the values
     * they have before a half's know hook adds others. They are sent with every test and saved
     * beside the model. */
    eg_status (*know)(const void *options, const eg_net *net, eg_bundle *out);
    /* Records what tests take for the outputs [n, n_classes], in eval form: in every test of a
     * run and of the model it saves, never in training. One part at most. */
    eg_node *(*answers)(const void *options, const eg_net *net, eg_graph *g,
                        const eg_asked *in);
    /* Declares what it answers beside uploads where sums alone are told: tensors, a first value
     * above 0 the most of an element. collect is called once, for EG_SERVER, with means. */
    eg_status (*sums)(const void *options, const eg_net *net, int exchange, eg_bundle *out);
    /* Records terms: returns loss plus what it adds. Inputs are named "<part>.<input>". self is
     * the client's half, as in all that follows. */
    eg_node *(*loss)(void *self, eg_client *c, eg_graph *g, eg_node *loss);
    /* Which form of the terms the next batch takes, if there are several beside those that
     * follow from the rows replayed: each has a plan of its own. */
    uint32_t (*form)(void *self, eg_client *c);
    /* Fills the inputs it recorded, in c->plan. */
    eg_status (*fill)(void *self, eg_client *c);

    eg_client_half client;
    eg_server_half server;

    const char *draws_as; /* NULL, or the part whose random numbers it has in place of its own:
                             another writing of that part */
    unsigned leaves;      /* EG_LEAVES_*, all that its answers hold; 0: nothing, it has none */
    bool bound;           /* an upper or lower bound, not a contender */
} eg_method;

extern const eg_method *const eg_methods[]; /* NULL at the end */
extern const eg_family eg_method_family;
const eg_method *eg_method_find(const char *word); /* as eg_family_find */

/* Adds a method of one's own, as eg_family_add does: it then has its name in experiment files
 * like any other. EG_EINVAL also if a half's state is smaller than the options. */
eg_status eg_method_add(const eg_method *m);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
