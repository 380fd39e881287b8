/* encoder.h - what an encoder is made of, and the file in which it is kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ENCODER_H
#define EG_ENCODER_H

#include <engram/pretrain.h>
#include <engram/trainer.h>
#include <engram/transform.h>

#include "run/experiment/experiment.h"

typedef struct eg_encoder {
    const eg_pretrain_opts *opts;
    eg_net *net;       /* the run's, with an output for each class of fractals */
    int64_t images;    /* of an epoch; fewer if the experiment is only tried */
    eg_transform norm; /* the run's means and deviations */
    char *key;         /* all that it is a function of, as a text */
    char path[EG_PRETRAIN_PATH];
} eg_encoder;

/* The encoder for a run's network; as_run: what that is made for. Makes the folder. EG_EINVAL:
 * the run has none, its head has too few rows, or fractals cannot have its channels. */
eg_status eg_encoder_init(const eg_experiment *e, const eg_net_spec *as_run, eg_encoder *out);
void eg_encoder_fini(eg_encoder *c);

/* Checks all of the file: what it is of, every tensor, the digest. EG_ENOENT: there is none. */
eg_status eg_encoder_check(const eg_encoder *c, eg_pretrained *out);
eg_status eg_encoder_write(const eg_encoder *c, const float *value, const float *state,
                           double accuracy);

/* Fractals by number, in the size, channels and normalisation of the run. */
typedef struct eg_drawing {
    const eg_encoder *of;
    eg_split split;
    eg_fractals *fractals;
    int64_t size;         /* they are drawn square, then scaled */
    const int64_t *order; /* sample i is image order[i]; NULL: image i */
    eg_recipe *recipe;
    int64_t *rows; /* [most]: 0, 1, 2, ... */
} eg_drawing;

/* most: samples that are asked for at once. */
eg_status eg_drawing_init(const eg_encoder *of, eg_split split, int64_t most, eg_drawing *out);
void eg_drawing_fini(eg_drawing *d);
eg_status eg_drawing_fill(void *drawing, int64_t first, int64_t count, float *x, float *labels);

/* The same as eg_pretrain, for a run whose data are open already. */
eg_status eg_pretrain_for(const eg_experiment *e, const eg_net_spec *as_run,
                          const eg_pretrain_how *how, eg_pretrained *out);

#endif
