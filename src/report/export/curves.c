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

eg_status eg_curves_csv(const eg_curves *s, FILE *f)
{
    fputs("round,seconds,tag,value\n", f);
    for (const eg_curve_value *x = s->list; x < s->list + s->n; x++) {
        fprintf(f, "%" PRId64 ",%.6g,\"", x->round, x->seconds);
        for (const char *c = x->tag; *c; c++)
            fprintf(f, *c == '"' ? "\"\"" : "%c", *c);
        fprintf(f, "\",%.17g\n", x->value);
    }
    return EG_OK;
}
