/* chart_forgetting.c - what became of each task.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart.h"

#include <inttypes.h>
#include <math.h>

enum { FORGETTING_WIDTH = 470, FORGETTING_LEFT = 62 };

static const eg_colour forgetting_lost = {0xd55e00, 0xff8f4a};

/* Tasks [first, last] in one bar: their mean accuracy at the end and their mean fall. */
typedef struct forgetting_bin {
    int64_t first, last;
    double now, fall;
    bool learned; /* one of them was */
} forgetting_bin;

static forgetting_bin forgetting_mean(const eg_group *g, int64_t first, int64_t last)
{
    const eg_run *r = eg_group_longest(g);
    const eg_run_row *end = eg_run_last(r);
    forgetting_bin b = {.first = first, .last = last};
    int64_t n = 0, n_fall = 0;
    for (int64_t t = first; t <= last; t++) {
        double now = eg_group_acc(g, end->round, t).mean, fall = eg_group_fall(g, t).mean;
        b.now += isnan(now) ? 0 : now;
        n += !isnan(now);
        b.fall += isnan(fall) ? 0 : fall;
        n_fall += !isnan(fall);
        b.learned |= r->start->learned[t] <= end->period;
    }
    b.now = n > 0 ? b.now / (double)n : NAN;
    b.fall = n_fall > 0 ? b.fall / (double)n_fall : NAN;
    return b;
}

/* "task 3: 61.2 % at the end, 3.4 points below its best before" */
static void forgetting_title(FILE *f, const forgetting_bin *b)
{
    char now[32], gap[32];
    eg_show_percent(now, b->now);
    eg_show_percent(gap, fabs(b->fall));
    fprintf(f, "<title>task%s %" PRId64, b->first < b->last ? "s" : "", b->first + 1);
    if (b->first < b->last)
        fprintf(f, " to %" PRId64, b->last + 1);
    fprintf(f, ": %s %% at the end", now);
    if (!isnan(b->fall))
        fprintf(f, ", %s points %s its best before", gap, b->fall < 0 ? "above" : "below");
    fprintf(f, "</title>");
}

/* What tasks still have, and beside it what they have lost. */
static void forgetting_bar(eg_page *p, const eg_svg_frame *m, const forgetting_bin *b,
                           eg_colour colour, double y, double h)
{
    char fall[32];
    if (isnan(b->now))
        return;
    double x = eg_svg_x(m, b->now), lost = b->fall > 0 ? b->fall : 0;
    eg_show_percent(fall, b->fall);
    fprintf(p->f, "<g>");
    forgetting_title(p->f, b);
    if (h >= 8 || b->first / (b->last - b->first + 1) % 2 == 0) /* else every other has room */
        fprintf(p->f, "<text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">%s%" PRId64 "</text>",
                m->left - 8, y + h / 2 + 4, h >= 14 ? "task " : "", b->first + 1);
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, colour);
    fprintf(p->f,
            "><rect class=\"fill\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>",
            m->left, y, fmax(x - m->left, 0.8), h);
    if (lost > 0) {
        fprintf(p->f, "<g ");
        eg_svg_colour(p->f, forgetting_lost);
        fprintf(p->f,
                "><rect class=\"lost%s\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                "height=\"%.1f\"/></g>",
                h < 8 ? " thin" : "", x + 1, y + 0.5,
                fmax(eg_svg_x(m, b->now + lost) - x - 1.5, 0.5), h - 1);
    }
    if (h >= 9)
        fprintf(p->f, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                eg_svg_x(m, b->now + lost) + 6, y + h / 2 + 4,
                !isnan(b->fall) ? fall
                : b->learned    ? "just learned"
                                : "not learned yet");
    fprintf(p->f, "</g>\n");
}

static void forgetting_table(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "task");
    eg_cell_head(p, "at the end");
    eg_cell_head(p, "fall from its best");
    fprintf(p->f, "</tr>\n");
    for (int64_t t = 0; t < r->start->tasks; t++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, t + 1);
        eg_cell_spread(p, eg_group_acc(g, eg_run_last(r)->round, t));
        eg_cell_spread(p, eg_group_fall(g, t));
        fprintf(p->f, "</tr>\n");
    }
}

void eg_chart_forgetting(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    int64_t n = r->start->tasks, each = eg_tasks_together(n), bars = (n + each - 1) / each;
    if (!eg_run_last(r))
        return;
    double step = fmin(44, fmax(290 / (double)bars, 8)), h = step * 0.68, y;
    eg_svg_frame m = {.left = FORGETTING_LEFT, .right = FORGETTING_WIDTH - 92, .top = 16};
    m.x1 = m.y1 = 1;
    m.bottom = m.top + step * (double)bars + 4;
    eg_figure_open(
        p, "Forgetting by task",
        each > 1
            ? "Solid: accuracy at the end, the mean over neighbouring tasks. Outlined: how "
              "many points they have fallen from their best before."
            : "Solid: accuracy at the end. Outlined, and as a number: how many points the "
              "task has fallen from its best before; below 0 it has gained.");
    eg_svg_open(p, "forgetting", FORGETTING_WIDTH, m.bottom + 24, "Forgetting by task",
                "Bars of each task's final accuracy, and its fall from the best.");
    eg_svg_shares(p, &m);
    for (int64_t i = 0; i < bars; i++) {
        int64_t last = (i + 1) * each < n ? (i + 1) * each - 1 : n - 1;
        forgetting_bin b = forgetting_mean(g, i * each, last);
        y = m.top + (double)i * step + (step - h) / 2;
        forgetting_bar(p, &m, &b, eg_colour_task(i * each, n), y, h);
    }
    eg_svg_close(p);
    if (eg_figure_task_table(p, "percent and points", n))
        forgetting_table(p, g);
    eg_figure_close(p);
}
