/* run_finish.c - what is made of the events at the end: two tables and a summary.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"
#include "log/events.h"
#include "log/run_folder_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a value into a table; null is an empty cell. */
static eg_status finish_cell(FILE *to, const eg_json *v, const char *after)
{
    char *text;
    const char *word;
    if (!v || eg_json_kind_of(v) == EG_JSON_NULL) {
        fputs(after, to);
        return EG_OK;
    }
    if (eg_json_kind_of(v) == EG_JSON_TEXT) { /* "server"; nothing here needs quotes */
        EG_TRY(eg_json_text(v, &word));
        fprintf(to, "%s%s", word, after);
        return EG_OK;
    }
    EG_TRY(eg_json_print(v, 0, &text, NULL));
    fprintf(to, "%s%s", text, after);
    free(text);
    return EG_OK;
}

static eg_status finish_rounds(FILE *to, const eg_events *events)
{
    size_t at = 0;
    fputs("round,clients,samples,loss,bytes_up,bytes_down,seconds\n", to);
    for (const eg_json *e; (e = eg_events_next(events, "round", &at));) {
        EG_TRY(finish_cell(to, eg_json_get(e, "round"), ","));
        fprintf(to, "%zu,", eg_json_count(eg_json_get(e, "clients")));
        EG_TRY(finish_cell(to, eg_json_get(e, "samples"), ","));
        EG_TRY(finish_cell(to, eg_json_get(e, "loss"), ","));
        EG_TRY(finish_cell(to, eg_json_get(e, "bytes_up"), ","));
        EG_TRY(finish_cell(to, eg_json_get(e, "bytes_down"), ","));
        EG_TRY(finish_cell(to, eg_json_get(e, "seconds"), "\n"));
    }
    return EG_OK;
}

/* One line for each accuracy that was measured; tasks count from 1. */
static eg_status finish_accuracy(FILE *to, const eg_events *events)
{
    size_t at = 0;
    fputs("round,who,task_end,full,task,n,accuracy,accuracy_task_il\n", to);
    for (const eg_json *e; (e = eg_events_next(events, "eval", &at));) {
        const eg_json *accuracy = eg_json_get(e, "accuracy"), *n = eg_json_get(e, "n");
        const eg_json *task_il = eg_json_get(e, "accuracy_task_il");
        for (size_t t = 0; t < eg_json_count(accuracy); t++) {
            if (eg_json_kind_of(eg_json_at(accuracy, t)) == EG_JSON_NULL)
                continue;
            EG_TRY(finish_cell(to, eg_json_get(e, "round"), ","));
            EG_TRY(finish_cell(to, eg_json_get(e, "who"), ","));
            EG_TRY(finish_cell(to, eg_json_get(e, "task_end"), ","));
            EG_TRY(finish_cell(to, eg_json_get(e, "full"), ","));
            fprintf(to, "%zu,", t + 1);
            EG_TRY(finish_cell(to, eg_json_at(n, t), ","));
            EG_TRY(finish_cell(to, eg_json_at(accuracy, t), ","));
            EG_TRY(finish_cell(to, eg_json_at(task_il, t), "\n"));
        }
    }
    return EG_OK;
}

typedef eg_status (*finish_table)(FILE *to, const eg_events *events);

static eg_status finish_save(const eg_run_folder *f, const char *name, const char *text,
                             size_t n)
{
    char *path;
    EG_TRY(eg_run_folder_file(f, name, &path));
    eg_status status = eg_file_write(path, &(eg_bytes){text, n}, 1);
    free(path);
    return status;
}

static eg_status finish_write_table(const eg_run_folder *f, const char *name,
                                    const eg_events *events, finish_table table)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return eg_fail(EG_ENOMEM, "no memory for %s", name);
    eg_status status = table(to, events);
    if (fclose(to) != 0 && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "no memory for %s", name);
    if (status == EG_OK)
        status = finish_save(f, name, text, n);
    free(text);
    return status;
}

/* Copies a member of an event, null if it is not there. */
static eg_status finish_copy(eg_json *to, const char *key, const eg_json *event)
{
    const eg_json *v = event ? eg_json_get(event, key) : NULL;
    char *text;
    size_t n;
    eg_json *copy = NULL;
    if (!v)
        return eg_json_set(to, key, eg_json_of_null());
    EG_TRY(eg_json_print(v, 0, &text, &n));
    eg_status status = eg_json_parse(text, n, &copy);
    free(text);
    EG_TRY(status);
    return eg_json_set(to, key, copy);
}

/* The sum, or else the last, of a whole number over the events of a kind. */
static int64_t finish_total(const eg_events *events, const char *kind, const char *key,
                            bool sum)
{
    int64_t total = 0, x;
    size_t at = 0;
    for (const eg_json *e; (e = eg_events_next(events, kind, &at));) {
        const eg_json *v = eg_json_get(e, key);
        if (v && eg_json_int(v, &x) == EG_OK)
            total = sum ? total + x : x;
    }
    return total;
}

static eg_status finish_metric(eg_json *to, const char *key, const eg_record *r,
                               const eg_metric *m)
{
    double value;
    bool known = r && eg_run_value(r, m, &value);
    return eg_json_set(to, key, known ? eg_json_of_real(value) : eg_json_of_null());
}

/* The metrics that are always there, null or not; the others of the list only with a value. */
static const char *const finish_always[] = {"aia", "forgetting", "bwt", "fwt"};
enum { FINISH_ALWAYS = sizeof finish_always / sizeof *finish_always };

static eg_status finish_main_metrics(eg_json *to, const eg_record *r, const eg_record *task_il)
{
    const eg_metric *final = eg_metric_find("acc_final");
    EG_TRY(finish_metric(to, "acc_final", r, final));
    EG_TRY(finish_metric(to, "acc_task_il", task_il, final));
    for (int i = 0; i < FINISH_ALWAYS; i++)
        EG_TRY(finish_metric(to, finish_always[i], r, eg_metric_find(finish_always[i])));
    return EG_OK;
}

static eg_status finish_other_metrics(eg_json *to, const eg_record *r, const eg_record *task_il)
{
    double value;
    for (const eg_metric *const *m = eg_metrics; *m; m++)
        if (!eg_json_get(to, (*m)->name) && eg_run_value(r, *m, &value))
            EG_TRY(eg_json_set(to, (*m)->name, eg_json_of_real(value)));
    for (int i = 0; task_il && i < FINISH_ALWAYS; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_task_il", finish_always[i]);
        EG_TRY(finish_metric(to, key, task_il, eg_metric_find(finish_always[i])));
    }
    return EG_OK;
}

static eg_status finish_fill(eg_json *to, const eg_events *events, const eg_record *r,
                             const eg_record *task_il, const char *params_sha256)
{
    static const char *const who[] = {"name", "label", "seed", "method"};
    static const char *const cost[] = {"seconds", "peak_rss_bytes", "train_seconds",
                                       "phase_seconds", "part_seconds"};
    size_t at = 0;
    const eg_json *start = eg_events_next(events, "start", &at), *end = NULL;
    at = 0;
    for (const eg_json *e; (e = eg_events_next(events, "end", &at));)
        end = e;
    for (size_t i = 0; i < sizeof who / sizeof *who; i++)
        EG_TRY(finish_copy(to, who[i], start));
    EG_TRY(finish_main_metrics(to, r, task_il));
    EG_TRY(eg_json_set(to, "bytes_up",
                       eg_json_of_int(finish_total(events, "round", "bytes_up", true))));
    EG_TRY(eg_json_set(to, "bytes_down",
                       eg_json_of_int(finish_total(events, "round", "bytes_down", true))));
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++)
        EG_TRY(finish_copy(to, cost[i], end));
    int64_t done = finish_total(events, "round", "round", false);
    int64_t skipped = finish_total(events, "skipped", "round", false);
    EG_TRY(eg_json_set(to, "rounds", eg_json_of_int(done > skipped ? done : skipped)));
    EG_TRY(eg_json_set(to, "params_sha256", eg_json_of_text(params_sha256)));
    EG_TRY(finish_copy(to, "config_sha256", start));
    return finish_other_metrics(to, r, task_il);
}

static eg_status finish_summary(const eg_run_folder *f, const eg_events *events,
                                const char *params_sha256)
{
    eg_record *r = NULL, *task_il = NULL;
    char *text = NULL;
    size_t n;
    eg_json *to = eg_json_object();
    eg_status status = to ? eg_run_record(events, false, &r) : EG_ENOMEM;
    if (status == EG_OK)
        status = eg_run_record(events, true, &task_il);
    if (status == EG_ENOENT) /* task-IL has no meaning here */
        status = EG_OK;
    if (status == EG_OK)
        status = finish_fill(to, events, r, task_il, params_sha256);
    if (status == EG_OK)
        status = eg_json_print(to, 2, &text, &n);
    if (status == EG_OK)
        status = finish_save(f, "summary.json", text, n);
    free(text);
    eg_json_free(to);
    eg_record_free(r);
    eg_record_free(task_il);
    return status;
}

eg_status eg_run_finish(eg_run_folder *f, const char *params_sha256)
{
    char *path;
    eg_events *events = NULL;
    EG_TRY(eg_run_folder_file(f, EG_RUN_METRICS, &path));
    eg_status status = eg_events_load(path, &events);
    if (status == EG_OK)
        status = finish_write_table(f, "rounds.csv", events, finish_rounds);
    if (status == EG_OK)
        status = finish_write_table(f, "accuracy.csv", events, finish_accuracy);
    if (status == EG_OK)
        status = finish_summary(f, events, params_sha256);
    eg_events_free(events);
    free(path);
    return status;
}
