/* client_worst.c - least of the clients' final accuracies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool client_worst(const eg_record *r, const eg_record *reference, int64_t who,
                         double *out)
{
    (void)reference, (void)who;
    eg_client_stats stats;
    bool known = eg_metric_client_stats(r, &stats);
    *out = known ? stats.worst : 0;
    return known;
}

const eg_metric eg_metric_client_worst = {
    .component = {"client_worst", "final accuracy of the worst client", 0, NULL},
    .heading = "worst %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 160,
    .weight = 36,
    .aside = true,
    .formula = "min over clients c of Acc_T of client c",
    .of_clients = true,
    .value = client_worst,
};
