/* shared.c - what several metrics share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

#include <math.h>

bool eg_metric_acc_t_at(const eg_record *r, int64_t row, double *out)
{
    double sum = 0, weight = 0, a;
    for (int64_t c = 0; c < eg_record_n_clients(r); c++) {
        double n = (double)eg_record_samples(r, row, c);
        if (n > 0 && eg_record_pooled(r, row, c, &a)) {
            sum += n * a;
            weight += n;
        }
    }
    *out = weight > 0 ? sum / weight : 0;
    return weight > 0;
}

bool eg_metric_client_stats(const eg_record *r, eg_client_stats *out)
{
    int64_t row = eg_record_task_row(r, eg_record_n_periods(r)), n = 0;
    double sum = 0, spread = 0, a;
    *out = (eg_client_stats){.worst = 1};
    for (int64_t c = 0; c < eg_record_n_clients(r); c++)
        if (eg_record_mean(r, row, c, &a)) {
            sum += a;
            out->worst = fmin(out->worst, a);
            n++;
        }
    if (n == 0)
        return false;
    out->mean = sum / (double)n;
    for (int64_t c = 0; c < eg_record_n_clients(r); c++)
        if (eg_record_mean(r, row, c, &a))
            spread += (a - out->mean) * (a - out->mean);
    out->sd = sqrt(spread / (double)n);
    return true;
}

bool eg_metric_ended_apart(const eg_record *r)
{
    int64_t learned = 0;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++)
        learned += eg_record_own(r, t) > 0;
    return eg_record_n_periods(r) > 1 || (eg_record_n_periods(r) == 1 && learned == 1);
}

bool eg_metric_task_fall(const eg_record *r, int64_t who, int64_t task, bool from_first,
                         double *out)
{
    int64_t last = eg_record_n_periods(r), own = eg_record_own(r, task);
    double now, best = 0, a;
    *out = 0;
    if (own == 0 || own == last ||
        !eg_record_at(r, eg_record_task_row(r, last), who, task, &now))
        return false;
    for (int64_t p = from_first ? 1 : own; p < last; p++)
        if (eg_record_at(r, eg_record_task_row(r, p), who, task, &a))
            best = fmax(best, a);
    *out = best - now;
    return true;
}

bool eg_metric_fall(const eg_record *r, int64_t who, bool from_first, double *out)
{
    int64_t n = 0;
    double sum = 0, fall;
    if (!eg_metric_ended_apart(r))
        return false;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++)
        if (eg_metric_task_fall(r, who, t, from_first, &fall)) {
            sum += fall;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return true;
}

bool eg_metric_point(const eg_record *r, int64_t who, int64_t first, int64_t end, int64_t row,
                     double *out)
{
    if (!eg_record_mean(r, row, who, out))
        return false;
    double other;
    for (int64_t i = first; i < end && eg_record_is_whole(r, row); i++)
        if (!eg_record_is_whole(r, i) && eg_record_mean(r, i, who, &other))
            return false;
    return true;
}

bool eg_metric_boxes(const eg_record *r, int64_t who, bool half, double *out)
{
    int64_t row = eg_record_task_row(r, eg_record_n_periods(r)), n = 0;
    double sum = 0, map, at_half;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++)
        if (eg_record_own(r, t) > 0 && eg_record_map(r, row, who, t, &map) &&
            eg_record_at(r, row, who, t, &at_half)) {
            sum += half ? at_half : map;
            n++;
        }
    *out = n ? sum / (double)n : 0;
    return n > 0 && eg_record_n_periods(r) > 0;
}
