/* engram/report.h - runs, looked at and compared: one HTML page, or one table.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both stand on the events in run folders (engram/log.h). Runs of one experiment
 * with the same label and the same settings are seeds of each other and are shown as mean and
 * sample standard deviation; of those with other settings it is said which differ. Errors name
 * the file, and in metrics.jsonl the line. Any thread may call these.
 */
#ifndef EG_REPORT_H
#define EG_REPORT_H

#include <engram/fed.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_compare_form {
    EG_COMPARE_TEXT,     /* columns for a terminal */
    EG_COMPARE_MARKDOWN, /* the same cells as a Markdown table */
    EG_COMPARE_LATEX,    /* the same cells as a tabular with the rules of booktabs */
    EG_COMPARE_CSV,      /* fractions, bytes and seconds, unrounded */
    EG_COMPARE_JSON,     /* the same */
} eg_compare_form;

typedef struct eg_compare_how {
    eg_compare_form form;
    const char *sort; /* a value of the summary (the best first), "label" or "seeds"; NULL: in
                       * the order of the runs */
    const char *against; /* the label that the others of its experiment are held against; NULL:
                          * its first run, or of a sweep the best by validation, if another one
                          * shares two seeds with it */
    const char *without; /* instead: a part of methods; each row with it is held against the one
                          * without it, so that differences are what the part gains */
    const char *columns; /* values of the summary that are shown beside the usual ones, with
                          * commas between: "flops_clients,server_seconds"; NULL: none */
    bool published;      /* only figures that a paper gives too, each beside it */
    int width;   /* of the terminal: columns that do not fit are left out; 0: all stay */
    bool colour; /* the terminal understands escape sequences */
} eg_compare_how;

/* Whether there are such columns, to sort by and to show: EG_EINVAL if not. */
eg_status eg_compare_check(const eg_compare_how *how);

/* Whether a paper's figure is for runs of a label: its own, or that of the sweep which the
 * label is of ("er" of "er optimizer.lr=0.1"). */
bool eg_published_fits(const eg_published *p, const char *label);

/* Whether there will be something to hold the others against (its fields against and without)
 * once these experiments have runs beside those in the folders: EG_EINVAL if not, so that it
 * shows before anything trains. */
eg_status eg_compare_foresee(const eg_compare_how *how, const char *const *run_dirs,
                             size_t n_dirs, const eg_experiment *const *runs, size_t n);

/* Writes one self-contained page about n runs, at least one. An unfinished run is shown as far
 * as it has got. published may be NULL. Its table is sorted, held against a row and has columns
 * as `how` says, so that it shows what eg_compare_print prints; the other fields do not matter,
 * and NULL is the usual table. EG_EINVAL: a configuration has a seed twice, a published figure
 * has no column in the table, or there is no column to sort by or no such label. */
eg_status eg_report_write(const char *const *run_dirs, size_t n, const eg_published *published,
                          size_t n_published, const eg_compare_how *how, const char *out_path);

/* The operator's page of a server for devices, for eg_listen.page; free() *out. It shows what
 * the server tells it, live. */
eg_status eg_report_desk(char **out);

/* Writes one chart of the page about n runs as an SVG file that stands alone, for light and
 * dark pages: "compare", "accuracy", ... EG_EINVAL names those there are. */
eg_status eg_report_chart(const char *const *run_dirs, size_t n, const char *chart,
                          const char *out_path);

/* Prints one row per label with the mean over its seeds of acc_final, acc_task_il, aia,
 * forgetting, bwt, bytes and seconds, of streams also aa and ar (against the run `bound`
 * of the experiment and seed); columns that no run has are left out, and those of other metrics
 * stand beside published figures. Where rows share seeds with the one they are held against,
 * their mean difference to it stands beside, with the probability of such a difference by
 * chance: of aa in a stream, of acc_seen where a paper gives it, else of acc_final; CSV and
 * JSON have it of all. What is best among contenders (not bounds) by more than a deviation is
 * bold. Below it stands the scale of the runs if they are smaller than the experiment, and how
 * many uploads were left out and rounds skipped, if any. *out is a C string; free() it.
 * EG_ENOENT: a run is not finished, or no paper gives a figure; EG_EINVAL: there is no column
 * to sort by, or no such label. */
eg_status eg_compare_print(const char *const *run_dirs, size_t n, const eg_published *published,
                           size_t n_published, const eg_compare_how *how, char **out);

/* Prints the table of all papers as Markdown: the cells that measured.yml in a folder of
 * experiment files lists, with the figures that those files publish and what came out: of
 * finished runs in `runs` that are the same to the last setting, else as it is on record there.
 * *out is a C string; free() it. EG_ENOENT: there is no such file or figure. */
eg_status eg_compare_all(const char *folder, const char *runs, char **out);

/* The run folders in a folder, by name, or the folder itself if it is a run's. EG_ENOENT: there
 * are none. Free with eg_run_folders_free. */
typedef struct eg_run_folders {
    char **list; /* [n] */
    size_t n;
} eg_run_folders;
eg_status eg_run_folders_find(const char *path, eg_run_folders *out);
void eg_run_folders_free(eg_run_folders *f);

/* Lists the runs in a folder, one line each: experiment, label, seed, state, accuracy, age and
 * folder. *out is a C string; free() it. */
eg_status eg_runs_print(const char *path, char **out);

/* "seed 0 ended early, after round 12 of 30: ..." of a run that did; else "", as where there is
 * no log to read. */
void eg_run_ending(const char *run_dir, char out[128]);

/* Removes the checkpoint of a run that is finished, which only a run that goes on needs; of any
 * other run nothing. *bytes: how large it was. Not really: that alone. */
eg_status eg_run_clean(const char *run_dir, bool really, int64_t *bytes);

/* Writes a page that lists the runs in a folder and leads to their pages, which lie beside
 * theirs: a run's in its folder, that of an experiment with several runs in this one. Those
 * are written too. */
eg_status eg_report_write_all(const char *path, const char *out_path);

/* Shows the pages of a folder of runs, which may not be there yet, to browsers of this machine
 * while the runs go on: http://127.0.0.1:PORT/ lists them; port 0 is any that is free. EG_EIO:
 * the port is in use. */
typedef struct eg_live eg_live;
eg_status eg_live_new(const char *folder, int port, eg_live **out);
const char *eg_live_url(const eg_live *l);
void eg_live_free(eg_live *l); /* NULL is fine */

typedef enum eg_export_form {
    EG_EXPORT_TENSORBOARD, /* out is a folder that TensorBoard can be pointed to */
    EG_EXPORT_CSV,         /* a line for each value: round, seconds, tag, value */
    EG_EXPORT_NPZ,         /* arrays: loss [rounds], accuracy [evaluations, tasks], ... */
    EG_EXPORT_SETTINGS, /* CSV, a line for each setting: experiment, label, seed, key, value */
} eg_export_form;

/* Writes the curves of a run, finished or not, for other programs: loss, time and bytes by
 * round, accuracies by evaluation, what the method noted; as CSV and NPZ also the accuracies of
 * clients and what the model takes for what. TensorBoard gets the settings too. */
eg_status eg_export_write(const char *run_dir, eg_export_form form, const char *out);

/* The same of several runs: tables have all of them, with experiment, label and seed before
 * each line; of the other forms out is a folder with one entry per run. */
eg_status eg_export_all(const char *const *run_dirs, size_t n, eg_export_form form,
                        const char *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
