/* bwt.c - backward transfer: how a task's accuracy changed since it was learned
 * (Lopez-Paz and Ranzato, 2017, arXiv:1706.08840).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool bwt(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    int64_t last = eg_record_n_periods(r), n = 0;
    double sum = 0, now, then;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++) {
        int64_t own = eg_record_own(r, t);
        if (own > 0 && own < last &&
            eg_record_at(r, eg_record_task_row(r, last), who, t, &now) &&
            eg_record_at(r, eg_record_task_row(r, own), who, t, &then)) {
            sum += now - then;
            n++;
        }
    }
    *out = n > 0 ? sum / (double)n : 0;
    return eg_metric_ended_apart(r);
}

const eg_metric eg_metric_bwt = {
    .component = {"bwt", "backward transfer: change since a task was learned; below 0: a loss",
                  0, NULL},
    .heading = "backward",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 120,
    .weight = 30,
    .formula = "BWT = 1/(T-1) sum over j < T of a[T][j] - a[j][j]; 0 if T = 1",
    .value = bwt,
};
