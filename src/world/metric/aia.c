/* aia.c - average incremental accuracy: the mean over task rows of the accuracy so far.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool aia(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    double sum = 0, a;
    int64_t n = 0;
    for (int64_t p = 1; p <= eg_record_n_periods(r); p++)
        if (eg_record_mean(r, eg_record_task_row(r, p), who, &a)) {
            sum += a;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_aia = {
    .component = {"aia", "average incremental accuracy: mean over the task ends", 0, NULL},
    .heading = "average %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 60,
    .weight = 50,
    .formula = "AIA = 1/T sum over i of Acc_i, Acc_i = 1/i sum over j <= i of a[i][j]",
    .value = aia,
};
