/* acc_final.c - mean accuracy over the learned tasks after the last one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool acc_final(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    return eg_record_n_periods(r) > 0 &&
           eg_record_mean(r, eg_record_task_row(r, eg_record_n_periods(r)), who, out);
}

const eg_metric eg_metric_acc_final = {
    .component = {"acc_final", "mean accuracy over all tasks after the last", 0, NULL},
    .heading = "accuracy %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 10,
    .weight = 99,
    .formula = "Acc_T = 1/T sum over tasks j of a[T][j]; a[i][j] is the accuracy on task j "
               "after task i",
    .value = acc_final,
};
