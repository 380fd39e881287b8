/* ar.c - average regret: how far Acc^t stays behind that of another run, the bound, over rounds
 * (pFedGRP, Eq. 6 with the sign of its tables).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool ar(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)who;
    double sum = 0, a, b;
    int64_t n = 0, other = 1, m = eg_record_n_rows(reference);
    for (int64_t row = 1; row < eg_record_n_rows(r); row++) {
        int64_t round = eg_record_round(r, row); /* it may not have the same number there */
        while (other < m && eg_record_round(reference, other) < round)
            other++;
        if (other < m && eg_record_round(reference, other) == round &&
            eg_metric_acc_t_at(r, row, &a) && eg_metric_acc_t_at(reference, other, &b)) {
            sum += b - a;
            n++;
        }
    }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_ar = {
    .component =
        {"ar",
         "average regret: how far AA stays behind that of the run that bound names, points", 0,
         NULL},
    .heading = "AR",
    .unit = EG_UNIT_PERCENT,
    .better = -1,
    .place = 80,
    .weight = 80,
    .formula = "AR = 1/T sum over rounds t of Acc^t of the bound - Acc^t",
    .of_clients = true,
    .needs_reference = true,
    .value = ar,
};
