/* engram/metric.h - how a run is judged: its record of accuracies, and functions of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record holds accuracies of who (the server's model, or a client's) on tasks, row by row.
 * Row 0 is the untrained model. A row measured at the end of a task is a task row; there is one
 * for each period, and periods are numbered from 1. Class-IL and task-IL are two records of the
 * same run. Values are fractions. No metric is ever NaN: one that has no meaning says so.
 */
#ifndef EG_METRIC_H
#define EG_METRIC_H

#include <engram/component.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_record eg_record;

/* An empty record of n_clients clients (0: the server alone) and n_tasks tasks. */
eg_status eg_record_new(int64_t n_clients, int64_t n_tasks, eg_record **out);
void eg_record_free(eg_record *r); /* NULL is fine */

/* Adds a row, measured after `round` rounds in the given period (0 for the untrained model,
 * which comes first); task_end if the period is over. Nothing is measured in it yet. */
eg_status eg_record_add(eg_record *r, int64_t round, int64_t period, bool task_end);

/* Says when a task was learned first; without it, task j in period j + 1. */
void eg_record_learned(eg_record *r, int64_t task, int64_t period);

/* Enters into the newest row: n test samples of a task, `correct` of them right, by the server
 * (-1) or a client. */
void eg_record_enter(eg_record *r, int64_t who, int64_t task, int64_t correct, int64_t n);

/* Says of what was entered there last that its targets are boxes: `correct` of n is then mean
 * average precision at overlap 0.5, and `map` of n that over overlaps 0.5 to 0.95. */
void eg_record_enter_map(eg_record *r, int64_t who, int64_t task, int64_t map);

/* Enters into the newest row how the server's model did on the distinct test images of all
 * classes met: a class that several tasks share counts once. */
void eg_record_enter_seen(eg_record *r, int64_t correct, int64_t n);

/* Enters into the newest row how many training samples a client has met so far. */
void eg_record_met(eg_record *r, int64_t client, int64_t samples);

/* Says that the newest row was measured on whole test sets; else it may be on parts of them. */
void eg_record_set_whole(eg_record *r);

int64_t eg_record_n_rows(const eg_record *r);
int64_t eg_record_n_tasks(const eg_record *r);
int64_t eg_record_n_clients(const eg_record *r);
bool eg_record_has_server(const eg_record *r);   /* its model was measured in some row */
int64_t eg_record_n_periods(const eg_record *r); /* task rows */
int64_t eg_record_round(const eg_record *r, int64_t row);
int64_t eg_record_period(const eg_record *r, int64_t row);
bool eg_record_is_whole(const eg_record *r, int64_t row);

/* The row at the end of a period, row 0 for period 0; -1 if there is none. */
int64_t eg_record_task_row(const eg_record *r, int64_t period);

/* The period a task was learned in; 0 if it lies beyond the last task row. */
int64_t eg_record_own(const eg_record *r, int64_t task);

/* One accuracy. False, and 0, if it was not measured. */
bool eg_record_at(const eg_record *r, int64_t row, int64_t who, int64_t task, double *out);

/* The same of eg_record_enter_map; false, and 0, where targets are no boxes. */
bool eg_record_map(const eg_record *r, int64_t row, int64_t who, int64_t task, double *out);

/* The unweighted mean over the tasks learned by the row's period, as far as measured. */
bool eg_record_mean(const eg_record *r, int64_t row, int64_t who, double *out);

/* All test samples of the row in one: right ones over all. */
bool eg_record_pooled(const eg_record *r, int64_t row, int64_t who, double *out);
/* What eg_record_enter_seen entered; false, and 0, if nothing was. */
bool eg_record_seen(const eg_record *r, int64_t row, double *out);
int64_t eg_record_samples(const eg_record *r, int64_t row, int64_t client); /* met */

/* What a value is counted in, and so how it is shown. */
typedef enum eg_unit {
    EG_UNIT_PERCENT, /* a fraction, shown in percent; differences are points */
    EG_UNIT_NUMBER,
    EG_UNIT_COUNT,
    EG_UNIT_SECONDS,
    EG_UNIT_BYTES,
    EG_UNIT_FLOPS, /* multiplications and additions */
} eg_unit;

typedef struct eg_metric {
    eg_component component; /* without options */
    const char *heading;    /* of its column in a table */
    eg_unit unit;
    int better;           /* 1: more is better; -1: less is; 0: it depends */
    int place;            /* columns stand by it, the least first */
    int weight;           /* where there is no room for all columns, the least go first */
    bool aside;           /* shown only where a paper has it, or on demand */
    const char *formula;  /* what `engram help METRIC` prints */
    bool of_clients;      /* a function of all clients: who is ignored */
    bool needs_reference; /* a function of two records: the other is that of the run `bound` */
    /* False if it has no meaning for this record. */
    bool (*value)(const eg_record *r, const eg_record *reference, int64_t who, double *out);
} eg_metric;

extern const eg_metric *const eg_metrics[]; /* NULL at the end */
extern const eg_family eg_metric_family;
const eg_metric *eg_metric_find(const char *word); /* as eg_family_find */

/* What a run as a whole is judged by: the server's model if it was ever measured, else the mean
 * over the clients that have a value. False, and 0, if nobody has one. */
bool eg_run_value(const eg_metric *m, const eg_record *r, const eg_record *reference,
                  double *out); /* of a metric; without a needed reference there is none */
bool eg_run_accuracy(const eg_record *r, int64_t row, int64_t task, double *out);
bool eg_run_mean(const eg_record *r, int64_t row, double *out); /* as eg_record_mean */

/* How far a task has fallen from its best task row since it was learned to the last one; false
 * for a task that was learned last or not at all. `forgetting` is the mean over tasks. */
bool eg_run_fall(const eg_record *r, int64_t task, double *out);

/* The class with the largest output among those allowed (NULL: all n); the first of equals.
 * Give a task's classes for task-IL. */
int32_t eg_predict(const float *outputs, int64_t n, const int32_t *allowed, int64_t n_allowed);

/* A confusion matrix: rows are true classes, columns predicted ones. */
typedef struct eg_confusion {
    int64_t n;
    int64_t *count; /* [n, n] */
} eg_confusion;
eg_status eg_confusion_init(eg_confusion *c, int64_t n);
void eg_confusion_fini(eg_confusion *c);
void eg_confusion_add(eg_confusion *c, int32_t truth, int32_t predicted);
/* Right ones over all; over those of one true class. False without samples. */
bool eg_confusion_accuracy(const eg_confusion *c, double *out);
bool eg_confusion_recall(const eg_confusion *c, int64_t k, double *out);

/* The Frechet distance of two clouds of points, a [n_a, dim] and b [n_b, dim], each taken as a
 * normal distribution: how unlike drawings are to images, in the features of some network.
 * EG_EINVAL: fewer than two points. */
eg_status eg_frechet(const float *a, int64_t n_a, const float *b, int64_t n_b, int64_t dim,
                     double *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
