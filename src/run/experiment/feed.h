/* feed.h - the data of a run: tables in memory, one recipe per task, rows into batches.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read-only once opened, so that workers share it.
 */
#ifndef EG_FEED_H
#define EG_FEED_H

#include <engram/target.h>
#include <engram/transform.h>

#include "run/experiment/experiment.h"

typedef struct eg_feed {
    size_t n_sources;
    eg_table train[EG_MAX_SOURCES], test[EG_MAX_SOURCES];
    eg_labels labels[EG_MAX_SOURCES];
    eg_scenario *scenario;
    int64_t n_tasks;
    eg_recipe **learn, **judge; /* [n_tasks]: with and without random changes */
    eg_recipe *change;          /* random changes alone, of rows that a part made */
    int64_t channels, height, width;
    size_t sample; /* floats of one */
    eg_norm norm;  /* of data.normalize */
    int64_t fan;   /* rows of a batch that one becomes, and outputs a class has */
    eg_aim aim;    /* what outputs are held to */
} eg_feed;

eg_status eg_feed_open(const eg_experiment *e, uint64_t seed, const char *data_dir,
                       eg_feed *out);
/* The same from an origin; own data are looked for beside the experiment's file too. */
eg_status eg_feed_load(const eg_experiment *e, const eg_origin *from, eg_feed *out);
void eg_feed_close(eg_feed *f);

/* The scenario of the experiment, or of the smaller one that is tried. */
eg_status eg_feed_scenario(const eg_experiment *e, uint64_t seed, const eg_labels *labels,
                           size_t n, eg_scenario **out);

/* The network of the experiment, made for the data; valid as long as e. */
eg_net_spec eg_feed_net(const eg_experiment *e, const eg_feed *f);

/* What the scenario's classes are called, [n_classes]; NULL: its data do not say. */
const char *const *eg_feed_names(const eg_feed *f);

/* The outputs of upright images: the first of each class. [n, classes fan] -> [n, classes] */
eg_node *eg_feed_upright(eg_graph *g, eg_node *logits, int64_t fan);

/* Fills the rows of a training batch, fan for each sample; rng serves crops, flips and cutouts.
 * Without one (NULL) samples come upright and without these, one row each. */
void eg_feed_train(const eg_feed *f, const eg_sample *samples, int64_t n, eg_rng *rng, float *x,
                   float *labels);
/* The same for row `id` of a table that a part made: floats as the network is fed them. */
void eg_feed_row(const eg_feed *f, const eg_table *rows, int64_t id, eg_rng *rng, float *x,
                 float *labels);
/* Fills rows of samples held out of training (eg_scenario_validation), as tests are filled. */
void eg_feed_validation(const eg_feed *f, int64_t task, const int64_t *ids, int64_t n, float *x,
                        int32_t *labels);
/* Fills test rows of one task. */
void eg_feed_test(const eg_feed *f, int64_t task, const int64_t *ids, int64_t n, float *x,
                  int32_t *labels);

/* The table that a task's tests, or those of what was held out, take samples of. */
const eg_table *eg_feed_tested(const eg_feed *f, int64_t task, bool held_out);

/* Measures mean and deviation of every channel of n tables of one shape, bytes as shares of
 * 255; where all values are alike the deviation is 1. Release with eg_norm_fini. */
eg_status eg_norm_measure(const eg_table *tables, size_t n, eg_norm *out);
void eg_norm_fini(eg_norm *norm);

/* The means and deviations of the data's options, into a transform. */
eg_status eg_experiment_norm(const eg_data_opts *o, eg_transform *how);

/* Keeps that share of each class's rows, at least one, evenly spread over the table. */
eg_status eg_scale_table(eg_table *t, double share);

/* The spec with its rounds, and the samples it counts, multiplied; at least 1 each. Where the
 * number of rounds follows from the data, they are those of the labels, multiplied. Free with
 * eg_spec_free. */
eg_status eg_scale_spec(const eg_spec *spec, double share, const eg_labels *sources,
                        size_t n_sources, eg_spec **out);

/* Opens the run's data and scenario, asks its parts for their wishes, and makes its network. On
 * failure what was opened is still the caller's to close: eg_feed_close, eg_net_free. */
eg_status eg_experiment_equip(const eg_experiment *e, const eg_origin *from, eg_feed *feed,
                              eg_agreement *agreed, eg_net **net);

/* Lets a run with a frozen transformer begin at its features, from the cache or computed on so
 * many threads, unless something stands against it, which is said: the tables hold them then,
 * and net begins there. Before there are workers. */
typedef struct eg_features_how {
    int threads;
    float *value, *state; /* of the model the run starts from */
    void (*say)(void *context, const char *sentence);
    void *context;
} eg_features_how;
eg_status eg_feed_encode(const eg_experiment *e, const eg_agreement *agreed,
                         const eg_features_how *how, eg_feed *f, eg_net *net);
/* The tables hold features: rows are as they stand there. */
eg_status eg_feed_plain(eg_feed *f);

/* Fills both arrays; state may be NULL if the net has none. left: a sentence on the tensors of
 * the file that were left out, "" without any. */
enum { EG_LEFT_SIZE = 600 };
eg_status eg_start_fill(const eg_start_opts *o, const eg_net *net, uint64_t seed, float *value,
                        float *state, char left[EG_LEFT_SIZE]);

/* What the bits of a run follow from, beside its settings and its seed: the data as they were
 * loaded and prepared, the instruction set, the program. A run that goes on elsewhere or later,
 * and processes that work on one run together, compare these. */
typedef struct eg_fingerprint {
    char labels[17]; /* checksum of labels and owners of all samples, 16 hexadecimal digits */
    char pixels[17]; /* of shapes and values */
    const char *isa, *version, *commit; /* "": it is not known */
} eg_fingerprint;

/* That of this program with these data. One pass over the tables, 2 GB per second. */
void eg_fingerprint_take(const eg_feed *f, eg_fingerprint *out);

/* EG_OK if both are the same as far as both are known. EG_EINVAL: one sentence that names all
 * that differ, "the pixels are others (1f.. then, 2e.. now), ...". */
eg_status eg_fingerprint_compare(const eg_fingerprint *then, const eg_fingerprint *now);

#endif
