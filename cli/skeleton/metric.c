/* mine.c - a metric of one's own: say here what it measures, and whose it is.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It is a function of a run's record of accuracies (engram/metric.h); summary.json has its
 * value.
 */
#include <engram/plugin.h>

/* The lowest accuracy of a task at the end of the run. False where it has no meaning. who: -1
 * for the server's model, or a client. */
static bool mine_value(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    int64_t last = eg_record_task_row(r, eg_record_n_periods(r));
    bool any = false;
    (void)reference;
    *out = 1;
    for (int64_t task = 0; last >= 0 && task < eg_record_n_tasks(r); task++) {
        double accuracy;
        if (!eg_record_at(r, last, who, task, &accuracy))
            continue;
        *out = accuracy < *out ? accuracy : *out;
        any = true;
    }
    return any;
}

static const eg_metric metric = {
    .component = {"mine", "accuracy on the worst task at the end", 0, NULL},
    .heading = "mine %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .formula = "min over tasks j of a[T][j]",
    .value = mine_value,
};

static const eg_metric *const metrics[] = {&metric, NULL};
EG_PLUGIN(.metrics = metrics);
