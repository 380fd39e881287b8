/* forgetting.c - mean fall from a task's best accuracy since it was learned to its last one
 * (Chaudhry et al., 2018, arXiv:1801.10112).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool forgetting(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    return eg_metric_fall(r, who, false, out);
}

const eg_metric eg_metric_forgetting = {
    .component = {"forgetting",
                  "mean fall from a task's best accuracy, points; below 0: a gain", 0, NULL},
    .heading = "forgetting",
    .unit = EG_UNIT_PERCENT,
    .better = -1,
    .place = 100,
    .weight = 70,
    .formula =
        "F = 1/(T-1) sum over j < T of (max over j <= i < T of a[i][j]) - a[T][j]; 0 if T = 1",
    .value = forgetting,
};
