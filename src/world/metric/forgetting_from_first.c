/* forgetting_from_first.c - mean fall from a task's best accuracy in any task row to its
 * last one (as Fed-A-GEM writes it).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool forgetting_from_first(const eg_record *r, const eg_record *reference, int64_t who,
                                  double *out)
{
    (void)reference;
    return eg_metric_fall(r, who, true, out);
}

const eg_metric eg_metric_forgetting_from_first = {
    .component = {"forgetting_from_first",
                  "forgetting, the best taken from the first task's end on", 0, NULL},
    .heading = "from first",
    .unit = EG_UNIT_PERCENT,
    .better = -1,
    .place = 110,
    .weight = 45,
    .aside = true,
    .formula =
        "F = 1/(T-1) sum over j < T of (max over 1 <= i < T of a[i][j]) - a[T][j]; 0 if T = 1",
    .value = forgetting_from_first,
};
