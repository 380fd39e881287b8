/* run.h - what a run folder says: its events, its summary, its settings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run log owns all it points to. Accuracies are fractions; what was not measured is NaN.
 */
#ifndef EG_REPORT_RUN_H
#define EG_REPORT_RUN_H

#include "base/arena.h"

#define EG_SERVER (-1)

/* What stands in summary.json; the last one only if it was measured. */
// clang-format off
#define EG_SUMMARY_MAP(X)                                                                      \
    X(acc_final) X(acc_task_il) X(aia) X(forgetting) X(bwt) X(fwt) X(bytes_up) X(bytes_down)   \
    X(seconds) X(peak_rss_bytes) X(rounds) X(acc_last_ten)
// clang-format on

typedef enum eg_summary {
#define EG_SUMMARY_ENUM(name) EG_SUMMARY_##name,
    EG_SUMMARY_MAP(EG_SUMMARY_ENUM)
#undef EG_SUMMARY_ENUM
        EG_SUMMARY_N,
} eg_summary;

/* "acc_final"; and back, EG_SUMMARY_N if there is none of that name. */
const char *eg_summary_name(eg_summary which);
eg_summary eg_summary_find(const char *name);

typedef struct eg_runlog_round {
    int64_t round, samples, n_clients;
    const int64_t *client; /* [n_clients] ids */
    double loss, bytes_up, bytes_down, seconds;
} eg_runlog_round;

typedef struct eg_runlog_eval {
    int64_t round, who; /* EG_SERVER or a client */
    bool task_end, full;
    const double *acc, *task_il; /* [n_tasks]; task_il may be NULL */
} eg_runlog_eval;

/* What went wrong: a client was left out of a round, or the round was skipped. */
typedef struct eg_runlog_note {
    int64_t round, client; /* -1: the whole round */
    const char *why;
} eg_runlog_note;

/* The state of the model after a round: the server's accuracies, or without any the mean over
 * the clients'. */
typedef struct eg_runlog_row {
    int64_t round, period;
    bool task_end, full;
    double *acc, *task_il; /* [n_tasks]; task_il may be NULL */
    double mean, mean_il;  /* over the tasks learned by this period */
} eg_runlog_row;

typedef struct eg_runlog {
    eg_arena arena;
    const char *dir, *name, *label, *method, *isa, *config; /* method is "der, fed-a-gem" */
    const char *config_sha256; /* the same for all seeds of one configuration */
    int64_t seed, n_clients, n_tasks, n_rounds, n_classes;
    const int64_t *learned;       /* [n_tasks] the period in which a task is learned first */
    bool finished;                /* summary.json is there */
    double summary[EG_SUMMARY_N]; /* without the file, what the events say so far */
    eg_runlog_round *round;
    eg_runlog_eval *eval;
    eg_runlog_note *note;
    eg_runlog_row *row; /* by round, each round once */
    size_t n_round, n_eval, n_note, n_row;
    size_t cap_round, cap_eval, cap_note, cap_row;
    bool ended; /* the end event was seen */
} eg_runlog;

/* Reads a run folder. config.yaml and summary.json may be missing; then config is NULL and
 * finished false. A last line of metrics.jsonl without its line end was cut short by a crash
 * and is passed over while the run is unfinished. */
eg_status eg_runlog_load(const char *dir, eg_runlog **out);
void eg_runlog_free(eg_runlog *r); /* NULL is fine */

/* Reads one event of metrics.jsonl into r; the next two are called by eg_runlog_load. */
typedef struct eg_json eg_json;
eg_status eg_runlog_event(eg_runlog *r, const eg_json *event);
eg_status eg_runlog_rows(eg_runlog *r); /* makes the rows from the evals */

/* The row of a round, NULL if it was not evaluated; the last task row, NULL without one. */
const eg_runlog_row *eg_runlog_row_at(const eg_runlog *r, int64_t round);
const eg_runlog_row *eg_runlog_last(const eg_runlog *r);

/* How far a task has fallen from its best task row since it was learned to the last one; NaN
 * for a task that was learned last or not at all. */
double eg_runlog_fall(const eg_runlog *r, int64_t task);

#endif
