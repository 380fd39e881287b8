/* fwt.c - forward transfer: what earlier tasks do for one before it is learned, against the
 * untrained model (Lopez-Paz and Ranzato, 2017, arXiv:1706.08840).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool fwt(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    int64_t n = 0;
    double sum = 0, before, untrained;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++) {
        int64_t own = eg_record_own(r, t);
        if (own > 1 && eg_record_at(r, eg_record_task_row(r, own - 1), who, t, &before) &&
            eg_record_at(r, eg_record_task_row(r, 0), who, t, &untrained)) {
            sum += before - untrained;
            n++;
        }
    }
    *out = n > 0 ? sum / (double)n : 0;
    return eg_record_n_periods(r) == 1 || n > 0;
}

const eg_metric eg_metric_fwt = {
    .component =
        {"fwt",
         "forward transfer: accuracy on a task just before it, above the untrained model's", 0,
         NULL},
    .heading = "forward",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 130,
    .weight = 40,
    .aside = true,
    .formula = "FWT = 1/(T-1) sum over j > 1 of a[j-1][j] - a[0][j]; a[0] is the untrained "
               "model; 0 if T = 1",
    .value = fwt,
};
