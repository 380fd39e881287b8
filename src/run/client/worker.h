/* worker.h - one thread's model, programs and optimiser, and the client it is at the moment.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker lives as long as its thread and is one client after the other. A turn is one
 * client's share of one exchange: what only the server knows goes in, the client's answer comes
 * out.
 */
#ifndef EG_WORKER_H
#define EG_WORKER_H

#include "base/team.h"
#include "engine/model/shelf.h"
#include "method/chain.h"
#include "run/experiment/feed.h"
#include "run/store/records.h"

/* An exam: n samples of a task, the task's own classes, and those a model may answer with. */
typedef struct eg_exam {
    int64_t task, n, n_classes, n_allowed;
    int64_t period; /* of the run so far: 0 before it begins */
    bool held_out;  /* samples are training samples that were held out */
    const int64_t *ids;
    const int32_t *classes;
    const int32_t *allowed; /* NULL: all */
    bool tells;             /* of a test: what it answers is wanted */
    int32_t *answers;       /* [n] what it answers over the allowed classes; NULL: not wanted */
    eg_bundle *said;        /* gets what a judge says of it; NULL: not wanted */
} eg_exam;

/* What a judge says of an exam is named so: "held" or "test", and the task. */
#define EG_JUDGED "%s %lld "

/* How many are right over the allowed classes (class-IL), and among the task's own (task-IL).
 * Where a judge says more (eg_target), n is EG_MILLION, and both are its first rate. */
typedef struct eg_score {
    int64_t n, right, right_in_task;
} eg_score;

/* Which model is tested: the one that is sent; the client's own, or the one sent if it has
 * none; what the client uploaded in the turn's round, if it did. */
typedef enum eg_tested { EG_TESTED_SENT, EG_TESTED_OWN, EG_TESTED_UPLOAD } eg_tested;

/* The test of one model: exams on several tasks. Free with eg_test_fini. */
typedef struct eg_test {
    eg_tested model;
    size_t n, cap;
    eg_exam *exams; /* [n]; what they point to is the test's */
} eg_test;
eg_status eg_test_add(eg_test *t, const eg_exam *exam); /* copies it */
void eg_test_fini(eg_test *t);

/* A client's turn; the test of a model; a piece of the server's work. */
typedef enum eg_turn_kind { EG_TURN_CLIENT, EG_TURN_TEST, EG_TURN_PIECE } eg_turn_kind;

/* What the server tells a worker; the worker finds the rest in the scenario. */
typedef struct eg_turn {
    eg_turn_kind kind;
    int64_t id, round; /* whose, and of which round; of a piece, and of a test of the server's
                          model, EG_SERVER */
    uint64_t seed;
    eg_receipt kept;       /* the version of the client's records that counts */
    int64_t committed;     /* and the one whose files must stay */
    const eg_bundle *down; /* "param", "state" and what parts added; what a piece is given */
    union {
        struct {
            size_t exchange;     /* its place in the agreement */
            int64_t stage, left; /* the client's, and the one it took part in last, -1: none */
            bool last;           /* the stage ends with this round, as far as is known now */
            bool told_boundary;  /* a task begins for it and the scenario announces that */
            bool own;            /* it goes on from its own model, if it has one */
            bool brief;          /* the server's own note: it says nothing of what turns take */
            const uint8_t *met;  /* [classes]: those that count in the loss beside those it
                                    has now, as train.classes says; NULL: all */
        };
        const eg_test *test; /* of EG_TURN_TEST */
        struct {             /* of EG_TURN_PIECE: piece number i of the part's work */
            size_t part;
            int64_t i;
        } piece;
    };
} eg_turn;

enum { EG_MAX_NOTES = 1000 };

/* A note that no part has made: how many rows of a class the client's memory holds. */
#define EG_HELD "engram.held "

/* A number that a part of a client wants to be seen. */
typedef struct eg_note {
    char name[64];
    double value;
} eg_note;

/* What a turn came to. Free with eg_reply_fini. */
typedef struct eg_reply {
    eg_bundle *up;   /* the answer */
    eg_receipt kept; /* of its records as they are now */
    double seconds, part_seconds[EG_MAX_PARTS];
    uint64_t flops; /* that plans computed; of a test 0: it is no part of learning */
    size_t n_notes, cap_notes;
    eg_note *notes;
    size_t n_scores;
    eg_score *scores; /* [n_scores]: of a test, by exam; none if there is no such model. The
                         upload of such a reply is what judges said, or NULL */
    int32_t *answers; /* [n_answers]: of the exams that tell, one after the other */
    size_t n_answers;
} eg_reply;
void eg_reply_fini(eg_reply *r);

struct eg_worker {
    const eg_experiment *e;
    const eg_feed *feed;
    const eg_net *net;
    const eg_agreement *agreed;
    eg_chain chain; /* the client's half of every part */
    eg_client client;
    int threads;          /* that compute its turns, its own among them; 0: that alone */
    eg_team *team;        /* of as many as it had last; NULL: it never had more than its own */
    const eg_turn *turn;  /* the client's, at the moment */
    eg_reply *reply;      /* what it comes to */
    eg_records *records;  /* the client's */
    const char *store;    /* the folder of all clients' records */
    eg_learner *model;    /* the client's own */
    eg_room *room;        /* where the plans of all programs work */
    eg_program *learn;    /* the loss with the parts' terms */
    eg_program *plain[2]; /* without them, by eg_form */
    eg_program *looks[2]; /* eval form: without and with norms of each sample's gradient */
    eg_program *both;     /* these norms, and the gradient of `plain` in training form */
    eg_program *test;
    float *beside;   /* [n_params]: the gradient of these, so that a batch's stays */
    float *pieces;   /* [n_params]: the sum while it is computed in pieces; NULL: never */
    float *replayed; /* room for cap_replayed rows of the memory, likewise */
    int64_t cap_replayed;
    uint64_t n_gradients; /* of them taken in this turn: each has dropout masks of its own */
    int64_t n_offered;    /* rows that the client's memory had been offered before the turn */
    int64_t *order, cap_order;
    eg_sample *picked; /* [cap_order]: the epoch's samples, shuffled */
    eg_sample *fed;    /* [train.batch x fan]: of each row of the batch, replayed ones apart */
    eg_sample *fresh;  /* [n_fresh]: the view's own samples, sorted */
    int64_t n_fresh;
    size_t cap_fresh;
    eg_table made; /* rows that parts made for this round */
    int64_t cap_made;
    int32_t *truth;             /* [test batch] */
    eg_bundle *known;           /* what the parts' own answers know, as declared; NULL: none */
    const eg_bundle *knowing;   /* of a test: what they know now; NULL: what was declared */
    uint8_t *met;               /* [classes]: what rows of unknown task may be taken for */
    eg_shelf shelf;             /* what parts have under keys */
    struct eg_members *members; /* whose identity is whose, in sums that hide; a device's own */
    const char *run_sha256;     /* of the run as its server has it */
    bool apart;                 /* a device's: what its memory holds is not told */
};

eg_status eg_worker_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                         const eg_agreement *agreed, const char *store, eg_worker *out);
void eg_worker_close(eg_worker *w);

/* Whether what clients upload in a round is tested behind it (eval.local): then a client keeps
 * it as its record EG_UPLOADED. */
#define EG_UPLOADED "uploaded"
bool eg_worker_tests_uploads(const eg_experiment *e, const eg_scenario *s,
                             const eg_agreement *agreed, int64_t round);

/* Shares so many threads among n workers, of whom at most n_turns are at work at once. */
void eg_workers_share(eg_worker *workers, int n, int64_t n_turns, int threads);

/* A turn that is a piece of the server's work. */
eg_status eg_worker_take_work(eg_worker *w, const eg_turn *turn, eg_reply *out);

/* Carries out a turn. On failure there is no answer, and the client's records are as before. */
eg_status eg_worker_turn(eg_worker *w, const eg_turn *turn, eg_reply *out);

/* Adds what a client draws with, as its records are, to a sheet. */
eg_status eg_worker_exhibit(eg_worker *w, int64_t client, const eg_receipt *kept,
                            int64_t committed, struct eg_gallery *to);

/* train.c: all batches of the round. */
eg_status eg_worker_open_train(eg_worker *w);
eg_status eg_worker_train(eg_worker *w);

/* network.c: the programs of `plain`, `looks` and `both`; the loss without the parts' terms,
 * recorded.
 */
eg_status eg_worker_open_network(eg_worker *w);
/* An input of the graph, recorded when it is first asked for: several terms of a loss may want
 * it, or the network in both its forms. */
eg_node *eg_worker_input(eg_graph *g, const char *name, eg_shape shape);
eg_node *eg_worker_plain_loss(eg_worker *w, eg_graph *g, int64_t batch);
/* Bytes that a plan of training takes for so many rows, beside what parts add to it; they are
 * not taken. */
eg_status eg_worker_plan_bytes(eg_worker *w, int64_t rows, size_t *out);

/* train.c. Creates the optimiser that the experiment names. */
eg_status eg_worker_open_optimizer(eg_worker *w);
/* At the beginning of a turn: resets it, or restores what the client kept of it, and sets the
 * round's step size. */
eg_status eg_worker_begin_optimizer(eg_worker *w);
/* Keeps its state as a record of the client when train.optimizer_state is keep. */
eg_status eg_worker_keep_optimizer(eg_worker *w);

/* records.c: where a part's random numbers come from. */
typedef struct eg_part_draw {
    const char *part;
    uint64_t seed, step; /* step: of the client's batches */
    int64_t client, when;
    bool by_stage; /* when is a stage, not a round */
    uint32_t draw; /* below 16: which of the part's */
} eg_part_draw;
eg_rng eg_part_stream(const eg_part_draw *d);

/* samples.c: a round without samples, to be filled; the end of rows that parts made. */
void eg_worker_clear_samples(eg_worker *w);
void eg_worker_free_samples(eg_worker *w);
/* Takes the client's view; whether a sample is of it, and not one that a part added. */
eg_status eg_worker_note_fresh(eg_worker *w);
bool eg_worker_is_fresh(const eg_worker *w, const eg_sample *s);

/* train.c: rows the agreement has the core draw from the memory. */
int64_t eg_worker_joining(const eg_worker *w);      /* that join the next batch */
uint64_t eg_worker_replay_form(const eg_worker *w); /* how many stand apart */
void eg_worker_replay(eg_worker *w, int64_t at);    /* draws them; at: batch rows before */

/* test.c */
eg_status eg_worker_open_test(eg_worker *w);
eg_status eg_worker_test(eg_worker *w, const eg_weights *at, const eg_exam *exam,
                         eg_score *out);
eg_status eg_worker_take_test(eg_worker *w, const eg_turn *turn, eg_reply *out);

/* The model in a record of this name; NULL, and NULL, if there is none. Borrowed like the
 * record. What is not as long as the network's is refused. */
eg_status eg_records_model(eg_records *of, const char *name, const eg_params *like,
                           eg_weights *out);

#endif
