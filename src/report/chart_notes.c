/* chart_notes.c - the figures that parts of a method note: a curve for each name.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A round's value is the mean over those who noted it, the server or clients; the band reaches
 * from the least to the greatest of them.
 */
#include "report/chart.h"

#include <math.h>
#include <string.h>

enum { NOTES_POINTS = 240, NOTES_ROWS = 60 };

static const eg_colour notes_colour = {0x5b4bb0, 0xb3a8f5};

/* The values of one name, a point a round. */
typedef struct notes {
    const char *name;
    eg_chart_point *point; /* [n] */
    int64_t *count;        /* [n], those who noted it */
    size_t n;
} notes;

/* Adds a value to its round's point, which holds the sum until all are in. */
static void notes_add(notes *s, const eg_note_event *e)
{
    if (isnan(e->value))
        return;
    if (s->n == 0 || s->point[s->n - 1].x != (double)e->round)
        s->point[s->n++] = (eg_chart_point){(double)e->round, 0, e->value, e->value};
    eg_chart_point *q = &s->point[s->n - 1];
    q->y += e->value;
    q->low = fmin(q->low, e->value);
    q->high = fmax(q->high, e->value);
    s->count[s->n - 1]++;
}

static eg_status notes_collect(eg_page *p, const eg_events *log, notes *s)
{
    s->point = eg_arena_alloc(&p->arena, log->n_note * sizeof *s->point);
    s->count = eg_arena_alloc(&p->arena, log->n_note * sizeof *s->count);
    if (!s->point || !s->count)
        return EG_ENOMEM;
    for (size_t i = 0; i < log->n_note; i++)
        if (strcmp(log->note[i].name, s->name) == 0)
            notes_add(s, &log->note[i]);
    for (size_t i = 0; i < s->n; i++) {
        s->point[i].y /= (double)s->count[i];
        if (s->count[i] == 1)
            s->point[i].low = s->point[i].high = NAN;
    }
    return EG_OK;
}

static void notes_table(eg_page *p, const notes *s)
{
    static const char *const heads[] = {"round", "mean", "least", "greatest", "noted by"};
    fprintf(p->f, "<tr>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        eg_cell_head(p, "%s", heads[i]);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < s->n; i++) {
        const eg_chart_point *q = &s->point[i];
        if (!eg_chart_keeps(i, s->n, NOTES_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%.0f", q->x);
        eg_cell_unit(p, EG_NUMBER, q->y);
        eg_cell_unit(p, EG_NUMBER, isnan(q->low) ? q->y : q->low);
        eg_cell_unit(p, EG_NUMBER, isnan(q->high) ? q->y : q->high);
        eg_cell_count(p, s->count[i]);
        fprintf(p->f, "</tr>\n");
    }
}

/* Long runs are drawn with fewer points. */
static eg_status notes_line(eg_page *p, const notes *s, eg_line *line)
{
    eg_chart_point *point = eg_arena_alloc(&p->arena, s->n * sizeof *point);
    if (!point)
        return EG_ENOMEM;
    *line = (eg_line){.name = s->name, .colour = notes_colour, .strong = true, .point = point};
    for (size_t i = 0; i < s->n; i++)
        if (eg_chart_keeps(i, s->n, NOTES_POINTS))
            point[line->n++] = s->point[i];
    return EG_OK;
}

static eg_status notes_figure(eg_page *p, const eg_group *g, const notes *s)
{
    bool several = false;
    eg_line line;
    for (size_t i = 0; i < s->n; i++)
        several |= s->count[i] > 1;
    EG_TRY(notes_line(p, s, &line));
    eg_line_chart c = {.chart = "note", .title = s->name, .unit = EG_NUMBER, .small = true};
    c.description = several
                        ? "The mean over clients of what the method noted, in a band from the "
                          "least to the greatest. The table below holds the numbers."
                        : "What the method noted. The table below holds the numbers.";
    c.range = "from";
    c.x_name = c.x_item = "round";
    c.x1 = (double)g->run[0]->start->rounds;
    c.line = &line;
    c.n = 1;
    eg_figure_open(p, eg_figure_of_seed(p, g, s->name),
                   several ? "Noted by the method: the mean over clients, in a band from the "
                             "least to the greatest."
                           : "Noted by the method.");
    eg_chart_lines(p, &c);
    eg_figure_table(p, "by round");
    notes_table(p, s);
    eg_figure_close(p);
    return EG_OK;
}

/* Whether no note before number i has its name. */
static bool notes_first(const eg_events *log, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(log->note[k].name, log->note[i].name) == 0)
            return false;
    return true;
}

eg_status eg_chart_notes(eg_page *p, const eg_group *g)
{
    const eg_events *log = g->run[0]->log;
    bool any = false;
    for (size_t i = 0; i < log->n_note; i++) {
        if (!notes_first(log, i))
            continue;
        notes s = {.name = log->note[i].name};
        EG_TRY(notes_collect(p, log, &s));
        if (s.n == 0)
            continue;
        fprintf(p->f, any ? "" : "<div class=\"pair\">\n");
        any = true;
        EG_TRY(notes_figure(p, g, &s));
    }
    fprintf(p->f, any ? "</div>\n" : "");
    return EG_OK;
}
