/* acc_last_ten.c - mean accuracy over what was measured in the last ten rounds (Re-Fed).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool acc_last_ten(const eg_record *r, const eg_record *reference, int64_t who,
                         double *out)
{
    (void)reference;
    int64_t n_rows = eg_record_n_rows(r), first = n_rows, n = 0;
    double sum = 0, a;
    while (first > 1 && eg_record_round(r, first - 1) + 10 > eg_record_round(r, n_rows - 1))
        first--;
    for (int64_t row = n_rows - 1; row >= first; row--)
        if (eg_metric_point(r, who, first, n_rows, row, &a))
            sum += a, n++;
    *out = n ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_acc_last_ten = {
    .component = {"acc_last_ten", "mean accuracy in the last ten rounds", 0, NULL},
    .heading = "last ten %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 30,
    .weight = 90,
    .aside = true,
    .formula = "mean of Acc over the last ten rounds, as far as it was measured (eval.every); "
               "tests of eval.samples and full ones are not mixed",
    .value = acc_last_ten,
};
