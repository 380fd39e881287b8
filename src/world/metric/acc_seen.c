/* acc_seen.c - the last accuracy on the distinct test images of all classes met.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool acc_seen(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    *out = 0;
    return who < 0 && eg_record_n_periods(r) > 0 &&
           eg_record_seen(r, eg_record_task_row(r, eg_record_n_periods(r)), out);
}

const eg_metric eg_metric_acc_seen = {
    .component = {"acc_seen",
                  "accuracy of the global model on all classes met, each test image once", 0,
                  NULL},
    .heading = "seen %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 20,
    .weight = 97,
    .aside = true,
    .formula = "right ones over all, of the distinct test images of the classes that any "
               "client has met: acc_final counts a class as often as tasks share it",
    .value = acc_seen,
};
