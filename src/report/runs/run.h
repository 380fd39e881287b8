/* run.h - a run as tables and pages look at it: its log, its values, its settings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run log owns all it points to. Accuracies are fractions; what was not measured is NaN.
 */
#ifndef EG_REPORT_RUN_H
#define EG_REPORT_RUN_H

#include "run/log/summary.h"

/* The state of the model after a round: the server's accuracies, or without any the mean over
 * the clients'. */
typedef struct eg_run_row {
    int64_t round, period;
    bool task_end;
    double *acc, *task_il; /* [tasks]; task_il may be NULL */
    double mean, mean_il;  /* over the tasks learned by this period */
    double validation;     /* likewise, on samples held out of training */
} eg_run_row;

/* Acc^t of a stream: on all that clients have met. */
typedef struct eg_run_met {
    int64_t round;
    double acc;
} eg_run_met;

typedef struct eg_run {
    const char *dir, *method, *config; /* method is "der, fed-a-gem"; config may be NULL */
    double scale;      /* the share of data and rounds it was run with; 1 if it is not known */
    const char *bound; /* the label of the run that its regret compares with */
    eg_events *log;
    const eg_start_event *start; /* the log's */
    bool finished;               /* eg_run_is_finished */
    double began, changed;       /* seconds since 1970, as the log's file tells; 0: not known */
    double summary[EG_SUMMARY_N]; /* of an unfinished run: so far */
    eg_run_row *row;              /* [n_row] by round, each round that was evaluated */
    size_t n_row;
    eg_run_met *met; /* [n_met] by round; none unless clients meet a stream */
    size_t n_met;
    double *fall; /* [tasks] eg_run_fall */
    eg_arena arena;
} eg_run;

/* Reads a run folder; its configuration may be missing. */
eg_status eg_run_load(const char *dir, eg_run **out);
void eg_run_free(eg_run *r); /* NULL is fine */

/* Makes rows, falls and summary of the log; called by eg_run_load. */
eg_status eg_run_rows(eg_run *r);

/* The item of a round in a list [n] of items of so many bytes, by round, which they begin with;
 * NULL: there is none. */
const void *eg_run_find(const void *items, size_t n, size_t size, int64_t round);

/* The last round that was evaluated; -1 without any. */
int64_t eg_run_last_round(const eg_run *r);

/* The row of a round, NULL if it was not evaluated; the last task row, NULL without one. */
const eg_run_row *eg_run_row_at(const eg_run *r, int64_t round);
const eg_run_row *eg_run_last(const eg_run *r);

/* The row at the end of a period; NULL: there is none. */
const eg_run_row *eg_run_period_end(const eg_run *r, int64_t period);

/* Whether boxes are looked for; what the server's accuracy is then, or else: "Accuracy". */
bool eg_run_has_boxes(const eg_run *r);
const char *eg_run_measure(const eg_run *r);

/* What was found of a task's test images after a round or before it, the last of all; NULL:
 * nothing was. */
const eg_boxes_event *eg_run_boxes_of(const eg_run *r, int64_t task, int64_t round);

#endif
