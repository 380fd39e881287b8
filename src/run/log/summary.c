/* summary.c - a run's metrics and costs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/summary.h"

#include <math.h>
#include <string.h>

// clang-format off
static const char *const summary_names[] = {
#define X(name) #name,
#include "world/metric/list.inc"
#undef X
    "acc_task_il", "acc_validation", "bytes_up", "bytes_down", "seconds", "peak_rss_bytes",
    "flops_clients", "flops_server", "server_seconds", "rounds",
};
// clang-format on

const char *eg_summary_name(eg_summary which)
{
    return summary_names[which];
}

eg_summary eg_summary_find(const char *name)
{
    int i = 0;
    while (i < EG_SUMMARY_N && strcmp(summary_names[i], name) != 0)
        i++;
    return (eg_summary)i;
}

/* NaN where older programs did not count. */
static double summary_count(int64_t n)
{
    return n < 0 ? NAN : (double)n;
}

static void summary_work(const eg_end_event *e, double *out)
{
    double seconds = 0;
    for (size_t i = 0; e->server_seconds && i < e->n_parts; i++)
        seconds += e->server_seconds[i];
    out[EG_SUMMARY_server_seconds] = e->server_seconds ? seconds : NAN;
    out[EG_SUMMARY_flops_clients] = summary_count(e->flops_clients);
    out[EG_SUMMARY_flops_server] = summary_count(e->flops_server);
}

static void summary_costs(const eg_events *e, double *out)
{
    double up = 0, down = 0;
    int64_t rounds = 0;
    for (size_t i = 0; i < e->n_round; i++) {
        up += (double)e->round[i].bytes_up;
        down += (double)e->round[i].bytes_down;
        rounds = e->round[i].round;
    }
    for (size_t i = 0; i < e->n_loss; i++) /* a run may end with rounds that were skipped */
        if (e->loss[i].client < 0 && e->loss[i].round > rounds)
            rounds = e->loss[i].round;
    out[EG_SUMMARY_bytes_up] = up;
    out[EG_SUMMARY_bytes_down] = down;
    out[EG_SUMMARY_rounds] = (double)rounds;
    if (e->ended) {
        out[EG_SUMMARY_seconds] = e->end.seconds;
        out[EG_SUMMARY_peak_rss_bytes] = (double)e->end.peak_rss_bytes;
        summary_work(&e->end, out);
    }
}

/* The final accuracy as a record has it; NaN without one. */
static double summary_final(const eg_record *r)
{
    double value;
    const eg_metric *final = eg_metric_find(summary_names[EG_SUMMARY_acc_final]);
    return r && eg_run_value(final, r, NULL, &value) ? value : NAN;
}

void eg_summary_of(const eg_events *e, const eg_run_records *r, double out[EG_SUMMARY_N])
{
    double value;
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        const eg_metric *m = eg_metric_find(summary_names[i]);
        bool known = m && eg_run_value(m, r->of[EG_RECORD_CLASS_IL], NULL, &value);
        out[i] = known ? value : NAN;
    }
    out[EG_SUMMARY_acc_task_il] = summary_final(r->of[EG_RECORD_TASK_IL]);
    out[EG_SUMMARY_acc_validation] = summary_final(r->of[EG_RECORD_VALIDATION]);
    summary_costs(e, out);
}
