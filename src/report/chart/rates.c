/* rates.c - average precision of boxes: over rounds, class by class, and against recall.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RATES_POINTS = 240, RATES_ROWS = 60, RATES_CLASSES = 12, RATES_TASKS = 12 };

static const char rates_half[] = "map_50", rates_each[] = "map", rates_of[] = "map_50 of ";

bool eg_note_is_rate(const eg_run *r, const char *name)
{
    return eg_run_has_boxes(r) &&
           (strcmp(name, rates_half) == 0 || strcmp(name, rates_each) == 0 ||
            strncmp(name, rates_of, sizeof rates_of - 1) == 0);
}

/* A line of the server's notes of one name. */
static eg_status rates_line(eg_page *p, const eg_run *r, const char *name, eg_line *line)
{
    const eg_events *log = r->log;
    eg_chart_point *q = eg_arena_alloc(&p->arena, (log->n_note + 1) * sizeof *q);
    size_t n = 0, seen = 0;
    if (!q)
        return EG_ENOMEM;
    for (size_t i = 0; i < log->n_note; i++)
        n += log->note[i].who < 0 && strcmp(log->note[i].name, name) == 0;
    for (size_t i = 0; i < log->n_note; i++) {
        const eg_note_event *e = &log->note[i];
        if (e->who < 0 && strcmp(e->name, name) == 0 && eg_chart_keeps(seen++, n, RATES_POINTS))
            q[line->n++] = (eg_chart_point){(double)e->round, e->value, NAN, NAN};
    }
    line->point = q;
    return EG_OK;
}

/* Rounds down, lines across. */
static void rates_table(eg_page *p, const eg_line *line, size_t n)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    for (size_t k = 0; k < n; k++)
        eg_cell_head(p, "%s", line[k].name);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < line[0].n; i++) {
        if (!eg_chart_keeps(i, line[0].n, RATES_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%.0f", line[0].point[i].x);
        for (size_t k = 0; k < n; k++)
            eg_cell_unit(p, EG_UNIT_PERCENT, i < line[k].n ? line[k].point[i].y : NAN);
        fprintf(p->f, "</tr>\n");
    }
}

static eg_status rates_figure(eg_page *p, const eg_group *g, eg_line_chart *c,
                              const char *sentence)
{
    const eg_run *r = g->run[0];
    EG_TRY(eg_task_ends(p, r, &c->task_end, &c->n_ends));
    c->small = true;
    c->n_tasks = r->start->tasks;
    c->x1 = (double)r->start->rounds;
    c->x_name = c->x_item = "round";
    c->description = sentence;
    eg_figure_open(p, eg_figure_of_seed(p, g, c->title), sentence);
    eg_chart_lines(p, c);
    eg_figure_table(p, "percent by round");
    rates_table(p, c->line, c->n);
    eg_figure_close(p);
    return EG_OK;
}

/* Both figures of all classes together. */
static eg_status rates_whole(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    eg_line line[2] = {{.name = "at overlap 0.5", .strong = true},
                       {.name = "overlaps 0.5 to 0.95", .strong = true, .dash = 1}};
    EG_TRY(rates_line(p, r, rates_half, &line[0]));
    EG_TRY(rates_line(p, r, rates_each, &line[1]));
    line[0].colour = eg_colour_label(0), line[1].colour = eg_colour_label(1);
    eg_line_chart c = {.chart = "map", .title = "Mean average precision", .line = line, .n = 2};
    return rates_figure(
        p, g, &c,
        "Of the server's model, the mean over the tasks learned so far: solid at "
        "overlap 0.5, dashed over the overlaps from 0.5 to 0.95.");
}

static eg_status rates_classes(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    eg_line line[RATES_CLASSES];
    eg_line_chart c = {
        .chart = "map-classes", .title = "Average precision by class", .line = line};
    for (int64_t k = 0; k < r->start->classes && c.n < RATES_CLASSES; k++) {
        const char *class = eg_run_class(p, r, k);
        const char *note = class ? eg_arena_text(&p->arena, "%s%.40s", rates_of, class) : NULL;
        if (!note)
            return EG_ENOMEM;
        line[c.n] = (eg_line){.name = class, .strong = true, .colour = eg_colour_label(c.n)};
        line[c.n].dash = eg_dash_label(c.n);
        EG_TRY(rates_line(p, r, note, &line[c.n]));
        double last = line[c.n].n ? line[c.n].point[line[c.n].n - 1].y : NAN;
        line[c.n].end = eg_run_class_end(p, class, last);
        if (!line[c.n].end)
            return EG_ENOMEM;
        c.n += line[c.n].n > 0;
    }
    return c.n ? rates_figure(
                     p, g, &c,
                     "At overlap 0.5, the mean over the tasks learned so far that have "
                     "boxes of the class.")
               : EG_OK;
}

const char *eg_run_class(eg_page *p, const eg_run *r, int64_t class)
{
    return r->start->names && class < (int64_t)r->start->n_names
               ? r->start->names[class]
               : eg_arena_text(&p->arena, "class %" PRId64, class);
}

const char *eg_run_class_end(eg_page *p, const char *class, double share)
{
    char percent[32];
    eg_show_percent(percent, share);
    return eg_arena_text(&p->arena, "%s %s", percent, class);
}

/* One class's precision against recall, up to the last recall that is reached. */
static eg_status rates_curve(eg_page *p, const eg_run *r, const eg_boxes_event *e, size_t k,
                             eg_line *line)
{
    const int64_t *curve = e->curve + k * EG_BOXES_CURVE;
    eg_chart_point *q = eg_arena_alloc(&p->arena, EG_BOXES_CURVE * sizeof *q);
    const char *class = eg_run_class(p, r, e->classes[k]);
    if (!q || !class)
        return EG_ENOMEM;
    *line = (eg_line){.name = class, .point = q, .strong = true};
    line->colour = eg_colour_label((size_t)e->classes[k]);
    line->dash = eg_dash_label((size_t)e->classes[k]);
    for (int i = 0; i < EG_BOXES_CURVE && (i == 0 || curve[i] > 0); i++)
        q[line->n++] = (eg_chart_point){(double)i, (double)curve[i] / EG_BOXES_SHARE, NAN, NAN};
    line->end = eg_run_class_end(p, class, (double)e->half[k] / EG_BOXES_SHARE);
    return line->end ? EG_OK : EG_ENOMEM;
}

static void rates_recall_table(eg_page *p, const eg_run *r, const eg_boxes_event *e)
{
    static const char *const heads[] = {"class", "at overlap 0.5", "overlaps 0.5 to 0.95"};
    fprintf(p->f, "<tr>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        eg_cell_head(p, "%s", heads[i]);
    fprintf(p->f, "</tr>\n");
    for (size_t k = 0; k < e->n_classes; k++) {
        const char *class = eg_run_class(p, r, e->classes[k]);
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%s", class ? class : "");
        eg_cell_percent(p, (double)e->half[k] / EG_BOXES_SHARE);
        eg_cell_percent(p, (double)e->each[k] / EG_BOXES_SHARE);
        fprintf(p->f, "</tr>\n");
    }
}

static eg_status rates_recall(eg_page *p, const eg_group *g, const eg_boxes_event *e)
{
    const eg_run *r = g->run[0];
    eg_line line[RATES_CLASSES];
    eg_line_chart c = {.chart = "recall", .line = line, .small = true};
    c.title = eg_arena_text(&p->arena, "Precision and recall on task %" PRId64, e->task + 1);
    if (!c.title)
        return EG_ENOMEM;
    for (; c.n < e->n_classes && c.n < RATES_CLASSES; c.n++)
        EG_TRY(rates_curve(p, r, e, c.n, &line[c.n]));
    c.description = "At the end, at overlap 0.5: the best precision at each recall or a larger "
                    "one. Beside a class stands its average precision.";
    c.x_name = "recall in percent";
    c.x_item = "recall %:";
    c.x1 = EG_BOXES_CURVE - 1;
    eg_figure_open(p, eg_figure_of_seed(p, g, c.title), c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "average precision in percent");
    rates_recall_table(p, r, e);
    eg_figure_close(p);
    return EG_OK;
}

eg_status eg_chart_rates(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    int64_t tasks = r->start->tasks, step = (tasks + RATES_TASKS - 1) / RATES_TASKS;
    if (!eg_run_has_boxes(r))
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    EG_TRY(rates_whole(p, g));
    EG_TRY(rates_classes(p, g));
    fprintf(p->f, "</div>\n<div class=\"pair\">\n");
    for (int64_t t = 0; t < tasks; t += step) {
        const eg_boxes_event *e = eg_run_boxes_of(r, t, INT64_MAX);
        if (e && e->n_classes)
            EG_TRY(rates_recall(p, g, e));
    }
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
