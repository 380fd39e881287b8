/* aa.c - average accuracy: the mean of Acc^t over rounds (pFedGRP, Eq. 5).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool aa(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference, (void)who;
    double sum = 0, a;
    int64_t n = 0;
    for (int64_t row = 1; row < eg_record_n_rows(r); row++)
        if (eg_metric_acc_t_at(r, row, &a)) {
            sum += a;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_aa = {
    .component = {"aa", "average accuracy: on what each client has met, mean over rounds", 0,
                  NULL},
    .heading = "AA %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 70,
    .weight = 85,
    .formula = "AA = 1/T sum over rounds t of Acc^t",
    .of_clients = true,
    .value = aa,
};
