/* rounds_to_best.c - rounds until each task's accuracy was at its best, added up
 * (Re-Fed, Table 3).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "metric/metric.h"

static bool rounds_to_best(const eg_record *r, const eg_record *reference, int64_t who,
                           double *out)
{
    (void)reference;
    double total = 0;
    int64_t row = 1, n_rows = eg_record_n_rows(r), begin = n_rows ? eg_record_round(r, 0) : 0;
    bool any = false;
    while (row < n_rows) {
        int64_t period = eg_record_period(r, row), best_round = 0;
        double best = -1, a;
        int64_t first = row, end = row;
        while (end < n_rows && eg_record_period(r, end) == period)
            end++;
        for (; row < end; row++)
            if (eg_metric_point(r, who, first, end, row, &a) && a > best) {
                best = a;
                best_round = eg_record_round(r, row);
            }
        if (best >= 0)
            total += (double)(best_round - begin);
        any |= best >= 0;
        begin = eg_record_round(r, row - 1);
    }
    *out = total;
    return any;
}

const eg_metric eg_metric_rounds_to_best = {
    .component = {"rounds_to_best", "rounds to the best accuracy of each task, added up", 0,
                  NULL},
    .formula = "sum over tasks i of the first round of i, counted from its start, with the "
               "largest Acc in i; tests of eval.samples and full ones are not mixed",
    .value = rounds_to_best,
};
