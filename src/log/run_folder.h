/* run_folder.h - a run's folder, and the events that the run writes into it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     config.yaml      the resolved experiment
 *     metrics.jsonl    the source of truth: one event a line, one JSON object an event
 *     rounds.csv, accuracy.csv, summary.json     made of the events at the end
 *
 * All but seconds and "peak_rss_bytes" is a function of the experiment. One thread at a time.
 */
#ifndef EG_RUN_FOLDER_H
#define EG_RUN_FOLDER_H

#include "base/base.h"

typedef struct eg_run_folder eg_run_folder;

/* "<runs>/<name>-<label>-s<seed>-<first 8 of config_sha256>"; what does not belong in a file's
 * name becomes '_'. free() *out. */
eg_status eg_run_folder_path(const char *runs, const char *name, const char *label,
                             int64_t seed, const char *config_sha256, char **out);

/* Makes the folder, with its configuration and no events, in one step: after a crash it is
 * there whole or not at all. EG_EINVAL: it is there already. */
eg_status eg_run_folder_new(const char *path, const char *config, eg_run_folder **out);

/* Keeps other processes from carrying out the run, until *out is closed or this process ends.
 * EG_EINVAL: another one does. */
eg_status eg_run_folder_lock(const char *path, int *out);

/* Opens it again and cuts metrics.jsonl to the first `position` bytes (0: all is written
 * anew). EG_ENOENT: there is none; EG_EFORMAT: it has fewer bytes. */
eg_status eg_run_folder_open(const char *path, int64_t position, eg_run_folder **out);
void eg_run_folder_free(eg_run_folder *f); /* NULL is fine */

const char *eg_run_folder_name(const eg_run_folder *f); /* its path; borrowed */

/* The path of a file in it; free() *out. */
eg_status eg_run_folder_file(const eg_run_folder *f, const char *name, char **out);

/* Brings the events to disk and says how many bytes they are: what a checkpoint keeps, to be
 * given to eg_run_folder_open. */
eg_status eg_run_folder_sync(eg_run_folder *f, int64_t *position);

typedef struct eg_start_event {
    const char *name, *label;
    int64_t seed;
    const char *const *method; /* [n_method], the parts */
    size_t n_method;
    int64_t clients, tasks, rounds, classes;
    const char *isa, *config_sha256;
    const int64_t *learned; /* [tasks], the period (from 1) in which each task comes first; or
                             * NULL, for task j in period j + 1: then it is not written */
} eg_start_event;

typedef struct eg_round_event {
    int64_t round;          /* from 1 on */
    const int64_t *clients; /* [n_clients], in the order of the sum */
    size_t n_clients;
    int64_t samples;
    double loss; /* mean of training; null when NaN or infinite */
    int64_t bytes_up, bytes_down;
    double seconds;
} eg_round_event;

typedef struct eg_eval_event {
    int64_t round; /* 0: the untrained model */
    int64_t who;   /* a client, or -1: the server's model */
    bool task_end; /* a task is over for who */
    bool full;     /* on whole test sets */
    int64_t n_tasks;
    const int64_t *n;               /* [n_tasks], test samples; 0: not measured, null */
    const int64_t *correct;         /* [n_tasks], right ones of them */
    const int64_t *correct_task_il; /* [n_tasks], likewise; or NULL where it has no meaning */
    int64_t met; /* training samples a client has met so far; below 0 it is not written */
} eg_eval_event;

/* What a run cost. Seconds of work are summed over all clients, whoever worked beside whom. */
typedef struct eg_end_event {
    double seconds; /* from start to end */
    int64_t peak_rss_bytes;
    double train_seconds; /* of work in clients' training */
    double phase_seconds; /* of work in second exchanges */
    const char *const *parts;
    const double *part_seconds; /* [n_parts]: of train_seconds, within the part's own hooks */
    size_t n_parts;
} eg_end_event;

eg_status eg_run_write_start(eg_run_folder *f, const eg_start_event *e);
eg_status eg_run_write_round(eg_run_folder *f, const eg_round_event *e);
eg_status eg_run_write_eval(eg_run_folder *f, const eg_eval_event *e);
eg_status eg_run_write_left_out(eg_run_folder *f, int64_t round, int64_t client,
                                const char *why);
eg_status eg_run_write_skipped(eg_run_folder *f, int64_t round, const char *why);
eg_status eg_run_write_end(eg_run_folder *f, const eg_end_event *e);
/* A number that a part wants to be seen; who: a client, or -1: the server. */
eg_status eg_run_write_note(eg_run_folder *f, int64_t round, int64_t who, const char *name,
                            double value);

/* Makes rounds.csv, accuracy.csv and summary.json of the events so far, each in one step. */
eg_status eg_run_finish(eg_run_folder *f, const char *params_sha256);

#endif
