/* engram/pretrain.h - the encoder that runs start from: learned from generated fractals.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An experiment's section `pretrain` has its network learn to tell fractals apart before the
 * first round (Shenaj et al., 2023, arXiv:2304.03626, Section 4.1). The result is a function of
 * that section, the network, the form of the images, the instruction set and the version, not
 * of a run's seed: it is made once and kept in a file, in the folder ENGRAM_CACHE, else
 * ~/.cache/engram. One thread at a time; processes that want the same one wait for each other.
 */
#ifndef EG_PUBLIC_PRETRAIN_H
#define EG_PUBLIC_PRETRAIN_H

#include <engram/experiment.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_pretraining {
    int64_t batch, n_batches; /* done, of all epochs */
    double loss;              /* of the last batch */
    double seconds;           /* since the start */
    bool waiting;             /* another process makes it */
} eg_pretraining;

/* How it is carried out. Both functions may be NULL. */
typedef struct eg_pretrain_how {
    const char *data_dir; /* NULL: ENGRAM_DATA; the run's data tell the size of images */
    bool (*progress)(void *context, const eg_pretraining *p); /* false: stop, and fail */
    void (*say)(void *context, const char *sentence); /* that a kept one is no good, and why */
    void *context;
} eg_pretrain_how;

enum { EG_PRETRAIN_PATH = 1024 };

typedef struct eg_pretrained {
    char path[EG_PRETRAIN_PATH]; /* safetensors, with as many outputs as classes of fractals */
    char sha256[65];             /* of its values */
    bool found;                  /* it was there */
    double accuracy;             /* on fractals that it was not trained on */
} eg_pretrained;

/* Whether a run has pre-training. */
bool eg_experiment_pretrains(const eg_experiment *e);

/* Finds or makes the encoder of a run. EG_EINVAL: the run has none, pretrain.epochs is 0. */
eg_status eg_pretrain(const eg_experiment *e, const eg_pretrain_how *how, eg_pretrained *out);

/* What a linear layer learns of a data set from features that do not change: those of the
 * encoder, and of the same network as it was drawn. Accuracies are on the test set. */
typedef struct eg_probe {
    int64_t n_train, n_test, classes;
    double pretrained, drawn;
} eg_probe;

/* Of the run's own data set of this name its options and share hold, else the usual ones;
 * images are brought to the network's size and normalised as the run's. */
eg_status eg_pretrain_probe(const eg_experiment *e, const eg_pretrain_how *how,
                            const eg_pretrained *encoder, const eg_dataset *set, eg_probe *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
