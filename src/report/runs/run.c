/* run.c - a run folder, read: its records as rows, one per round, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/run.h"

#include "io/file.h"
#include "io/yaml.h"
#include "world/metric/metric.h"

#include <engram/log.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static eg_status run_config(eg_run *r)
{
    char path[EG_RUN_PATH];
    unsigned char *text;
    size_t n;
    EG_TRY(eg_run_file(r->dir, EG_RUN_CONFIG, path));
    eg_status status = eg_file_read(path, (size_t)1 << 30, &text, &n);
    if (status == EG_ENOENT)
        return EG_OK;
    EG_TRY(status);
    r->config = eg_arena_text(&r->arena, "%s", (const char *)text);
    free(text);
    return r->config ? EG_OK : EG_ENOMEM;
}

/* The settings may have been written by hand; what cannot be read says nothing. */
static eg_status run_settings(eg_run *r)
{
    eg_yaml *y;
    r->scale = 1;
    r->bound = "centralized";
    if (!r->config || eg_yaml_parse(r->dir, r->config, strlen(r->config), &y) != EG_OK)
        return EG_OK;
    const eg_yaml_node *root = eg_yaml_root(y);
    bool mapping = root->type == EG_YAML_MAPPING;
    const eg_yaml_node *scale = mapping ? eg_yaml_get(root, "scale") : NULL;
    const eg_yaml_node *bound = mapping ? eg_yaml_get(root, "bound") : NULL;
    double share = scale && scale->text ? strtod(scale->text, NULL) : 1;
    if (share > 0 && share < 1)
        r->scale = share;
    if (bound && bound->text)
        r->bound = eg_arena_text(&r->arena, "%s", bound->text);
    eg_yaml_free(y);
    return r->bound ? EG_OK : EG_ENOMEM;
}

static eg_status run_method(eg_run *r)
{
    const char *all = "";
    for (size_t i = 0; i < r->start->n_method && all; i++)
        all = eg_arena_text(&r->arena, "%s%s%s", all, i ? ", " : "", r->start->method[i]);
    r->method = all;
    return all ? EG_OK : EG_ENOMEM;
}

/* The log tells how long things took and its file when the last of them was over. */
static void run_times(eg_run *r)
{
    char path[EG_RUN_PATH];
    struct stat about;
    double seconds = r->log->ended ? r->log->end.seconds : 0;
    for (size_t i = 0; i < r->log->n_round && !r->log->ended; i++)
        seconds += isnan(r->log->round[i].seconds) ? 0 : r->log->round[i].seconds;
    if (eg_run_file(r->dir, EG_RUN_METRICS, path) != EG_OK || stat(path, &about) != 0)
        return;
    r->changed = (double)about.st_mtim.tv_sec + 1e-9 * (double)about.st_mtim.tv_nsec;
    r->began = r->changed - seconds;
}

static eg_status run_load(eg_run *r, const char *dir)
{
    r->dir = eg_arena_text(&r->arena, "%s", dir);
    if (!r->dir)
        return EG_ENOMEM;
    r->finished = eg_run_is_finished(dir);
    EG_TRY(eg_events_load(dir, &r->log));
    r->start = &r->log->start;
    run_times(r);
    EG_TRY(run_method(r));
    EG_TRY(run_config(r));
    EG_TRY(run_settings(r));
    return eg_run_rows(r);
}

eg_status eg_run_load(const char *dir, eg_run **out)
{
    eg_run *r = calloc(1, sizeof *r);
    if (!r)
        return eg_fail(EG_ENOMEM, "%s: out of memory", dir);
    eg_status status = run_load(r, dir);
    if (status != EG_OK) {
        eg_run_free(r);
        return status;
    }
    *out = r;
    return EG_OK;
}

void eg_run_free(eg_run *r)
{
    if (!r)
        return;
    eg_events_free(r->log);
    eg_arena_fini(&r->arena);
    free(r);
}

/* * What a run as a whole has reached is decided by the metrics, so that the page and the
 * summary say the same. */

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

const eg_run_row *eg_run_period_end(const eg_run *r, int64_t period)
{
    for (size_t i = 0; i < r->n_row; i++)
        if (r->row[i].task_end && r->row[i].period == period)
            return &r->row[i];
    return NULL;
}

bool eg_run_has_boxes(const eg_run *r)
{
    return r->log->n_eval > 0 && r->log->eval[0].map;
}

const char *eg_run_measure(const eg_run *r)
{
    return eg_run_has_boxes(r) ? "mAP at 0.5" : "Accuracy";
}

const eg_boxes_event *eg_run_boxes_of(const eg_run *r, int64_t task, int64_t round)
{
    for (size_t i = r->log->n_boxes; i-- > 0;)
        if (r->log->boxes[i].task == task && r->log->boxes[i].round <= round)
            return &r->log->boxes[i];
    return NULL;
}
