/* engram/experiment.h - experiment files: data, model, scenario, settings, runs to compare.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An experiment file (YAML) describes data, model, scenario and settings once, and lists runs:
 * labels with the methods to compare. An eg_experiment is one of its runs, resolved. Neither
 * changes once made, and threads may share them.
 */
#ifndef EG_PUBLIC_EXPERIMENT_H
#define EG_PUBLIC_EXPERIMENT_H

#include <engram/data.h>
#include <engram/model.h>
#include <engram/scenario.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_experiment_file eg_experiment_file;
typedef struct eg_experiment eg_experiment;

/* A figure from a paper, shown beside ours. Accuracies are fractions, as in summary.json. */
typedef struct eg_published {
    const char *label;  /* of the runs it stands beside */
    const char *metric; /* a column of the table: acc_final, aia, forgetting, bwt, ... */
    double mean, sd;    /* sd is negative if the paper gives none */
    const char *name;   /* of the runs' experiment; NULL: of any */
} eg_published;

/* Reads a file once, loads the plugins it names, and checks its list of runs; the settings are
 * checked when a run is resolved. Whatever is wrong is one sentence with file, line and column.
 * EG_ENOENT: there is no such file, or it has no `runs:`, so it describes no experiment. */
eg_status eg_experiment_file_open(const char *path, eg_experiment_file **out);
/* The same from a text, but plugins are not loaded; name stands in its place in messages. */
eg_status eg_experiment_parse(const char *name, const char *text, eg_experiment_file **out);
void eg_experiment_file_free(eg_experiment_file *f); /* NULL is fine */

/* What a file holds, borrowed until it is freed: its path or name; the labels of its runs in
 * order, none twice, NULL past the last; the figures in them (published: {metric: [mean, sd]},
 * in percent as papers print them). */
const char *eg_experiment_file_name(const eg_experiment_file *f);
const char *eg_experiment_file_label(const eg_experiment_file *f, size_t i);
const eg_published *eg_experiment_file_published(const eg_experiment_file *f, size_t *n);

/* How a file says that its runs are carried out, if a call does not say otherwise: texts are ""
 * and numbers 0 where it says nothing. No result depends on it. */
enum { EG_SAYS_SIZE = 512, EG_MOST_WORKERS = 64 };
typedef struct eg_file_says {
    char seeds[EG_SAYS_SIZE]; /* "0..4" */
    char out[EG_SAYS_SIZE];   /* where run folders go */
    int64_t workers, threads;
} eg_file_says;
const eg_file_says *eg_experiment_file_says(const eg_experiment_file *f);

/* Runs, resolved: a label (NULL: the first), then n overrides "key=value". A setting with
 * several values, "optimizer.lr=0.1,0.01" or `sweep:` in the file, makes a run for each,
 * several such settings one for each combination; then a label stands for all of its runs, and
 * "fedavg optimizer.lr=0.1" for one. EG_ENOENT: there is no such label. What is resolved does
 * not need the file any more; free it with eg_experiments_free. */
typedef struct eg_experiments {
    size_t n;
    eg_experiment **list; /* [n], ordered by the values of the settings */
} eg_experiments;
eg_status eg_experiment_file_sweep(const eg_experiment_file *f, const char *label, size_t n,
                                   const char *const *overrides, eg_experiments *out);
void eg_experiments_free(eg_experiments *e);

/* The same where one run is wanted. EG_EINVAL: the label stands for several. */
eg_status eg_experiment_file_resolve(const eg_experiment_file *f, const char *label, size_t n,
                                     const char *const *overrides, eg_experiment **out);

/* The same for one run of a file that nothing else is wanted of. */
eg_status eg_experiment_load(const char *path, const char *label, size_t n,
                             const char *const *overrides, eg_experiment **out);
void eg_experiment_free(eg_experiment *e); /* NULL is fine */

/* The setting that a name known from PyTorch, Flower or Mammoth means here: "train.batch" for
 * "batch_size"; NULL: there is none. Of a name with dots the last part counts. */
const char *eg_setting_meant(const char *word);

/* The file's sections whose settings no component owns, each as one. */
extern const eg_family eg_setting_family;

const char *eg_experiment_name(const eg_experiment *e);
const char *eg_experiment_label(const eg_experiment *e);
bool eg_experiment_has_part(const eg_experiment *e, const char *name); /* of its method */
const char *eg_experiment_text(const eg_experiment *e);   /* resolved, as config.yaml */
const char *eg_experiment_sha256(const eg_experiment *e); /* of the text */

/* The experiment and the seed of a run folder, to go on with (eg_run_how.folder). EG_ENOENT: it
 * is no run's; EG_EINVAL: the run is finished; EG_EFORMAT: its config.yaml was changed. */
eg_status eg_experiment_of_folder(const char *folder, eg_experiment **out, uint64_t *seed);
/* The same, whether it is finished or not. */
eg_status eg_experiment_of_run(const char *folder, eg_experiment **out, uint64_t *seed);

/* The run's network, for its own data (which must be there, as in data_dir), or for the input
 * and the classes of made_for if that is not NULL. Free with eg_net_free. */
eg_status eg_experiment_net(const eg_experiment *e, const char *data_dir,
                            const eg_net_spec *made_for, eg_net **out);

enum { EG_PREVIEW_SOURCES = 16 };

/* Who sees what in a run. Free with eg_preview_fini. */
typedef struct eg_preview {
    size_t n;                              /* data sources */
    const char *names[EG_PREVIEW_SOURCES]; /* of the data sets */
    eg_labels labels[EG_PREVIEW_SOURCES];  /* as the run uses them: shares are taken */
    bool published[EG_PREVIEW_SOURCES];    /* published counts, not the data's own labels */
    eg_scenario *scenario;
} eg_preview;

/* What a run with this seed would see. Unless real, published counts stand for data sets that
 * have any and whose options are not set, so that it can be looked at without the data. */
eg_status eg_experiment_preview(const eg_experiment *e, uint64_t seed, bool real,
                                eg_preview *out);
void eg_preview_fini(eg_preview *p);

/* The labels of a data set with its options (NULL: as it has them), a share of each class's.
 * Free with eg_labels_free. */
eg_status eg_labels_load(const eg_dataset *set, const void *options, const eg_origin *from,
                         double share, eg_labels *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
