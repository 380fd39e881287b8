/* feed.h - the data of a run: tables in memory, one recipe a task, rows into batches.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read-only once opened, so that workers share it.
 */
#ifndef EG_FEED_H
#define EG_FEED_H

#include <engram/graph.h>
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
    int64_t fan;   /* rows of a batch that one becomes, and outputs a class has */
} eg_feed;

eg_status eg_feed_open(const eg_experiment *e, uint64_t seed, const char *data_dir,
                       eg_feed *out);
void eg_feed_close(eg_feed *f);

/* The scenario of the experiment, or of the smaller one that is tried. */
eg_status eg_feed_scenario(const eg_experiment *e, uint64_t seed, const eg_labels *labels,
                           size_t n, eg_scenario **out);

/* The network of the experiment, made for the data; valid as long as e. */
eg_net_spec eg_feed_net(const eg_experiment *e, const eg_feed *f);

/* The outputs of upright images: the first of each class. [n, classes fan] -> [n, classes] */
eg_node *eg_feed_upright(eg_graph *g, eg_node *logits, int64_t fan);

/* EG_EINVAL unless the pixels of rows lie within [-1, 1], as a look at some rows of every
 * source tells. */
eg_status eg_feed_check_pixels(const eg_feed *f);

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

#endif
