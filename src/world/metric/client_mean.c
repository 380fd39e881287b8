/* client_mean.c - mean of the clients' final accuracies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool client_mean(const eg_record *r, const eg_record *reference, int64_t who,
                        double *out)
{
    (void)reference, (void)who;
    eg_client_stats stats;
    bool known = eg_metric_client_stats(r, &stats);
    *out = known ? stats.mean : 0;
    return known;
}

const eg_metric eg_metric_client_mean = {
    .component = {"client_mean", "mean of the clients' final accuracies", 0, NULL},
    .heading = "clients %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 140,
    .weight = 65,
    .aside = true,
    .formula = "mean over clients c of Acc_T of client c",
    .of_clients = true,
    .value = client_mean,
};
