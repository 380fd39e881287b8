/* acc_last_ten.c - mean accuracy over what was measured in the last ten of a task's 150 rounds
 * (Re-Fed), or in as large a part of fewer.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

/* How many of its last rounds count: a fifteenth of the last period's, from one to ten. */
static int64_t last_ten_width(const eg_record *r)
{
    int64_t last = eg_record_n_rows(r) - 1, row = last;
    while (row > 0 && eg_record_period(r, row) == eg_record_period(r, last))
        row--;
    int64_t n = (eg_record_round(r, last) - eg_record_round(r, row) + 7) / 15;
    return n < 1 ? 1 : n > 10 ? 10 : n;
}

static bool acc_last_ten(const eg_record *r, const eg_record *reference, int64_t who,
                         double *out)
{
    (void)reference;
    int64_t n_rows = eg_record_n_rows(r), first = n_rows, n = 0;
    int64_t width = n_rows > 0 ? last_ten_width(r) : 0;
    double sum = 0, a;
    while (first > 1 && eg_record_round(r, first - 1) + width > eg_record_round(r, n_rows - 1))
        first--;
    for (int64_t row = n_rows - 1; row >= first; row--)
        if (eg_metric_point(r, who, first, n_rows, row, &a))
            sum += a, n++;
    *out = n ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_acc_last_ten = {
    .component = {"acc_last_ten",
                  "mean accuracy in the last fifteenth of a task's rounds, ten at most", 0,
                  NULL},
    .heading = "last ten %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 30,
    .weight = 90,
    .aside = true,
    .formula = "mean of Acc over the last fifteenth of the last task's rounds, from one round "
               "to ten, as far as it was measured (eval.every); tests of eval.samples and full "
               "ones are not mixed",
    .value = acc_last_ten,
};
