/* curves.c - takes a run's curves apart, round by round.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/export/curves.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

eg_status eg_curves_init(eg_curves *s, const eg_run *r)
{
    *s = (eg_curves){.run = r};
    eg_status status = eg_run_settings(&s->arena, r, &s->setting, &s->n_settings);
    if (status == EG_OK)
        status = curves_walk(&(walk){.r = r, .out = s});
    if (status != EG_OK)
        eg_curves_fini(s);
    return status;
}

void eg_curves_fini(eg_curves *s)
{
    free(s->list);
    eg_arena_fini(&s->arena);
    *s = (eg_curves){0};
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

void eg_curves_csv_head(FILE *f, bool named)
{
    fprintf(f, "%sround,seconds,tag,value\n", named ? "experiment,label,seed," : "");
}

eg_status eg_curves_csv_rows(const eg_curves *s, FILE *f, bool named)
{
    for (const eg_curve_value *x = s->list; x < s->list + s->n; x++)
        curves_line(s, f, named, x);
    EG_TRY(curves_clients(s, f, named));
    curves_confusion(s, f, named);
    return EG_OK;
}

void eg_curves_settings_head(FILE *f)
{
    fputs("experiment,label,seed,key,value\n", f);
}

void eg_curves_settings_rows(const eg_curves *s, FILE *f)
{
    for (size_t i = 0; i < s->n_settings; i++) {
        curves_name(s, f);
        curves_quoted(f, s->setting[i].key);
        fputc(',', f);
        curves_quoted(f, s->setting[i].value);
        fputc('\n', f);
    }
}
