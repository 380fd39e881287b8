/* data_free.h - what TARGET, MFCL and LANDER share: a server that draws the past by itself.
 * SPDX-License-Identifier: Apache-2.0
 *
 * When a period ends (a common task, or each round) the server makes a legacy of the global
 * model as it is then, without anybody's data: drawings, or what draws. Each client is brought
 * it once and keeps it. Clients tell which classes they have, so that the server knows what can
 * be drawn.
 *
 * A legacy is a bundle. Its names begin with "<part>.drawn.", those of the model of then with
 * "<part>.model."; the latter travels only where the client's download has another model.
 */
#ifndef EG_DATA_FREE_H
#define EG_DATA_FREE_H

#include <engram/method.h>
#include <engram/network.h>

enum { EG_BY_TASK, EG_BY_ROUND };

/* The options of all three; each names those it has. */
typedef struct eg_data_free {
    int boundary; /* EG_BY_TASK, EG_BY_ROUND */
    /* The server's generator: its noise and width; batches that are drawn, or rounds of them,
     * each of steps of Adam. */
    int64_t noise, width, batch, rounds, steps;
    double lr;
    double statistics, sure, even, smooth; /* weights of its losses */
    double sharpness;                      /* what outputs are divided by where it is sure */
    /* A student that learns from the drawings, and that new ones are to be hard for. */
    int64_t warmup, lessons;
    double contrast, lesson_lr, lesson_temperature;
    /* Clients: drawn rows beside a batch, 0: as many as it has; and what these weigh. */
    int64_t replay;
    double distil, temperature, head;
    double anchor, bound; /* LANDER's pull to label embeddings, outside this distance */
    char embeddings[EG_OPT_TEXT_SIZE];
    int64_t dimensions;
} eg_data_free;

/* "<part>.<what>" */
typedef struct eg_data_free_name {
    char text[96];
} eg_data_free_name;
eg_data_free_name eg_data_free_named(const char *part, const char *what);

/* What all three wish and refuse. */
eg_status eg_data_free_setup(const void *options, const eg_setting *in, eg_wishes *out);

/* In the download hook of training: the legacy that the client has now; NULL: none yet. */
eg_status eg_data_free_receive(eg_client *c, const eg_bundle *from, const eg_bundle **legacy);
/* The answer hook: "<part>.has" [classes]. */
eg_status eg_data_free_answer(void *self, eg_client *c, int exchange, eg_bundle *to);

/* The server's half: a struct of the options and what it keeps. The part's work hook fills the
 * legacy that eg_data_free_ask describes; whether it has the model is the part's to say. */
typedef struct eg_data_free_server {
    eg_data_free is;
    int64_t period, version; /* of the last round; how many legacies there were */
    float *has;              /* [n_clients]: the version each has */
    float *met;              /* [classes]: 1 for those that some client has had */
} eg_data_free_server;
void eg_data_free_fini(void *self);
eg_status eg_data_free_begin(void *self, eg_server *s);
eg_status eg_data_free_send(void *self, eg_server *s, int exchange, eg_bundle *to);
eg_status eg_data_free_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to);
eg_status eg_data_free_accept(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from);
eg_status eg_data_free_collect(void *self, eg_server *s, int exchange, int64_t client,
                               const eg_bundle *from);
eg_status eg_data_free_save(void *self, eg_server *s);
#define EG_DATA_FREE_SERVER(make)                                                              \
    {                                                                                          \
        .size = sizeof(eg_data_free_server), .fini = eg_data_free_fini,                        \
        .begin = eg_data_free_begin, .send = eg_data_free_send,                                \
        .send_one = eg_data_free_send_one, .accept = eg_data_free_accept,                      \
        .collect = eg_data_free_collect, .work = make, .save = eg_data_free_save               \
    }

/* What the work hook is asked: the model of now, the classes met, and the last legacy below. */
typedef struct eg_data_free_task {
    const eg_data_free *is;
    const eg_piece *piece;
    eg_weights at;    /* the model */
    const float *met; /* [classes] */
    int64_t n_met, classes;
} eg_data_free_task;
eg_status eg_data_free_ask(const void *options, const eg_piece *piece, eg_data_free_task *out);
/* A class that was met, uniformly. */
int64_t eg_data_free_class(const eg_data_free_task *t, eg_rng *rng);
/* open [classes]: 0 for classes of the mask, else so low that a softmax closes the output. */
void eg_open_classes(const float *mask, int64_t classes, float *open);

/* Draws in the three hooks' streams below these numbers are theirs. */
enum { EG_DATA_FREE_NOISE, EG_DATA_FREE_LABELS, EG_DATA_FREE_LESSONS, EG_DATA_FREE_REPLAY };

/* Records the loss without its plain cross entropy, with that over the classes of the client's
 * stage in its place, whoever has them; rows of other classes, which another part replays, see
 * all. The input "<part>.open" is filled by eg_new_classes_fill. */
eg_node *eg_new_classes_loss(eg_client *c, eg_graph *g, eg_node *loss);
void eg_new_classes_fill(eg_client *c);

/* mask [classes]: 1 for those of the client's stage, whoever has them. */
void eg_stage_classes(const eg_client *c, float *mask);

/* Of n rows x [n, pixels] and what belongs to them, [n, d] each: draws rows for the batch into
 * the named inputs of its plan. The same ones for all names. */
typedef struct eg_drawn_rows {
    const char *input;
    const float *values; /* [n, d] */
    int64_t d;
} eg_drawn_rows;
void eg_data_free_replay(eg_client *c, int64_t rows, int64_t n, size_t n_tensors,
                         const eg_drawn_rows *tensors);
/* Rows that stand beside a batch. */
int64_t eg_data_free_rows(const eg_data_free *is, const eg_client *c);

#endif
