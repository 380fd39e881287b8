/* export.c - a run's curves for other programs: TensorBoard, spreadsheets, NumPy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/export/curves.h"

#include "io/disk.h"
#include "io/file.h"
#include "io/npy.h"

#include <engram/log.h>
#include <engram/report.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- A run's curves, taken apart round by round. */

/* A run while it is walked, round by round. */
typedef struct walk {
    const eg_run *r;
    eg_curves *out;
    size_t round, row, note; /* what comes next of each */
    const char **task, **il; /* [tasks], their tags */
    double seconds;
} walk;

static eg_status curves_add(walk *w, const char *tag, int64_t round, double value)
{
    eg_curves *s = w->out;
    if (!isfinite(value))
        return EG_OK;
    EG_TRY(eg_grow(&s->list, s->n, &s->cap, sizeof *s->list));
    s->list[s->n++] = (eg_curve_value){tag, round, w->seconds, value};
    return EG_OK;
}

static eg_status curves_round(walk *w)
{
    const eg_round_event *e = &w->r->log->round[w->round++];
    w->seconds += isnan(e->seconds) ? 0 : e->seconds;
    EG_TRY(curves_add(w, "loss", e->round, e->loss));
    EG_TRY(curves_add(w, "seconds", e->round, e->seconds));
    EG_TRY(curves_add(w, "bytes/up", e->round, (double)e->bytes_up));
    return curves_add(w, "bytes/down", e->round, (double)e->bytes_down);
}

/* The mean over those who noted it in this round: all notes of a round stand together. */
static eg_status curves_notes(walk *w, int64_t round)
{
    const eg_events *log = w->r->log;
    size_t end = w->note;
    while (end < log->n_note && log->note[end].round == round)
        end++;
    for (size_t i = w->note; i < end; i++) {
        double sum = 0;
        int64_t n = 0;
        bool first = true;
        for (size_t k = w->note; k < end; k++)
            if (strcmp(log->note[k].name, log->note[i].name) == 0) {
                first &= k >= i;
                sum += isnan(log->note[k].value) ? 0 : log->note[k].value;
                n += !isnan(log->note[k].value);
            }
        if (!first || n == 0)
            continue;
        const char *tag = eg_arena_text(&w->out->arena, "note/%s", log->note[i].name);
        EG_TRY(tag ? curves_add(w, tag, round, sum / (double)n) : EG_ENOMEM);
    }
    w->note = end;
    return EG_OK;
}

static eg_status curves_row(walk *w)
{
    const eg_run_row *row = &w->r->row[w->row++];
    EG_TRY(curves_add(w, "accuracy/mean", row->round, row->mean));
    for (int64_t t = 0; t < w->r->start->tasks; t++)
        EG_TRY(curves_add(w, w->task[t], row->round, row->acc[t]));
    EG_TRY(curves_add(w, "validation/mean", row->round, row->validation));
    if (!row->task_il)
        return EG_OK;
    EG_TRY(curves_add(w, "accuracy_task_il/mean", row->round, row->mean_il));
    for (int64_t t = 0; t < w->r->start->tasks; t++)
        EG_TRY(curves_add(w, w->il[t], row->round, row->task_il[t]));
    return EG_OK;
}

/* "accuracy/task_03": as wide as the last, so that they sort by number. */
static eg_status curves_tags(walk *w)
{
    int64_t n = w->r->start->tasks;
    int wide = snprintf(NULL, 0, "%" PRId64, n);
    w->task = eg_arena_alloc(&w->out->arena, (size_t)n * sizeof *w->task);
    w->il = eg_arena_alloc(&w->out->arena, (size_t)n * sizeof *w->il);
    for (int64_t t = 0; w->task && w->il && t < n; t++) {
        w->task[t] = eg_arena_text(&w->out->arena, "accuracy/task_%0*" PRId64, wide, t + 1);
        w->il[t] =
            eg_arena_text(&w->out->arena, "accuracy_task_il/task_%0*" PRId64, wide, t + 1);
        if (!w->task[t] || !w->il[t])
            return EG_ENOMEM;
    }
    return w->task && w->il ? EG_OK : EG_ENOMEM;
}

static eg_status curves_walk(walk *w)
{
    const eg_events *log = w->r->log;
    EG_TRY(curves_tags(w));
    while (w->round < log->n_round || w->row < w->r->n_row || w->note < log->n_note) {
        int64_t round = INT64_MAX; /* the next in which something was measured */
        if (w->round < log->n_round)
            round = log->round[w->round].round;
        if (w->row < w->r->n_row && w->r->row[w->row].round < round)
            round = w->r->row[w->row].round;
        if (w->note < log->n_note && log->note[w->note].round < round)
            round = log->note[w->note].round;
        if (w->round < log->n_round && log->round[w->round].round == round)
            EG_TRY(curves_round(w));
        EG_TRY(curves_notes(w, round));
        if (w->row < w->r->n_row && w->r->row[w->row].round == round)
            EG_TRY(curves_row(w));
    }
    return EG_OK;
}

static void curves_fini(eg_curves *s)
{
    free(s->list);
    eg_arena_fini(&s->arena);
    *s = (eg_curves){0};
}

/* All of a run's: of each round loss, seconds and bytes, of each evaluation the mean over the
 * learned tasks and every task, and what the method noted, the mean over clients. */
static eg_status curves_init(eg_curves *s, const eg_run *r)
{
    *s = (eg_curves){.run = r};
    eg_status status = eg_run_settings(&s->arena, r, &s->setting, &s->n_settings);
    if (status == EG_OK)
        status = curves_walk(&(walk){.r = r, .out = s});
    if (status != EG_OK)
        curves_fini(s);
    return status;
}

static void curves_quoted(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

/* "demo","er",0, */
static void curves_name(const eg_curves *s, FILE *f)
{
    curves_quoted(f, s->run->start->name);
    fputc(',', f);
    curves_quoted(f, s->run->start->label);
    fprintf(f, ",%" PRId64 ",", s->run->start->seed);
}

static void curves_line(const eg_curves *s, FILE *f, bool named, const eg_curve_value *x)
{
    if (named)
        curves_name(s, f);
    fprintf(f, "%" PRId64 ",%.6g,", x->round, x->seconds);
    curves_quoted(f, x->tag);
    fprintf(f, ",%.17g\n", x->value);
}

static double curves_seconds(const eg_curves *s, int64_t round)
{
    double seconds = 0;
    for (size_t i = 0; i < s->run->log->n_round && s->run->log->round[i].round <= round; i++)
        seconds += isnan(s->run->log->round[i].seconds) ? 0 : s->run->log->round[i].seconds;
    return seconds;
}

/* How each client does, where clients were tested. */
static eg_status curves_clients(const eg_curves *s, FILE *f, bool named)
{
    eg_record *record;
    EG_TRY(eg_run_record(s->run->log, EG_RECORD_CLASS_IL, &record));
    for (int64_t row = 0; row < eg_record_n_rows(record); row++) {
        int64_t round = eg_record_round(record, row);
        double seconds = curves_seconds(s, round), a;
        for (int64_t c = 0; c < eg_record_n_clients(record); c++) {
            char tag[64];
            bool stream = eg_record_samples(record, row, c) > 0;
            if (stream ? !eg_record_pooled(record, row, c, &a)
                       : !eg_record_mean(record, row, c, &a))
                continue;
            snprintf(tag, sizeof tag, "accuracy/client_%" PRId64, c);
            curves_line(s, f, named, &(eg_curve_value){tag, round, seconds, a});
        }
    }
    eg_record_free(record);
    return EG_OK;
}

/* What the loss of each client of a round was, and how many rows of a class memories hold, per
 * client. */
static void curves_held(const eg_curves *s, FILE *f, bool named)
{
    const eg_events *log = s->run->log;
    char tag[64];
    double seconds = 0;
    for (const eg_round_event *e = log->round; e < log->round + log->n_round; e++) {
        seconds += isnan(e->seconds) ? 0 : e->seconds;
        for (size_t i = 0; e->losses && i < e->n_clients; i++) {
            snprintf(tag, sizeof tag, "loss/client_%" PRId64, e->clients[i]);
            if (!isnan(e->losses[i]))
                curves_line(s, f, named,
                            &(eg_curve_value){tag, e->round, seconds, e->losses[i]});
        }
        for (size_t k = 0; k < e->n_held; k++) {
            snprintf(tag, sizeof tag, "memory/class_%zu", k);
            curves_line(s, f, named,
                        &(eg_curve_value){tag, e->round, seconds,
                                          (double)e->held[k] / (double)e->held_by});
        }
    }
}

/* How many images of a class were taken for which. */
static void curves_confusion(const eg_curves *s, FILE *f, bool named)
{
    const eg_events *log = s->run->log;
    for (const eg_confusion_event *e = log->confusion; e < log->confusion + log->n_confusion;
         e++)
        for (size_t k = 0; k < e->n_cells; k += 3) {
            char tag[96];
            snprintf(tag, sizeof tag, "confusion/class_%" PRId64 "/as_%" PRId64, e->cells[k],
                     e->cells[k + 1]);
            curves_line(s, f, named,
                        &(eg_curve_value){tag, e->round, curves_seconds(s, e->round),
                                          (double)e->cells[k + 2]});
        }
}

/* A table's first line, and the lines of a run; named: they begin with experiment, label and
 * seed. */
static void curves_csv_head(FILE *f, bool named)
{
    fprintf(f, "%sround,seconds,tag,value\n", named ? "experiment,label,seed," : "");
}

static eg_status curves_csv_rows(const eg_curves *s, FILE *f, bool named)
{
    for (const eg_curve_value *x = s->list; x < s->list + s->n; x++)
        curves_line(s, f, named, x);
    EG_TRY(curves_clients(s, f, named));
    curves_held(s, f, named);
    curves_confusion(s, f, named);
    return EG_OK;
}

/* Likewise of settings, which are always named. */
static void curves_settings_head(FILE *f)
{
    fputs("experiment,label,seed,key,value\n", f);
}

static void curves_settings_rows(const eg_curves *s, FILE *f)
{
    for (size_t i = 0; i < s->n_settings; i++) {
        curves_name(s, f);
        curves_quoted(f, s->setting[i].key);
        fputc(',', f);
        curves_quoted(f, s->setting[i].value);
        fputc('\n', f);
    }
}

/* --- Files. */

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
        return curves_csv_rows(s, f, x->n > 1);
    curves_settings_rows(s, f);
    return EG_OK;
}

static eg_status export_run(const export_runs *x, const char *dir, FILE *f)
{
    eg_run *r;
    eg_curves s;
    EG_TRY(eg_run_load(dir, &r));
    eg_status status = curves_init(&s, r);
    if (status == EG_OK) {
        status = export_print(x, &s, f);
        curves_fini(&s);
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
        curves_csv_head(f, x->n > 1);
    if (f && x->form == EG_EXPORT_SETTINGS)
        curves_settings_head(f);
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
