/* client_sd.c - standard deviation of the clients' final accuracies, over n and not n - 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool client_sd(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference, (void)who;
    eg_client_stats stats;
    bool known = eg_metric_client_stats(r, &stats);
    *out = known ? stats.sd : 0;
    return known;
}

const eg_metric eg_metric_client_sd = {
    .component = {"client_sd", "standard deviation of the clients' final accuracies", 0, NULL},
    .heading = "client sd",
    .unit = EG_UNIT_PERCENT,
    .better = -1,
    .place = 150,
    .weight = 35,
    .aside = true,
    .formula = "sqrt(1/n sum over clients c of (Acc_T of c - client_mean)^2)",
    .of_clients = true,
    .value = client_sd,
};
