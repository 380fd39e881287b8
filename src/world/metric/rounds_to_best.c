/* rounds_to_best.c - rounds until each task's accuracy was at its best, added up
 * (Re-Fed, Table 3).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

/* Whether two rows have the same accuracies, wherever both were measured. */
static bool rounds_agree(const eg_record *r, int64_t who, int64_t row, int64_t other)
{
    double a, b;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++)
        if (eg_record_at(r, row, who, t, &a) && eg_record_at(r, other, who, t, &b) && a != b)
            return false;
    return true;
}

/* Whether the model stayed as it was before the period from row `first` up to `end`: no test on
 * the same samples tells them apart. Where there were none before, or on others, a
 * single test says nothing. */
static bool rounds_unchanged(const eg_record *r, int64_t who, int64_t first, int64_t end)
{
    int64_t before = first - 1, n = 0;
    double a;
    bool known = eg_record_pooled(r, before, who, &a);
    for (int64_t row = first; row < end; row++) {
        if (!eg_metric_point(r, who, first, end, row, &a))
            continue;
        if (n++ == 0 && (!known || eg_record_is_whole(r, before) != eg_record_is_whole(r, row)))
            before = row;
        else if (!rounds_agree(r, who, row, before))
            return false;
    }
    return n > (before >= first);
}

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
        if (best >= 0 && !rounds_unchanged(r, who, first, end))
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
    .heading = "rounds to best",
    .unit = EG_UNIT_COUNT,
    .better = -1,
    .place = 165,
    .weight = 38,
    .aside = true,
    .formula = "sum over tasks i of the first round of i, counted from its start, with the "
               "largest Acc in i, 0 for a task in which no accuracy changes; tests of "
               "eval.samples and full ones are not mixed",
    .value = rounds_to_best,
};
