/* acc_t.c - accuracy of the last row over all clients, each weighted by the training
 * samples it has met (pFedGRP, Eq. 4).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool acc_t(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference, (void)who;
    return eg_record_n_rows(r) > 0 && eg_metric_acc_t_at(r, eg_record_n_rows(r) - 1, out);
}

const eg_metric eg_metric_acc_t = {
    .component = {"acc_t", "accuracy on what each client has met, at the end", 0, NULL},
    .heading = "met %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 90,
    .weight = 75,
    .aside = true,
    .formula = "Acc^t = sum over clients c of n_c a_c / sum of n_c; a_c: on the cumulative "
               "test set, n_c: samples met",
    .of_clients = true,
    .value = acc_t,
};
