/* metric.h - what several metrics share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_METRIC_H
#define EG_SRC_METRIC_H

#include <engram/metric.h>

#include "base/base.h"

/* The mean accuracy of a row, if it is a point of one curve with the others from row `first` up
 * to `end`: where some are measured on parts of the test sets, those on whole ones are not. */
bool eg_metric_point(const eg_record *r, int64_t who, int64_t first, int64_t end, int64_t row,
                     double *out);

/* The mean over tasks of a row's mean average precision, after the last task; of boxes alone.
 */
bool eg_metric_boxes(const eg_record *r, int64_t who, bool half, double *out);

/* Classes that may be answered; of NULL: all. */
typedef struct eg_allowed {
    const int32_t *of;
    int64_t n;
} eg_allowed;
/* Whether the true class is among the `top` largest of n outputs, of the classes that may be
 * answered; of equals those that are listed first. With 1: whether eg_predict answers it. */
bool eg_predict_holds(const float *outputs, int64_t n, const eg_allowed *allowed, int64_t top,
                      int32_t truth);

/* Acc^t: the clients' pooled accuracies in a row, weighted by the training samples each has
 * met. */
bool eg_metric_acc_t_at(const eg_record *r, int64_t row, double *out);

/* Mean, standard deviation and least of the clients' final accuracies. */
typedef struct eg_client_stats {
    double mean, sd, worst;
} eg_client_stats;
bool eg_metric_client_stats(const eg_record *r, eg_client_stats *out);

/* Whether it can be told how a task changed after it was learned: tasks that all ended with
 * the run were never measured in between. A single task did not change. */
bool eg_metric_ended_apart(const eg_record *r);

/* The fall of a task that was learned before the last period, from its best task row to the
 * last one; `from_first` takes the best of all task rows before the last one, else of those
 * from the task's own on. False if it was learned later or not measured at the end. */
bool eg_metric_task_fall(const eg_record *r, int64_t who, int64_t task, bool from_first,
                         double *out);

/* The mean of these over tasks; 0 without any. */
bool eg_metric_fall(const eg_record *r, int64_t who, bool from_first, double *out);

#endif
