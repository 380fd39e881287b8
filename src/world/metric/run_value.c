/* run_value.c - what a run as a whole is judged by: its server, or else all its clients.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

/* What is asked of one model: a metric, or something of a row or of a task. */
typedef struct run_question {
    const eg_record *record, *reference;
    const eg_metric *metric;
    int64_t row, task;
} run_question;

typedef bool (*run_answer)(const run_question *q, int64_t who, double *out);

static bool run_judge(const run_question *q, run_answer answer, double *out)
{
    *out = 0;
    if (eg_record_has_server(q->record))
        return answer(q, -1, out);
    double sum = 0, value;
    int64_t n = 0;
    for (int64_t c = 0; c < eg_record_n_clients(q->record); c++)
        if (answer(q, c, &value)) {
            sum += value;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

static bool run_metric(const run_question *q, int64_t who, double *out)
{
    return q->metric->value(q->record, q->reference, who, out);
}

bool eg_run_value(const eg_metric *m, const eg_record *r, const eg_record *reference,
                  double *out)
{
    const run_question q = {.record = r, .reference = reference, .metric = m};
    *out = 0;
    if (m->needs_reference && !reference)
        return false;
    return m->of_clients ? m->value(r, reference, -1, out) : run_judge(&q, run_metric, out);
}

static bool run_at(const run_question *q, int64_t who, double *out)
{
    return eg_record_at(q->record, q->row, who, q->task, out);
}

bool eg_run_accuracy(const eg_record *r, int64_t row, int64_t task, double *out)
{
    return run_judge(&(run_question){.record = r, .row = row, .task = task}, run_at, out);
}

static bool run_mean(const run_question *q, int64_t who, double *out)
{
    return eg_record_mean(q->record, q->row, who, out);
}

bool eg_run_mean(const eg_record *r, int64_t row, double *out)
{
    return run_judge(&(run_question){.record = r, .row = row}, run_mean, out);
}

static bool run_fall(const run_question *q, int64_t who, double *out)
{
    return eg_metric_ended_apart(q->record) &&
           eg_metric_task_fall(q->record, who, q->task, false, out);
}

bool eg_run_fall(const eg_record *r, int64_t task, double *out)
{
    return run_judge(&(run_question){.record = r, .task = task}, run_fall, out);
}
