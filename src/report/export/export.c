/* export.c - a run's curves for other programs: TensorBoard, spreadsheets, NumPy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/export/curves.h"

#include "io/disk.h"
#include "io/file.h"
#include "io/npy.h"

#include <engram/log.h>
#include <engram/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Several runs as one file. */
typedef struct export_runs {
    const char *const *dirs; /* [n] */
    size_t n;
    eg_export_form form;
} export_runs;

static eg_status export_print(const export_runs *x, const eg_curves *s, FILE *f)
{
    if (x->form == EG_EXPORT_TENSORBOARD)
        return eg_curves_tensorboard(s, f);
    if (x->form == EG_EXPORT_CSV)
        return eg_curves_csv_rows(s, f, x->n > 1);
    eg_curves_settings_rows(s, f);
    return EG_OK;
}

static eg_status export_run(const export_runs *x, const char *dir, FILE *f)
{
    eg_run *r;
    eg_curves s;
    EG_TRY(eg_run_load(dir, &r));
    eg_status status = eg_curves_init(&s, r);
    if (status == EG_OK) {
        status = export_print(x, &s, f);
        eg_curves_fini(&s);
    }
    eg_run_free(r);
    return status;
}

static eg_status export_file(const export_runs *x, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    eg_status status = f ? EG_OK : EG_ENOMEM;
    if (f && x->form == EG_EXPORT_CSV)
        eg_curves_csv_head(f, x->n > 1);
    if (f && x->form == EG_EXPORT_SETTINGS)
        eg_curves_settings_head(f);
    for (size_t i = 0; i < x->n && status == EG_OK; i++)
        status = export_run(x, x->dirs[i], f);
    if (f && fclose(f) != 0 && status == EG_OK)
        status = EG_ENOMEM;
    if (status == EG_ENOMEM)
        eg_fail(EG_ENOMEM, "%s: the curves are larger than memory", path);
    if (status == EG_OK)
        status = eg_file_write(path, &(eg_bytes){text, n}, 1);
    free(text);
    return status;
}

/* TensorBoard finds files by this word in their name; one run has one, however often it is
 * exported. */
static eg_status export_tensorboard(const export_runs *x, const char *folder)
{
    char path[EG_RUN_PATH];
    EG_TRY(eg_disk_make_folder(folder));
    EG_TRY(eg_run_file(folder, "events.out.tfevents.0.engram", path));
    return export_file(x, path);
}

enum { EXPORT_NOTES = 40 }; /* names of notes; more are in the CSV */

/* The arrays of an .npz while they are gathered; all numbers are doubles. */
typedef struct export_arrays {
    eg_npz_array array[20 + EXPORT_NOTES];
    size_t n;
    eg_arena arena;
} export_arrays;

/* Adds an array of n rows of `wide` values each (0: one value per row), to be filled. */
static double *export_add(export_arrays *a, const char *name, size_t n, int64_t wide)
{
    size_t count = n * (size_t)(wide ? wide : 1);
    double *values = eg_arena_alloc(&a->arena, (count + 1) * sizeof *values);
    EG_ASSERT(a->n < sizeof a->array / sizeof *a->array);
    if (values)
        a->array[a->n++] = (eg_npz_array){.name = name,
                                          .n_dims = wide ? 2 : 1,
                                          .shape = {(int64_t)n, wide},
                                          .values = values};
    return values;
}

static eg_status export_rounds(export_arrays *a, const eg_events *log)
{
    double *round = export_add(a, "round", log->n_round, 0);
    double *loss = export_add(a, "loss", log->n_round, 0);
    double *up = export_add(a, "bytes_up", log->n_round, 0);
    double *down = export_add(a, "bytes_down", log->n_round, 0);
    double *seconds = export_add(a, "seconds", log->n_round, 0);
    if (!round || !loss || !up || !down || !seconds)
        return EG_ENOMEM;
    for (size_t i = 0; i < log->n_round; i++) {
        const eg_round_event *e = &log->round[i];
        round[i] = (double)e->round;
        loss[i] = e->loss;
        up[i] = (double)e->bytes_up;
        down[i] = (double)e->bytes_down;
        seconds[i] = e->seconds;
    }
    return EG_OK;
}

static eg_status export_rows(export_arrays *a, const eg_run *r)
{
    int64_t n = r->start->tasks;
    double *round = export_add(a, "eval_round", r->n_row, 0);
    double *end = export_add(a, "task_end", r->n_row, 0);
    double *mean = export_add(a, "mean_accuracy", r->n_row, 0);
    double *acc = export_add(a, "accuracy", r->n_row, n);
    double *il = export_add(a, "accuracy_task_il", r->n_row, n);
    double *learned = export_add(a, "learned", (size_t)n, 0);
    if (!round || !end || !mean || !acc || !il || !learned)
        return EG_ENOMEM;
    for (size_t i = 0; i < r->n_row; i++) {
        const eg_run_row *row = &r->row[i];
        round[i] = (double)row->round;
        end[i] = row->task_end;
        mean[i] = row->mean;
        for (int64_t t = 0; t < n; t++) {
            acc[(int64_t)i * n + t] = row->acc[t];
            il[(int64_t)i * n + t] = row->task_il ? row->task_il[t] : NAN;
        }
    }
    for (int64_t t = 0; t < n; t++)
        learned[t] = (double)r->start->learned[t];
    return EG_OK;
}

/* The last confusion matrix, [classes, classes], a row for each true class. */
static eg_status export_confusion(export_arrays *a, const eg_run *r)
{
    int64_t n = r->start->classes;
    if (r->log->n_confusion == 0)
        return EG_OK;
    const eg_confusion_event *e = &r->log->confusion[r->log->n_confusion - 1];
    double *cells = export_add(a, "confusion", (size_t)n, n);
    if (!cells)
        return EG_ENOMEM;
    memset(cells, 0, (size_t)(n * n) * sizeof *cells);
    for (size_t k = 0; k < e->n_cells; k += 3)
        if (e->cells[k] < n && e->cells[k + 1] < n)
            cells[e->cells[k] * n + e->cells[k + 1]] = (double)e->cells[k + 2];
    return EG_OK;
}

/* The accuracies of clients, [rows, clients], NaN where one was not tested. */
static eg_status export_clients(export_arrays *a, const eg_run *r)
{
    eg_record *record;
    EG_TRY(eg_run_record(r->log, EG_RECORD_CLASS_IL, &record));
    int64_t rows = eg_record_n_rows(record), n = eg_record_n_clients(record);
    double *round = n ? export_add(a, "client_round", (size_t)rows, 0) : NULL;
    double *acc = n ? export_add(a, "client_accuracy", (size_t)rows, n) : NULL;
    for (int64_t row = 0; acc && round && row < rows; row++) {
        round[row] = (double)eg_record_round(record, row);
        for (int64_t c = 0; c < n; c++) {
            double *to = &acc[row * n + c];
            bool stream = eg_record_samples(record, row, c) > 0;
            if (stream ? !eg_record_pooled(record, row, c, to)
                       : !eg_record_mean(record, row, c, to))
                *to = NAN;
        }
    }
    eg_record_free(record);
    return n == 0 || (acc && round) ? EG_OK : EG_ENOMEM;
}

/* Whether no note before number i has its name. */
static bool export_is_first(const eg_events *log, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(log->note[k].name, log->note[i].name) == 0)
            return false;
    return true;
}

/* What was noted under a name, [rounds]: the mean over those who did, NaN where nobody did. */
static eg_status export_note(export_arrays *a, const eg_events *log, const char *name)
{
    const char *title = eg_arena_text(&a->arena, "note/%s", name);
    double *mean = title ? export_add(a, title, log->n_round, 0) : NULL;
    size_t k = 0;
    for (size_t i = 0; mean && i < log->n_round; i++) {
        double sum = 0;
        int64_t n = 0;
        for (; k < log->n_note && log->note[k].round <= log->round[i].round; k++)
            if (strcmp(log->note[k].name, name) == 0 && !isnan(log->note[k].value)) {
                sum += log->note[k].value;
                n++;
            }
        mean[i] = n ? sum / (double)n : NAN;
    }
    return mean ? EG_OK : EG_ENOMEM;
}

static eg_status export_notes(export_arrays *a, const eg_events *log)
{
    size_t n = 0;
    for (size_t i = 0; i < log->n_note && n < EXPORT_NOTES; i++)
        if (export_is_first(log, i)) {
            EG_TRY(export_note(a, log, log->note[i].name));
            n++;
        }
    return EG_OK;
}

static eg_status export_arrays_of(export_arrays *a, const eg_run *r)
{
    EG_TRY(export_rounds(a, r->log));
    EG_TRY(export_rows(a, r));
    EG_TRY(export_clients(a, r));
    EG_TRY(export_notes(a, r->log));
    return export_confusion(a, r);
}

static eg_status export_npz(const char *dir, const char *path)
{
    export_arrays a = {.n = 0};
    eg_run *r;
    EG_TRY(eg_run_load(dir, &r));
    eg_status status = export_arrays_of(&a, r);
    if (status == EG_OK)
        status = eg_npz_save(path, a.array, a.n);
    eg_arena_fini(&a.arena);
    eg_run_free(r);
    return status;
}

eg_status eg_export_write(const char *run_dir, eg_export_form form, const char *out)
{
    const export_runs one = {&run_dir, 1, form};
    return form == EG_EXPORT_NPZ           ? export_npz(run_dir, out)
           : form == EG_EXPORT_TENSORBOARD ? export_tensorboard(&one, out)
                                           : export_file(&one, out);
}

/* "a/b/" is called "b". */
static void export_name(const char *dir, const char *ending, char out[EG_RUN_PATH])
{
    size_t n = strlen(dir), begin;
    while (n > 1 && dir[n - 1] == '/')
        n--;
    for (begin = n; begin > 0 && dir[begin - 1] != '/';)
        begin--;
    snprintf(out, EG_RUN_PATH, "%.*s%s", (int)(n - begin), dir + begin, ending);
}

eg_status eg_export_all(const char *const *run_dirs, size_t n, eg_export_form form,
                        const char *out)
{
    char name[EG_RUN_PATH], path[EG_RUN_PATH];
    bool arrays = form == EG_EXPORT_NPZ;
    if (form != EG_EXPORT_NPZ && form != EG_EXPORT_TENSORBOARD)
        return export_file(&(export_runs){run_dirs, n, form}, out);
    EG_TRY(eg_disk_make_folder(out));
    for (size_t i = 0; i < n; i++) {
        export_name(run_dirs[i], arrays ? ".npz" : "", name);
        EG_TRY(eg_run_file(out, name, path));
        EG_TRY(eg_export_write(run_dirs[i], form, path));
    }
    return EG_OK;
}
