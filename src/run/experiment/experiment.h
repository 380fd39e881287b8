/* experiment.h - an experiment file, resolved: everything a run is a function of, but its seed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every setting goes through one setter, "optimizer.lr" = "0.1", whether it comes from the
 * file, from a run's overrides or from --set.
 */
#ifndef EG_EXPERIMENT_H
#define EG_EXPERIMENT_H

#include <engram/experiment.h>
#include <engram/optim.h>

#include "base/base.h"
#include "engine/model/layers_text.h"
#include "engine/optim/server.h"
#include "method/chain.h"
#include "method/robust.h"
#include "run/experiment/says.h"

/* The names of folders are made of an experiment's name and a label: they may not be long. */
enum { EG_MAX_SOURCES = 16, EG_LABEL_SIZE = 256, EG_FOLDER_SIZE = 1024 };

/* Of "all|seen|client|task". */
typedef enum eg_classes {
    EG_CLASSES_ALL,
    EG_CLASSES_SEEN,
    EG_CLASSES_CLIENT,
    EG_CLASSES_TASK
} eg_classes;

typedef struct eg_server_opts {
    int weights; /* of "samples|uniform" */
    int bn;      /* of "average|keep" */
    eg_robust_opts mean;
    eg_server_optimizer_opts optimizer;
    int64_t min_clients;
    int64_t interval;  /* rounds from one download to the next */
    double max_change; /* of an upload, in lengths of the model; 0: any */
    int late;          /* of "drop|buffer" */
} eg_server_opts;

/* Of "task|round", as a count keeps them. */
enum { EG_EVERY_TASK = 0, EG_EVERY_ROUND = -1 };

typedef struct eg_eval_opts {
    int64_t every; /* rounds from one point of the curve to the next, or a word */
    int classes;   /* eg_classes: the answers a model may give */
    int64_t samples;
    int64_t top;      /* an answer is right among so many of the likeliest */
    int64_t patience; /* points of the curve without a better validation; 0: any number */
    bool local;       /* clients test what they upload at task ends */
} eg_eval_opts;

typedef struct eg_memory_opts {
    int kind; /* eg_memory_kind */
    int64_t size;
    int insert; /* of "always|once" */
} eg_memory_opts;

/* Of "none|plain|masked": what the server learns of answers: each; their sum, of whole numbers
 * that come one by one; their sum alone. */
typedef enum eg_sums { EG_SUMS_OPEN, EG_SUMS_PLAIN, EG_SUMS_MASKED } eg_sums;

typedef struct eg_secure_opts {
    int kind; /* eg_sums */
    double range, statistics;
    int64_t samples; /* the most a client counts for; 0: the most that one is dealt */
} eg_secure_opts;

enum { EG_DP_SAMPLED, EG_DP_FTRL };

/* Differential privacy; sigma 0: none. */
typedef struct eg_dp_opts {
    int kind; /* of "sampled|ftrl" */
    double clip, exchange_clip, sigma, delta, epsilon;
    int noise; /* of "system|seeded" */
    bool adaptive;
    double quantile, rate; /* of adaptive */
    int64_t separation;    /* of ftrl */
} eg_dp_opts;

/* How images are prepared, beside what the data set's own options say. */
typedef struct eg_data_opts {
    double share;           /* of every class's images that are used */
    double validation;      /* of each client's images, held out of training */
    int64_t size, channels; /* 0: as they are */
    eg_opt_list mean, std;  /* of normalisation: one for all channels, or one for each */
    bool normalize;         /* both are measured instead */
    int64_t crop, cutout;
    bool flip;
} eg_data_opts;

/* The optimiser of the clients, with its options as set. */
typedef struct eg_optimizer_opts {
    const eg_optim *kind;
    void *options; /* the kind's component's */
} eg_optimizer_opts;

/* The first values of the global model. */
typedef struct eg_start_opts {
    char weights[EG_OPT_TEXT_SIZE]; /* a safetensors file; "": drawn by the seed */
    char weights_sha256[EG_OPT_TEXT_SIZE];
    bool strict;                  /* a tensor of it that the network lacks is an error */
    int head;                     /* eg_take, of "keep|fresh|rows" */
    char train[EG_OPT_TEXT_SIZE]; /* as eg_net_freeze takes it */
    int features;                 /* of "once|each" */
} eg_start_opts;

/* Of "rows|fresh". */
/* Where a file of weights is: as it is named, or in the data folder's weights/. */
enum { EG_WEIGHTS_PATH = 1024 };
void eg_weights_find(const char *name, char out[EG_WEIGHTS_PATH]);

typedef enum eg_pretrain_head { EG_PRETRAIN_ROWS, EG_PRETRAIN_FRESH } eg_pretrain_head;

/* What the network learns from fractals before the first round. */
typedef struct eg_pretrain_opts {
    int64_t epochs; /* 0: nothing */
    int64_t classes, images, points, batch;
    double lr, weight_decay, temperature;
    int64_t seed; /* its own: all seeds of a run start from one encoder */
    int head;     /* eg_pretrain_head: what becomes of it */
} eg_pretrain_opts;

struct eg_experiment {
    char name[EG_LABEL_SIZE], label[EG_LABEL_SIZE];
    const eg_model *model;
    void *model_options; /* model->size bytes */
    eg_start_opts start;
    double scale;                  /* the share of rounds and rows that is used */
    char folder[EG_FOLDER_SIZE];   /* of its file, absolute; "": it has none */
    char plugins[EG_PLUGINS_SIZE]; /* that the file names, a line each */
    char bound[EG_OPT_TEXT_SIZE];  /* the label of the run that regret compares with */
    eg_spec *spec;
    size_t n_sources;
    const eg_dataset *sets[EG_MAX_SOURCES];
    void *set_options[EG_MAX_SOURCES];
    eg_data_opts data;
    eg_memory_opts memory;
    eg_optimizer_opts optimizer;
    eg_train_opts train;
    eg_schedule schedule;
    eg_server_opts server;
    eg_secure_opts secure;
    eg_dp_opts dp;
    eg_eval_opts eval;
    eg_pretrain_opts pretrain;
    eg_parts parts;
    eg_marks layers; /* where its list of layers was read; n 0: unknown */
    char layers_file[EG_OPT_TEXT_SIZE];
    eg_mark layers_at[EG_MAX_LAYERS];
    char *resolved; /* the text that config.yaml holds */
    char sha256[65];
};

/* Whether the server learns sums of answers alone. */
bool eg_experiment_hides(const eg_experiment *e);

/* private.c: what excludes secure and dp, one sentence; what only the scenario tells. */
eg_status eg_private_check(const eg_experiment *e);
eg_status eg_private_check_scenario(const eg_experiment *e, const eg_scenario *s,
                                    const eg_net *net);

/* late.c: whether answers that come too late count later; what excludes that. */
bool eg_experiment_waits_late(const eg_experiment *e);
eg_status eg_late_check(const eg_experiment *e);

/* What its parts are told in setup; scenario NULL: it is not known yet. */
eg_setting eg_experiment_setting(const eg_experiment *e, const eg_scenario *scenario);

/* The kind of its data's targets. */
const eg_target *eg_experiment_target(const eg_experiment *e);

/* The step size in a round as a share of lr. `scale` shrinks the schedule with the rounds. */
double eg_experiment_rate(const eg_experiment *e, int64_t round, int64_t n_rounds);

/* Means and deviations that were measured, of each channel; n 0: none were. */
typedef struct eg_norm {
    int64_t n;
    double *mean, *std; /* [n] */
} eg_norm;

/* Writes a run's model with its notes (<engram/saved.h> reads it), and what the answers of one
 * of its parts know. */
struct eg_feed;
eg_status eg_saved_write(const eg_experiment *e, const struct eg_feed *feed, const eg_net *net,
                         uint64_t seed, const char *path, const float *value,
                         const float *state, const eg_bundle *known);

/* What a saved model that looks for boxes is held to; NULL: it tells classes. */
struct eg_saved;
const struct eg_aim *eg_saved_aim(const struct eg_saved *s);

/* Calls visit with what a saved model puts out for rows of t, in order; rows NULL: for all of
 * them. t is brought to the network's input. logits: [eg_saved_n_classes], or all outputs of
 * one that looks for boxes, until visit returns. */
typedef eg_status (*eg_saved_visit)(void *to, int64_t row, const float *logits);
eg_status eg_saved_each(struct eg_saved *s, eg_table *t, const int64_t *rows, int64_t n,
                        eg_saved_visit visit, void *to);

#endif
