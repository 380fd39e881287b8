/* costs.c - accuracy against what it costs: bytes that were sent, seconds that were spent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <math.h>

enum { COSTS_POINTS = 240, COSTS_ROWS = 60 };

static const eg_colour costs_ink = {0x16191d, 0xf4f6f8};

/* What a round costs. */
typedef double (*costs_of)(const eg_round_event *e);

static double costs_bytes(const eg_round_event *e)
{
    return (double)e->bytes_up + (double)e->bytes_down;
}

static double costs_seconds(const eg_round_event *e)
{
    return isnan(e->seconds) ? 0 : e->seconds;
}

/* A figure: against what, and how that is named. */
typedef struct costs {
    const char *chart, *title, *x_name, *description;
    eg_unit unit;
    costs_of of;
} costs;

static const costs costs_all[] = {
    {"bytes-accuracy", "Accuracy against bytes", "sent, up and down",
     "Mean accuracy on the tasks learned so far, over what clients and the server had sent by "
     "then.",
     EG_UNIT_BYTES, costs_bytes},
    {"time-accuracy", "Accuracy against time", "time of rounds, tests aside",
     "Mean accuracy on the tasks learned so far, over the seconds that rounds had taken by "
     "then.",
     EG_UNIT_SECONDS, costs_seconds},
};

/* What all rounds of a run up to one have cost. */
static double costs_until(const eg_run *r, int64_t round, costs_of of)
{
    double sum = 0;
    for (size_t i = 0; i < r->log->n_round && r->log->round[i].round <= round; i++)
        sum += of(&r->log->round[i]);
    return sum;
}

/* Both accuracy and cost are means over the seeds. */
static eg_status costs_line(eg_page *p, const eg_group *g, costs_of of, eg_line *line)
{
    const eg_run *r = eg_group_longest(g);
    eg_chart_point *q = eg_arena_alloc(&p->arena, (r->n_row + 1) * sizeof *q);
    if (!q)
        return EG_ENOMEM;
    line->point = q;
    for (size_t i = 0; i < r->n_row; i++) {
        double sum = 0;
        if (!eg_chart_keeps(i, r->n_row, COSTS_POINTS))
            continue;
        for (size_t k = 0; k < g->n; k++)
            sum += costs_until(g->run[k], r->row[i].round, of);
        q[line->n++] =
            eg_chart_point_of(sum / (double)g->n, eg_group_acc(g, r->row[i].round, EG_MEAN));
    }
    return EG_OK;
}

static void costs_table(eg_page *p, const costs *k, const eg_line_chart *c)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "label");
    eg_cell_head(p, "%s", k->unit == EG_UNIT_BYTES ? "sent" : "time");
    eg_cell_head(p, "accuracy");
    fprintf(p->f, "</tr>\n");
    for (const eg_line *l = c->line; l < c->line + c->n; l++)
        for (size_t i = 0; i < l->n; i++) {
            if (!eg_chart_keeps(i, l->n, COSTS_ROWS / c->n + 2))
                continue;
            fprintf(p->f, "<tr>");
            eg_cell_head(p, "%s", l->name);
            eg_cell_unit(p, k->unit, l->point[i].x);
            eg_cell_unit(p, EG_UNIT_PERCENT, l->point[i].y);
            fprintf(p->f, "</tr>\n");
        }
}

static eg_status costs_figure(eg_page *p, const costs *k, const eg_group *groups, size_t n)
{
    eg_line *line = eg_arena_alloc(&p->arena, n * sizeof *line);
    eg_line_chart c = {.chart = k->chart,
                       .title = k->title,
                       .description = k->description,
                       .x_name = k->x_name,
                       .x_item = k->unit == EG_UNIT_BYTES ? "sent" : "after",
                       .x_unit = k->unit,
                       .small = true,
                       .line = line,
                       .n = n};
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < n; i++) {
        line[i] = (eg_line){.name = n == 1 ? "accuracy" : groups[i].title, .strong = true};
        line[i].colour = n == 1 ? costs_ink : eg_colour_label(i);
        line[i].dash = n == 1 ? 0 : eg_dash_label(i);
        EG_TRY(costs_line(p, &groups[i], k->of, &line[i]));
        for (size_t j = 0; j < line[i].n; j++)
            c.x1 = fmax(c.x1, line[i].point[j].x);
    }
    if (c.x1 <= 0) /* no round is done yet, or none was timed */
        return EG_OK;
    eg_figure_open(p, c.title, c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "accuracy in percent");
    costs_table(p, k, &c);
    eg_figure_close(p);
    return EG_OK;
}

eg_status eg_chart_costs(eg_page *p, const eg_group *groups, size_t n)
{
    fprintf(p->f, "<div class=\"pair\">\n");
    for (size_t i = 0; i < sizeof costs_all / sizeof *costs_all; i++)
        EG_TRY(costs_figure(p, &costs_all[i], groups, n));
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
