/* class_replay.h - drawn rows of the classes a client has had: what class-replay and pFedGRP
 * share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client has a small generator for every class it has met, and no image of the past. In each
 * round it draws rows of the classes that it lacks, keeps those that its guide takes for the
 * class they are drawn as, and trains on them among the round's own. After training, classes of
 * the round whose generator draws badly train it on the round's images. The guide is the model
 * that the client begins with, or another that it received.
 */
#ifndef EG_CLASS_REPLAY_H
#define EG_CLASS_REPLAY_H

#include <engram/method.h>

typedef enum eg_class_update { EG_UPDATE_NEEDED, EG_UPDATE_ALWAYS } eg_class_update;
typedef enum eg_class_generators { EG_ONE_PER_CLASS, EG_ONE_FOR_ALL } eg_class_generators;

/* The options. A part that has them begins its own with these. */
typedef struct eg_class_replay_opts {
    char generator[EG_OPT_TEXT_SIZE], settings[EG_OPT_TEXT_SIZE];
    int64_t epochs, steps, tries, trial;
    double threshold, lambda;
    bool guided;
    int update;     /* an eg_class_update */
    int generators; /* an eg_class_generators */
} eg_class_replay_opts;

// clang-format off
/* Their rows in a part's table; pull is its default of lambda. */
#define EG_CLASS_REPLAY_OPTS(pull) \
    EG_OPT_TEXT(eg_class_replay_opts, generator, "wgan-gp", "kind of the generators"), \
    EG_OPT_TEXT(eg_class_replay_opts, settings, "", "their options, as \"width=32 batch=16\""), \
    EG_OPT_INT(eg_class_replay_opts, epochs, 200, 1, 1e6, \
               "passes over the images in an update of a generator; 500 for 32x32, 1000 for 64x64"), \
    EG_OPT_INT(eg_class_replay_opts, steps, 0, 0, 1e9, "most steps of an update; 0: as epochs make"), \
    EG_OPT_INT(eg_class_replay_opts, tries, 10, 1, 1000, "most drawings for each that is wanted"), \
    EG_OPT_INT(eg_class_replay_opts, trial, 200, 1, 1e6, "drawings by which a generator is judged"), \
    EG_OPT_REAL(eg_class_replay_opts, threshold, 0.25, 0, 1, \
                "a generator is trained if less of its drawings are taken for its class"), \
    EG_OPT_REAL(eg_class_replay_opts, lambda, pull, 0, 1e6, \
                "weight of the distance from the guide's outputs on drawn rows"), \
    EG_OPT_BOOL(eg_class_replay_opts, guided, true, "use only drawings that the guide takes for their class"), \
    EG_OPT_CHOICE(eg_class_replay_opts, update, 0, "which generators of the round's classes are trained", \
                  "needed|always"), \
    EG_OPT_CHOICE(eg_class_replay_opts, generators, 0, \
                  "one per class; or a single one, trained each round on its own drawings too, whose class " \
                  "the guide says", "class|single")
// clang-format on

/* How many rows of each class to draw. now [classes]: images of this round; ever [classes]: of
 * all rounds, this one included; has [classes]: 0 where there is no generator. What the client
 * has met so far is scaled to the size of a round: so that the class of this round that was
 * seen least before stays as it is, and no class is larger than it. out [classes] */
void eg_class_amounts(int64_t classes, const float *now, const float *ever, const float *has,
                      int64_t *out);

/* n rows of all classes by their shares, which add up to one: out [classes] adds up to n, each
 * within one of its share of them; at, from 0 to 1, says which of them have the broken rows, so
 * that over all `at` each has its share on average, however many classes there are. */
void eg_class_portions(int64_t classes, const float *share, int64_t n, double at, int64_t *out);

/* Who says what a drawing shows: fills logits [n, outputs] of x [n, c, h, w]. Class y is output
 * y times fan. */
typedef struct eg_class_guide {
    eg_status (*look)(void *context, const float *x, int64_t n, float *logits);
    void *context;
    int64_t outputs, fan;
    bool decides; /* false: every drawing is taken */
} eg_class_guide;

/* Drawings that were taken. */
typedef struct eg_class_drawings {
    int64_t n, cap;
    int64_t tried;  /* how many there were before anything was left out */
    float *x;       /* [n, c, h, w] */
    float *labels;  /* [n]: classes */
    float *logits;  /* [n, outputs]: the guide's */
    float *scratch; /* of one run of the generator */
} eg_class_drawings;
void eg_class_drawings_fini(eg_class_drawings *d);

enum { EG_ANY_CLASS = -1 };

/* Draws from a machine, of a class or of any that the guide sees in it, until none is left to
 * be drawn or `tries` times as many were tried. left [classes] counts down. */
typedef struct eg_class_wish {
    eg_generator *m;
    int64_t class, classes, tries;
    int64_t *left;
    const eg_class_guide *guide;
} eg_class_wish;
int64_t eg_class_n_left(const eg_class_wish *w); /* drawings that are left to it */
eg_status eg_class_draw(const eg_class_wish *w, eg_rng *rng, eg_class_drawings *to);

/* The share of n drawings of a class that the guide takes for it. */
eg_status eg_class_trial(eg_generator *m, int64_t class, int64_t n, const eg_class_guide *guide,
                         eg_rng *rng, double *out);

/* The machine of a part on a worker, for images of the network; and what it is made of. */
eg_generator_spec eg_class_spec(const eg_class_replay_opts *o, const eg_net *net);
eg_status eg_class_machine(eg_worker *w, const char *part, const eg_class_replay_opts *o,
                           const eg_net *net, eg_generator **out);

/* "pfedgrp.7": the record of a class's generator, and its prefix there and in bundles; of the
 * single one it is "pfedgrp.all". */
typedef struct eg_class_name {
    char text[64];
} eg_class_name;
eg_class_name eg_class_name_of(const char *part, int64_t class);

/* Gives a machine a class's generator as the client keeps it. The record does not stay in
 * memory: a client has as many as it has met classes. *found: there is one. */
typedef struct eg_class_place {
    eg_client *c;
    const char *part;
    int64_t class;
} eg_class_place;
eg_status eg_class_recall(const eg_class_place *at, eg_generator *m, eg_generator_extent extent,
                          bool *found);
/* Keeps what a machine holds as the class's generator, which does not stay in memory either.
 * *finite: it is; else the one kept before stays. */
eg_status eg_class_keep(const eg_class_place *at, const eg_generator *m, bool *finite);

/* A turn of the client. */
typedef struct eg_class_replay {
    const eg_class_replay_opts *is;
    const char *part;
    eg_weights guide; /* the client's own model as it begins, or another */
    int64_t classes;
    float *now, *ever, *has, *changed; /* [classes]: images of this round and of all; which
                                          classes have a generator, and whose is new */
    int64_t n;                         /* this round's own images: */
    eg_sample *own;                    /* [n], and */
    float *labels;                     /* [n] the classes they are of */
    int64_t first;                     /* the number of the first row added */
    eg_class_drawings drawn;
} eg_class_replay;

eg_status eg_class_replay_setup(const eg_class_replay_opts *o, const eg_setting *in,
                                eg_wishes *out);
/* Whether there can be a machine for the network's images: when a run begins. */
eg_status eg_class_replay_check(const eg_class_replay_opts *o, const eg_net *net);

/* The client's hooks, each in its place; begin is the download's. part must outlive the turn.
 */
eg_status eg_class_replay_begin(eg_class_replay *r, const eg_class_replay_opts *o,
                                const char *part, eg_client *c);
eg_status eg_class_replay_samples(eg_class_replay *r, eg_client *c);
bool eg_class_replay_pulls(const eg_class_replay *r); /* the form of the loss */
eg_node *eg_class_replay_loss(eg_class_replay *r, eg_client *c, eg_graph *g, eg_node *loss);
eg_status eg_class_replay_fill(eg_class_replay *r, eg_client *c);
eg_status eg_class_replay_trained(eg_class_replay *r, eg_client *c);
void eg_class_replay_fini(eg_class_replay *r);

/* class_replay_train.c: the generators' share of the trained hook. */
eg_status eg_class_replay_update(eg_class_replay *r, eg_client *c);

/* The client's model, or the one it received, as a guide. */
typedef struct eg_class_looker {
    eg_client *c;
    eg_weights at;
} eg_class_looker;
eg_class_guide eg_class_guide_of(eg_class_looker *l);

#endif
