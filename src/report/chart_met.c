/* chart_met.c - Acc^t of a stream over rounds: how well clients know what they have met.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart.h"

#include <inttypes.h>
#include <math.h>

enum { MET_POINTS = 240, MET_ROWS = 60 };

static const eg_colour met_ink = {0x16191d, 0xf4f6f8};

static eg_status met_points(eg_page *p, const eg_group *g, eg_line *line)
{
    const eg_run *r = eg_group_longest(g);
    eg_chart_point *q = eg_arena_alloc(&p->arena, (r->n_met + 1) * sizeof *q);
    if (!q)
        return EG_ENOMEM;
    line->point = q;
    for (size_t i = 0; i < r->n_met; i++)
        if (eg_chart_keeps(i, r->n_met, MET_POINTS))
            q[line->n++] =
                eg_chart_point_of((double)r->met[i].round, eg_group_met(g, r->met[i].round));
    return EG_OK;
}

static void met_table(eg_page *p, const eg_group *groups, size_t n, const eg_run *longest)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    for (size_t k = 0; k < n; k++)
        eg_cell_head(p, "%s", n == 1 ? "accuracy" : groups[k].title);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < longest->n_met; i++) {
        if (!eg_chart_keeps(i, longest->n_met, MET_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, longest->met[i].round);
        for (size_t k = 0; k < n; k++)
            eg_cell_spread(p, eg_group_met(&groups[k], longest->met[i].round));
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_met(eg_page *p, const eg_group *groups, size_t n)
{
    const eg_run *longest = eg_group_longest(&groups[0]);
    eg_line *line = eg_arena_alloc(&p->arena, n * sizeof *line);
    eg_line_chart c = {.chart = "met", .title = "Accuracy on what was met"};
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < n; i++) {
        line[i] = (eg_line){.name = n == 1 ? "Acc^t" : groups[i].title, .strong = true};
        line[i].colour = n == 1 ? met_ink : eg_colour_label(i);
        line[i].dash = n == 1 ? 0 : eg_dash_label(i);
        EG_TRY(met_points(p, &groups[i], &line[i]));
        const eg_run *r = eg_group_longest(&groups[i]);
        longest = r->n_met > longest->n_met ? r : longest;
    }
    if (longest->n_met == 0)
        return EG_OK;
    c.line = line;
    c.n = n;
    c.x1 = (double)longest->start->rounds;
    c.x_name = c.x_item = "round";
    c.description = "Acc^t: the clients' accuracy after each round on all they have met until "
                    "then, each weighted by its samples; over several seeds the mean, in a "
                    "band of one standard deviation.";
    eg_figure_open(p, c.title, c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "accuracy in percent");
    met_table(p, groups, n, longest);
    eg_figure_close(p);
    return EG_OK;
}
