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

typedef eg_status (*export_print)(const eg_curves *s, FILE *f);

static eg_status export_curves(const eg_run *r, export_print print, const char *path)
{
    eg_curves s;
    char *text = NULL;
    size_t n = 0;
    EG_TRY(eg_curves_init(&s, r));
    FILE *f = open_memstream(&text, &n);
    eg_status status = f ? print(&s, f) : EG_ENOMEM;
    if (f && fclose(f) != 0 && status == EG_OK)
        status = EG_ENOMEM;
    if (status == EG_ENOMEM)
        eg_fail(EG_ENOMEM, "%s: the curves are larger than memory", path);
    if (status == EG_OK)
        status = eg_file_write(path, &(eg_bytes){text, n}, 1);
    free(text);
    eg_curves_fini(&s);
    return status;
}

/* TensorBoard finds files by this word in their name; one run has one, however often it is
 * exported. */
static eg_status export_tensorboard(const eg_run *r, const char *folder)
{
    char path[EG_RUN_PATH];
    EG_TRY(eg_disk_make_folder(folder));
    EG_TRY(eg_run_file(folder, "events.out.tfevents.0.engram", path));
    return export_curves(r, eg_curves_tensorboard, path);
}

/* The arrays of an .npz while they are gathered; all numbers are doubles. */
typedef struct export_arrays {
    eg_npz_array array[16];
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

static eg_status export_npz(const eg_run *r, const char *path)
{
    export_arrays a = {.n = 0};
    eg_status status = export_rounds(&a, r->log);
    if (status == EG_OK)
        status = export_rows(&a, r);
    if (status == EG_OK)
        status = eg_npz_save(path, a.array, a.n);
    eg_arena_fini(&a.arena);
    return status;
}

eg_status eg_export_write(const char *run_dir, eg_export_form form, const char *out)
{
    eg_run *r;
    EG_TRY(eg_run_load(run_dir, &r));
    eg_status status = form == EG_EXPORT_CSV   ? export_curves(r, eg_curves_csv, out)
                       : form == EG_EXPORT_NPZ ? export_npz(r, out)
                                               : export_tensorboard(r, out);
    eg_run_free(r);
    return status;
}
