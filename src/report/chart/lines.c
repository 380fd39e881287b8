/* lines.c - lines with bands, named where they end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <math.h>

enum {
    LINES_WIDTH = 960,
    LINES_HEIGHT = 400,
    LINES_SMALL_WIDTH = 470,
    LINES_SMALL_HEIGHT = 250,
    LINES_FOOT = 46,
    LINES_DOTS = 32,
    LINES_TIPS = 3000
};

/* The room for names at the right. */
static const double lines_room_least = 150, lines_room_most = 280, lines_room_small = 104;

eg_chart_point eg_chart_point_of(double x, eg_spread s)
{
    return (eg_chart_point){x, s.mean, s.mean - s.sd, s.mean + s.sd};
}

/* Where the ends of a band are drawn: at its line, where there is none. */
static double lines_edge(const eg_svg_frame *m, const eg_chart_point *q, bool high)
{
    double edge = high ? q->high : q->low;
    return eg_svg_y(m, fmin(m->y1, fmax(m->y0, isnan(edge) ? q->y : edge)));
}

static void lines_band(FILE *f, const eg_svg_frame *m, const eg_line *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++)
        any = any || l->point[i].high > l->point[i].low;
    if (!any)
        return;
    fprintf(f, "<path class=\"band\" d=\"");
    const char *command = "M";
    for (size_t k = 0; k < 2 * l->n; k++) { /* along the top, back along the bottom */
        const eg_chart_point *q = &l->point[k < l->n ? k : 2 * l->n - 1 - k];
        if (isnan(q->y))
            continue;
        fprintf(f, "%s%.1f %.1f", command, eg_svg_x(m, q->x), lines_edge(m, q, k < l->n));
        command = "L";
    }
    fprintf(f, "Z\"/>");
}

/* The part of a line up to `until`, or from there on. */
static void lines_path(FILE *f, const eg_svg_frame *m, const eg_line *l, bool before)
{
    fprintf(f, "<path class=\"line%s%s", before ? " faint" : "", l->strong ? " strong" : "");
    fprintf(f, l->dash ? " dash%d\" d=\"" : "\" d=\"", l->dash);
    bool pen = false;
    for (size_t i = 0; i < l->n; i++) {
        const eg_chart_point *q = &l->point[i];
        bool inside = before ? q->x <= l->since : q->x >= l->since;
        if (isnan(q->y) || !inside) {
            pen = false;
            continue;
        }
        fprintf(f, "%s%.1f %.1f", pen ? "L" : "M", eg_svg_x(m, q->x), eg_svg_y(m, q->y));
        pen = true;
    }
    fprintf(f, "\"/>");
}

/* "er, round 3: 61.2 ± 0.4 %", or "0.31, from 0.2 to 0.5". */
static void lines_tip(FILE *f, const eg_line_chart *c, const eg_line *l,
                      const eg_chart_point *q)
{
    char mean[32], low[32], high[32];
    bool spread = !c->range || *c->range != 'f';
    eg_show_unit(mean, c->unit, q->y);
    eg_show_unit(low, c->unit, spread ? q->high - q->y : q->low);
    eg_show_unit(high, c->unit, q->high);
    fprintf(f, "<title>");
    eg_html_text(f, l->name);
    fprintf(f, ", %s %.0f: %s", c->x_item, q->x, mean);
    if (!isnan(q->high))
        fprintf(f, spread ? " ± %s" : ", from %s to %s", low, high);
    fprintf(f, "%s</title>", c->unit == EG_UNIT_PERCENT ? " %" : "");
}

static void lines_dots(FILE *f, const eg_svg_frame *m, const eg_line_chart *c, const eg_line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const eg_chart_point *q = &l->point[i];
        bool shown = l->n <= LINES_DOTS && q->x >= l->since;
        if (isnan(q->y))
            continue;
        fprintf(f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\">",
                shown ? "dot" : "hit", eg_svg_x(m, q->x), eg_svg_y(m, q->y),
                shown ? "2.6" : "4");
        lines_tip(f, c, l, q);
        fprintf(f, "</circle>");
    }
}

static void lines_draw(eg_page *p, const eg_svg_frame *m, const eg_line_chart *c,
                       const eg_line *l, bool tips)
{
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, l->colour);
    fprintf(p->f, ">");
    lines_band(p->f, m, l);
    if (l->since > m->x0)
        lines_path(p->f, m, l, true);
    lines_path(p->f, m, l, false);
    if (tips)
        lines_dots(p->f, m, c, l);
    fprintf(p->f, "</g>\n");
}

/* How many points of a line there are up to the last that has a value. */
static size_t lines_end(const eg_line *l)
{
    size_t i = l->n;
    while (i > 0 && isnan(l->point[i - 1].y))
        i--;
    return i;
}

/* Names and last values beside the ends of the lines. */
static void lines_names(eg_page *p, const eg_svg_frame *m, const eg_line_chart *c)
{
    eg_label *labels = eg_arena_alloc(&p->arena, c->n * sizeof *labels);
    size_t n = 0;
    for (size_t k = 0; labels && k < c->n; k++) {
        const eg_line *l = &c->line[k];
        size_t i = lines_end(l);
        if (i == 0 || l->point[i - 1].x < l->since)
            continue;
        char value[32];
        eg_show_unit(value, c->unit, l->point[i - 1].y);
        const char *text = eg_arena_text(&p->arena, "%s  %s", value, c->small ? "" : l->name);
        if (text)
            labels[n++] = (eg_label){eg_svg_x(m, l->point[i - 1].x),
                                     eg_svg_y(m, l->point[i - 1].y),
                                     text,
                                     l->colour,
                                     l->strong,
                                     l->dash};
    }
    if (labels)
        eg_svg_labels(p, m, c->small ? LINES_SMALL_WIDTH : LINES_WIDTH, labels, n);
}

static double lines_room(const eg_line_chart *c)
{
    double room = lines_room_least;
    if (c->small)
        return lines_room_small;
    for (size_t i = 0; i < c->n; i++) {
        char value[32], number[40];
        size_t end = lines_end(&c->line[i]);
        eg_show_unit(value, c->unit, end ? c->line[i].point[end - 1].y : NAN);
        snprintf(number, sizeof number, "%s  ", value);
        room = fmax(room, eg_svg_label_width(number, 0) - eg_svg_label_width("", 0) +
                              eg_svg_label_width(c->line[i].name, c->line[i].dash));
    }
    return fmin(room + 1,
                lines_room_most); /* a pixel for what sums in another order round to */
}

/* Names of strong lines are never left out, so many of them make the chart higher. */
static double lines_height(const eg_line_chart *c, double top)
{
    size_t strong = 0;
    for (size_t i = 0; i < c->n; i++)
        strong += c->line[i].strong;
    return fmax(c->small ? LINES_SMALL_HEIGHT : LINES_HEIGHT,
                top + (double)(strong * EG_LABEL_GAP) + LINES_FOOT);
}

/* The axis spans lines and bands. */
static void lines_fit(eg_svg_frame *m, const eg_line_chart *c)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->line[k].n; i++) {
            const eg_chart_point *q = &c->line[k].point[i];
            if (isnan(q->y))
                continue;
            low = fmin(low, fmin(q->y, q->low)); /* fmin passes over what is no number */
            high = fmax(high, fmax(q->y, q->high));
        }
    if (c->unit == EG_UNIT_PERCENT) { /* a deviation may reach beyond what there can be */
        low = fmax(low, 0);
        high = fmin(high, 1);
    }
    eg_axis_fit(m, c->unit, low, high);
}

void eg_chart_lines(eg_page *p, const eg_line_chart *c)
{
    double width = c->small ? LINES_SMALL_WIDTH : LINES_WIDTH;
    eg_svg_frame m = {.left = c->small ? 56 : 50, .right = width - lines_room(c)};
    m.top = c->n_ends ? 40 : 14;
    double height = lines_height(c, m.top);
    m.bottom = height - LINES_FOOT;
    m.x0 = c->x0;
    m.x1 = c->x1 > c->x0 ? c->x1 : c->x0 + 1;
    lines_fit(&m, c);
    size_t tips = 0;
    for (size_t i = 0; i < c->n; i++)
        tips += c->line[i].n;
    eg_svg_open(p, c->chart, width, height, c->title, c->description);
    eg_svg_axis(p, &m, c->unit);
    eg_svg_numbers(p, &m, c->x_name);
    if (c->n_ends)
        eg_svg_tasks(p, &m, c->task_end, c->n_ends, c->n_tasks);
    for (size_t i = 0; i < c->n; i++)
        lines_draw(p, &m, c, &c->line[i], tips <= LINES_TIPS);
    lines_names(p, &m, c);
    eg_svg_close(p);
}
