/* engram/generator.h - networks that draw images: one file for each kind.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A generator is a machine of one kind, with options, for images of one shape: networks (the
 * first one draws, others help to train it) and the programs that run them. Recalling a bundle
 * changes whose weights it holds, so that one machine of a worker serves every client and every
 * class. It belongs to one thread at a time.
 *
 * Pixels are within [-1, 1]: data has mean 0.5 and std 0.5.
 */
#ifndef EG_GENERATOR_H
#define EG_GENERATOR_H

#include <engram/learner.h>
#include <engram/program.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum { EG_MAX_LEARNERS = 2 };

/* What a generator is made for. options is NULL or a text for eg_opts_set_text: "width=32". */
typedef struct eg_generator_spec {
    const char *kind;
    const char *options;
    int64_t channels, height, width;
    int64_t classes;
    bool draws_only; /* without what training takes: other networks, optimisers */
} eg_generator_spec;

typedef struct eg_generator_kind eg_generator_kind;

typedef struct eg_generator {
    const eg_generator_kind *kind;
    void *self; /* the kind's state, options first */
    int64_t channels, height, width, classes;
    int64_t pixels;  /* of an image: channels height width */
    int64_t n_noise; /* numbers that a drawing is made of, beside its label */
    size_t n_learners;
    eg_learner *learners[EG_MAX_LEARNERS]; /* the first one draws */
    const char *names[EG_MAX_LEARNERS];    /* of each: "generator", "critic" */
    eg_params *drawing;                    /* the first one's table */
    struct eg_shelf *shelf;                /* its programs */
} eg_generator;

/* n images with their classes. */
typedef struct eg_images {
    int64_t n;
    const float *x;      /* [n, channels, height, width] */
    const float *labels; /* [n] */
} eg_images;

struct eg_generator_kind {
    eg_component component;
    bool labelled; /* it draws the class it is told; else all its drawings are alike */
    /* Refuses images it cannot draw, in one sentence without its name; sets n_noise. */
    eg_status (*open)(void *self, eg_generator *m);
    void (*fini)(void *self);
    /* Records images [n, c, h, w] of noise [n, n_noise] and labels [n]; with a draw hook, its
     * network in any form: the table follows from it. */
    eg_node *(*images)(const void *self, const eg_generator *m, eg_graph *g, eg_node *noise,
                       eg_node *labels);
    /* Makes what training needs beside the drawing network (eg_generator_add), and gives every
     * learner its optimiser. */
    eg_status (*prepare)(void *self, eg_generator *m);
    /* Fills x from the labels; NULL: one run of `images` in eval form. */
    eg_status (*draw)(void *self, eg_generator *m, const float *labels, int64_t n, eg_rng *rng,
                      float *x);
    /* Steps on batches from an endless shuffled stream of the images, whole ones alone; what
     * the steps cost on average goes to losses, one for each learner. */
    eg_status (*train)(void *self, eg_generator *m, const eg_images *on, int64_t steps,
                       eg_rng *rng, double losses[EG_MAX_LEARNERS]);
    int64_t (*batch)(const void *self); /* images of one of its steps */
};

extern const eg_generator_kind *const eg_generator_kinds[]; /* NULL at the end */
extern const eg_family eg_generator_family;
const eg_generator_kind *eg_generator_find(const char *word); /* as eg_family_find */

/* A machine with weights of zero. EG_ENOENT: no such kind; EG_ESHAPE: it cannot draw such
 * images. */
eg_status eg_generator_new(const eg_generator_spec *spec, eg_generator **out);
void eg_generator_free(eg_generator *m); /* NULL is fine */

/* New weights for all its networks, and optimisers as new. */
void eg_generator_init(eg_generator *m, uint64_t seed);

/* Draws n images: x [n, channels, height, width], each a function of the weights, its label and
 * its numbers of the stream alone, however many are drawn with it. labels [n] */
eg_status eg_generator_draw(eg_generator *m, const float *labels, int64_t n, eg_rng *rng,
                            float *x);

/* The same of one class; below 0: of none that it is told. */
eg_status eg_generator_draw_class(eg_generator *m, int64_t label, int64_t n, eg_rng *rng,
                                  float *x);

/* The same in training form: all n are one batch, whose statistics count and move. EG_ENOTSUP:
 * it draws step by step. */
eg_status eg_generator_draw_batch(eg_generator *m, const float *labels, int64_t n, eg_rng *rng,
                                  float *x);

/* Trains it on images of its own. EG_EINVAL: there are fewer than one batch, or it diverges. */
eg_status eg_generator_train(eg_generator *m, const eg_images *on, int64_t steps, eg_rng *rng,
                             double losses[EG_MAX_LEARNERS]);

/* A loss on its drawings, and a network that the loss uses as it is. */
typedef struct eg_lesson {
    const char *key; /* names the program: "fedcil.lesson" */
    eg_node *(*loss)(void *context, eg_graph *g, eg_node *images, eg_node *labels);
    void *context;
    const eg_params *table; /* NULL: it uses none */
    float *param, *state;
    double pull; /* the gradient gains pull times the way from anchor [n_params]; 0: nothing */
    const float *anchor;
} eg_lesson;

/* One step of the drawing network along the gradient of a lesson's loss on n drawings; *loss
 * may be NULL. EG_ENOTSUP as above. labels [n] */
eg_status eg_generator_teach(eg_generator *m, const eg_lesson *lesson, const float *labels,
                             int64_t n, eg_rng *rng, double *loss);

/* Into a bundle and back, every name with a prefix: the drawing network alone, or all there is
 * to go on training. *found: it was there whole. */
typedef enum eg_generator_extent { EG_DRAWING_ALONE, EG_WHOLE_GENERATOR } eg_generator_extent;
eg_status eg_generator_keep(const eg_generator *m, const char *prefix,
                            eg_generator_extent extent, eg_bundle *to);
eg_status eg_generator_recall(eg_generator *m, const char *prefix, eg_generator_extent extent,
                              const eg_bundle *from, bool *found);

/* For kinds: one more network, which the machine owns; and a program by a key. */
eg_status eg_generator_add(eg_generator *m, const char *name, const eg_params *table);
eg_status eg_generator_program(eg_generator *m, const char *key, eg_recorder record,
                               void *context, eg_program **out);
/* Standard normal numbers. */
void eg_noise_fill(eg_rng *rng, int64_t n, float *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
