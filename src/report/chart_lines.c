/* chart_lines.c - lines of fractions with bands, named where they end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart.h"

#include <math.h>

enum {
    LINES_WIDTH = 960,
    LINES_HEIGHT = 400,
    LINES_FOOT = 46,
    LINES_DOTS = 32,
    LINES_TIPS = 3000
};

/* The room for names at the right. */
static const double lines_room_least = 150, lines_room_most = 280;

static void lines_band(FILE *f, const eg_frame *m, const eg_line *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++)
        any = any || l->point[i].sd > 0;
    if (!any)
        return;
    fprintf(f, "<path class=\"band\" d=\"");
    const char *command = "M";
    for (size_t k = 0; k < 2 * l->n; k++) { /* along the top, back along the bottom */
        const eg_point *q = &l->point[k < l->n ? k : 2 * l->n - 1 - k];
        double sd = isnan(q->sd) ? 0 : q->sd, y = k < l->n ? q->y + sd : q->y - sd;
        if (isnan(q->y))
            continue;
        fprintf(f, "%s%.1f %.1f", command, eg_frame_x(m, q->x),
                eg_frame_y(m, fmin(m->y1, fmax(m->y0, y))));
        command = "L";
    }
    fprintf(f, "Z\"/>");
}

/* The part of a line up to `until`, or from there on. */
static void lines_path(FILE *f, const eg_frame *m, const eg_line *l, bool before)
{
    fprintf(f, "<path class=\"line%s%s", before ? " faint" : "", l->strong ? " strong" : "");
    fprintf(f, l->dash ? " dash%d\" d=\"" : "\" d=\"", l->dash);
    bool pen = false;
    for (size_t i = 0; i < l->n; i++) {
        const eg_point *q = &l->point[i];
        bool inside = before ? q->x <= l->since : q->x >= l->since;
        if (isnan(q->y) || !inside) {
            pen = false;
            continue;
        }
        fprintf(f, "%s%.1f %.1f", pen ? "L" : "M", eg_frame_x(m, q->x), eg_frame_y(m, q->y));
        pen = true;
    }
    fprintf(f, "\"/>");
}

static void lines_tip(FILE *f, const eg_line_chart *c, const eg_line *l, const eg_point *q)
{
    char mean[32], sd[32];
    eg_show_percent(mean, q->y);
    eg_show_percent(sd, q->sd);
    fprintf(f, "<title>");
    eg_html_text(f, l->name);
    fprintf(f, ", %s %.0f: %s", c->x_item, q->x, mean);
    fprintf(f, isnan(q->sd) ? " %%</title>" : " ± %s %%</title>", sd);
}

static void lines_dots(FILE *f, const eg_frame *m, const eg_line_chart *c, const eg_line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const eg_point *q = &l->point[i];
        bool shown = l->n <= LINES_DOTS && q->x >= l->since;
        if (isnan(q->y))
            continue;
        fprintf(f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\">",
                shown ? "dot" : "hit", eg_frame_x(m, q->x), eg_frame_y(m, q->y),
                shown ? "2.6" : "4");
        lines_tip(f, c, l, q);
        fprintf(f, "</circle>");
    }
}

static void lines_draw(eg_page *p, const eg_frame *m, const eg_line_chart *c, const eg_line *l,
                       bool tips)
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

/* Names and last values beside the ends of the lines. */
static void lines_names(eg_page *p, const eg_frame *m, const eg_line_chart *c)
{
    eg_label *labels = eg_arena_alloc(&p->arena, c->n * sizeof *labels);
    size_t n = 0;
    for (size_t k = 0; labels && k < c->n; k++) {
        const eg_line *l = &c->line[k];
        size_t i = l->n;
        while (i > 0 && isnan(l->point[i - 1].y))
            i--;
        if (i == 0 || l->point[i - 1].x < l->since)
            continue;
        char value[32];
        eg_show_percent(value, l->point[i - 1].y);
        const char *text = eg_arena_text(&p->arena, "%s  %s", value, l->name);
        if (text)
            labels[n++] = (eg_label){eg_frame_x(m, l->point[i - 1].x),
                                     eg_frame_y(m, l->point[i - 1].y),
                                     text,
                                     l->colour,
                                     l->strong,
                                     l->dash};
    }
    if (labels)
        eg_svg_labels(p, m, LINES_WIDTH, labels, n);
}

static double lines_room(const eg_line_chart *c)
{
    double number = eg_svg_label_width("00.0  ", 0) - eg_svg_label_width("", 0);
    double room = lines_room_least;
    for (size_t i = 0; i < c->n; i++)
        room = fmax(room, number + eg_svg_label_width(c->line[i].name, c->line[i].dash));
    return fmin(room, lines_room_most);
}

/* Names of strong lines are never left out, so many of them make the chart higher. */
static double lines_height(const eg_line_chart *c, double top)
{
    size_t strong = 0;
    for (size_t i = 0; i < c->n; i++)
        strong += c->line[i].strong;
    return fmax(LINES_HEIGHT, top + (double)(strong * EG_LABEL_GAP) + LINES_FOOT);
}

void eg_chart_lines(eg_page *p, const eg_line_chart *c)
{
    eg_frame m = {.left = 46, .right = LINES_WIDTH - lines_room(c), .top = c->n_ends ? 40 : 14};
    double height = lines_height(c, m.top);
    m.bottom = height - LINES_FOOT;
    m.x0 = c->x0;
    m.x1 = c->x1 > c->x0 ? c->x1 : c->x0 + 1;
    m.y1 = 1;
    size_t tips = 0;
    for (size_t i = 0; i < c->n; i++)
        tips += c->line[i].n;
    eg_svg_open(p, c->chart, LINES_WIDTH, height, c->title, c->description);
    eg_svg_percents(p, &m);
    eg_svg_numbers(p, &m, c->x_name);
    if (c->n_ends)
        eg_svg_tasks(p, &m, c->task_end, c->n_ends, c->n_tasks);
    for (size_t i = 0; i < c->n; i++)
        lines_draw(p, &m, c, &c->line[i], tips <= LINES_TIPS);
    lines_names(p, &m, c);
    eg_svg_close(p);
}
