/* run_rows.c - a run's evaluations as rows, one a round, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/run.h"

#include <math.h>

/* A row while it is being summed: how many values each task's sum has. */
typedef struct rows_sum {
    int64_t *n, *n_il; /* [n_tasks] */
} rows_sum;

static void rows_clear(const eg_runlog *r, eg_runlog_row *row, const rows_sum *sum)
{
    for (int64_t t = 0; t < r->n_tasks; t++) {
        row->acc[t] = row->task_il[t] = 0;
        sum->n[t] = sum->n_il[t] = 0;
    }
}

static eg_status rows_open(eg_runlog *r, int64_t round, const rows_sum *sum)
{
    size_t bytes = (size_t)r->n_tasks * sizeof(double);
    eg_runlog_row row = {.round = round};
    row.acc = eg_arena_alloc(&r->arena, bytes);
    row.task_il = eg_arena_alloc(&r->arena, bytes);
    if (!row.acc || !row.task_il)
        return EG_ENOMEM;
    rows_clear(r, &row, sum);
    EG_TRY(eg_grow(&r->row, r->n_row, &r->cap_row, sizeof row));
    r->row[r->n_row++] = row;
    return EG_OK;
}

/* Adds an evaluation. One on the full test sets replaces one on a part of them. */
static void rows_add(const eg_runlog *r, eg_runlog_row *row, const eg_runlog_eval *e,
                     const rows_sum *sum)
{
    row->task_end = row->task_end || e->task_end;
    if (e->full && !row->full)
        rows_clear(r, row, sum);
    if (row->full && !e->full)
        return;
    row->full = e->full;
    for (int64_t t = 0; t < r->n_tasks; t++) {
        if (!isnan(e->acc[t])) {
            row->acc[t] += e->acc[t];
            sum->n[t]++;
        }
        if (e->task_il && !isnan(e->task_il[t])) {
            row->task_il[t] += e->task_il[t];
            sum->n_il[t]++;
        }
    }
}

/* The mean over the tasks learned by a period, as far as measured; NaN without any. */
static double rows_mean(const eg_runlog *r, const double *acc, int64_t period)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = 0; t < r->n_tasks; t++)
        if (r->learned[t] > 0 && r->learned[t] <= period && !isnan(acc[t])) {
            sum += acc[t];
            n++;
        }
    return n > 0 ? sum / (double)n : NAN;
}

static void rows_close(const eg_runlog *r, eg_runlog_row *row, const rows_sum *sum)
{
    bool any_il = false;
    for (int64_t t = 0; t < r->n_tasks; t++) {
        row->acc[t] = sum->n[t] > 0 ? row->acc[t] / (double)sum->n[t] : NAN;
        row->task_il[t] = sum->n_il[t] > 0 ? row->task_il[t] / (double)sum->n_il[t] : NAN;
        any_il = any_il || sum->n_il[t] > 0;
    }
    if (!any_il)
        row->task_il = NULL;
    const eg_runlog_row *before = r->n_row > 1 ? row - 1 : NULL;
    row->period = row->round > 0;
    if (before && before->round > 0)
        row->period = before->period + before->task_end;
    row->mean = rows_mean(r, row->acc, row->period);
    row->mean_il = any_il ? rows_mean(r, row->task_il, row->period) : NAN;
}

/* A run without a summary gets what its events say so far. */
static void rows_so_far(eg_runlog *r)
{
    double up = 0, down = 0, seconds = 0, fall = 0;
    for (size_t i = 0; i < r->n_round; i++) {
        up += isnan(r->round[i].bytes_up) ? 0 : r->round[i].bytes_up;
        down += isnan(r->round[i].bytes_down) ? 0 : r->round[i].bytes_down;
        seconds += isnan(r->round[i].seconds) ? 0 : r->round[i].seconds;
    }
    int64_t n = 0;
    for (int64_t t = 0; t < r->n_tasks; t++)
        if (!isnan(eg_runlog_fall(r, t))) {
            fall += eg_runlog_fall(r, t);
            n++;
        }
    if (r->n_row > 0) {
        r->summary[EG_SUMMARY_acc_final] = r->row[r->n_row - 1].mean;
        r->summary[EG_SUMMARY_acc_task_il] = r->row[r->n_row - 1].mean_il;
    }
    r->summary[EG_SUMMARY_forgetting] = n > 0 ? fall / (double)n : NAN;
    r->summary[EG_SUMMARY_bytes_up] = up;
    r->summary[EG_SUMMARY_bytes_down] = down;
    r->summary[EG_SUMMARY_seconds] = seconds;
    r->summary[EG_SUMMARY_rounds] = (double)r->n_round;
}

eg_status eg_runlog_rows(eg_runlog *r)
{
    size_t bytes = (size_t)r->n_tasks * sizeof(int64_t);
    rows_sum sum = {eg_arena_alloc(&r->arena, bytes), eg_arena_alloc(&r->arena, bytes)};
    if (!sum.n || !sum.n_il)
        return EG_ENOMEM;
    bool server = false;
    for (size_t i = 0; i < r->n_eval; i++)
        server = server || r->eval[i].who == EG_SERVER;
    for (size_t i = 0; i < r->n_eval; i++) {
        const eg_runlog_eval *e = &r->eval[i];
        if (server && e->who != EG_SERVER)
            continue;
        if (r->n_row == 0 || r->row[r->n_row - 1].round != e->round) {
            if (r->n_row > 0)
                rows_close(r, &r->row[r->n_row - 1], &sum);
            EG_TRY(rows_open(r, e->round, &sum));
        }
        rows_add(r, &r->row[r->n_row - 1], e, &sum);
    }
    if (r->n_row > 0)
        rows_close(r, &r->row[r->n_row - 1], &sum);
    if (!r->finished)
        rows_so_far(r);
    return EG_OK;
}

const eg_runlog_row *eg_runlog_row_at(const eg_runlog *r, int64_t round)
{
    size_t low = 0, high = r->n_row;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->row[middle].round < round)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_row && r->row[low].round == round ? &r->row[low] : NULL;
}

const eg_runlog_row *eg_runlog_last(const eg_runlog *r)
{
    for (size_t i = r->n_row; i-- > 0;)
        if (r->row[i].task_end)
            return &r->row[i];
    return NULL;
}

double eg_runlog_fall(const eg_runlog *r, int64_t task)
{
    const eg_runlog_row *last = eg_runlog_last(r);
    int64_t own = r->learned[task];
    if (!last || own == 0 || own >= last->period)
        return NAN;
    double best = 0;
    for (const eg_runlog_row *row = r->row; row < last; row++)
        if (row->task_end && row->period >= own && !isnan(row->acc[task]))
            best = fmax(best, row->acc[task]);
    return best - last->acc[task];
}
