/* run_rows.c - a run's records as rows, one a round, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a run as a whole has reached is decided by the metrics, so that the page and the summary
 * say the same.
 */
#include "report/run.h"

#include "world/metric/metric.h"

#include <math.h>
#include <stdlib.h>

/* The accuracies of a row of a record [tasks]; *any: whether one was measured. */
static eg_status rows_accuracies(eg_run *r, const eg_record *record, int64_t row, double **out,
                                 bool *any)
{
    int64_t n = r->start->tasks;
    double a;
    *out = eg_arena_alloc(&r->arena, (size_t)n * sizeof **out);
    if (!*out)
        return EG_ENOMEM;
    *any = false;
    for (int64_t t = 0; t < n; t++) {
        bool known = eg_run_accuracy(record, row, t, &a);
        (*out)[t] = known ? a : NAN;
        *any |= known;
    }
    return EG_OK;
}

static double rows_mean(const eg_record *record, int64_t row)
{
    double mean;
    return record && eg_run_mean(record, row, &mean) ? mean : NAN;
}

static eg_status rows_add(eg_run *r, const eg_run_records *all, int64_t i)
{
    const eg_record *record = all->of[EG_RECORD_CLASS_IL],
                    *task_il = all->of[EG_RECORD_TASK_IL];
    int64_t period = eg_record_period(record, i);
    eg_run_row row = {.round = eg_record_round(record, i), .period = period};
    bool any, any_il = false;
    EG_TRY(rows_accuracies(r, record, i, &row.acc, &any));
    if (!any) /* the untrained model, where nobody looked at it */
        return EG_OK;
    if (task_il)
        EG_TRY(rows_accuracies(r, task_il, i, &row.task_il, &any_il));
    row.task_il = any_il ? row.task_il : NULL;
    row.task_end = i > 0 && eg_record_task_row(record, period) == i;
    row.mean = rows_mean(record, i);
    row.mean_il = rows_mean(task_il, i);
    row.validation = rows_mean(all->of[EG_RECORD_VALIDATION], i);
    r->row[r->n_row++] = row;
    return EG_OK;
}

/* What is known only at the end, as far as it can be told before. */
static void rows_so_far(eg_run *r)
{
    double seconds = 0;
    for (size_t i = 0; i < r->log->n_round; i++)
        seconds += isnan(r->log->round[i].seconds) ? 0 : r->log->round[i].seconds;
    r->summary[EG_SUMMARY_seconds] = seconds;
    r->summary[EG_SUMMARY_acc_final] = r->n_row ? r->row[r->n_row - 1].mean : NAN;
    r->summary[EG_SUMMARY_acc_task_il] = r->n_row ? r->row[r->n_row - 1].mean_il : NAN;
    r->summary[EG_SUMMARY_acc_validation] = r->n_row ? r->row[r->n_row - 1].validation : NAN;
}

static eg_status rows_met(eg_run *r, const eg_record *record)
{
    int64_t n = eg_record_n_rows(record);
    double acc;
    r->met = eg_arena_alloc(&r->arena, (size_t)n * sizeof *r->met);
    for (int64_t i = 1; r->met && i < n; i++)
        if (eg_metric_acc_t_at(record, i, &acc))
            r->met[r->n_met++] = (eg_run_met){eg_record_round(record, i), acc};
    return r->met ? EG_OK : EG_ENOMEM;
}

static eg_status rows_make(eg_run *r, const eg_run_records *all)
{
    const eg_record *record = all->of[EG_RECORD_CLASS_IL];
    size_t n_rows = (size_t)eg_record_n_rows(record), n_tasks = (size_t)r->start->tasks;
    double fall;
    r->row = eg_arena_alloc(&r->arena, n_rows * sizeof *r->row);
    r->fall = eg_arena_alloc(&r->arena, n_tasks * sizeof *r->fall);
    if (!r->row || !r->fall)
        return EG_ENOMEM;
    for (size_t i = 0; i < n_rows; i++)
        EG_TRY(rows_add(r, all, (int64_t)i));
    EG_TRY(rows_met(r, record));
    for (size_t t = 0; t < n_tasks; t++)
        r->fall[t] = eg_run_fall(record, (int64_t)t, &fall) ? fall : NAN;
    eg_summary_of(r->log, all, r->summary);
    if (!r->finished)
        rows_so_far(r);
    return EG_OK;
}

eg_status eg_run_rows(eg_run *r)
{
    eg_run_records all;
    EG_TRY(eg_run_records_init(&all, r->log));
    eg_status status = rows_make(r, &all);
    eg_run_records_fini(&all);
    return status;
}

int64_t eg_run_last_round(const eg_run *r)
{
    return r->n_row ? r->row[r->n_row - 1].round : -1;
}

static int rows_compare(const void *round, const void *item)
{
    const int64_t *a = round, *b = item;
    return (*a > *b) - (*a < *b);
}

const void *eg_run_find(const void *items, size_t n, size_t size, int64_t round)
{
    return n ? bsearch(&round, items, n, size, rows_compare) : NULL;
}

const eg_run_row *eg_run_row_at(const eg_run *r, int64_t round)
{
    return eg_run_find(r->row, r->n_row, sizeof *r->row, round);
}

const eg_run_row *eg_run_last(const eg_run *r)
{
    for (size_t i = r->n_row; i-- > 0;)
        if (r->row[i].task_end)
            return &r->row[i];
    return NULL;
}
