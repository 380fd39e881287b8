/* lines.c - lines with bands, named where they end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>

enum {
    LINES_WIDTH = 960,
    LINES_HEIGHT = 400,
    LINES_SMALL_WIDTH = 470,
    LINES_SMALL_HEIGHT = 250,
    LINES_FOOT = 46,
    LINES_DOTS = 32
};

/* The room for names at the right. */
static const double lines_room_least = 150, lines_room_most = 430, lines_room_small = 104;

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

/* A dot for every point, in one path: a line of no length has round ends. */
static void lines_dots(FILE *f, const eg_svg_frame *m, const eg_line *l)
{
    fprintf(f, "<path class=\"dots\" d=\"");
    for (size_t i = 0; i < l->n; i++)
        if (!isnan(l->point[i].y) && l->point[i].x >= l->since)
            fprintf(f, "M%.1f %.1fh0", eg_svg_x(m, l->point[i].x), eg_svg_y(m, l->point[i].y));
    fprintf(f, "\"/>");
}

/* Of a line's point, what the script is told. */
typedef double (*lines_part)(const eg_chart_point *q);

static double lines_x(const eg_chart_point *q)
{
    return q->x;
}

static double lines_y(const eg_chart_point *q)
{
    return q->y;
}

static double lines_low(const eg_chart_point *q)
{
    return q->low;
}

static double lines_high(const eg_chart_point *q)
{
    return q->high;
}

static void lines_number(FILE *f, size_t i, double x)
{
    if (isfinite(x))
        fprintf(f, "%s%.5g", i ? " " : "", x);
    else
        fprintf(f, "%s-", i ? " " : "");
}

/* The values of a line as an attribute, "0.51 0.62 -"; nothing if there are none. */
static void lines_data(FILE *f, const char *name, const eg_line *l, lines_part part)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++)
        any |= isfinite(part(&l->point[i]));
    if (!any)
        return;
    fprintf(f, " data-%s=\"", name);
    for (size_t i = 0; i < l->n; i++)
        lines_number(f, i, part(&l->point[i]));
    fprintf(f, "\"");
}

static void lines_seed(FILE *f, const eg_svg_frame *m, const eg_line *l, const eg_seed *s)
{
    const char *command = "M";
    fprintf(f, "<path class=\"seed\" data-seed=\"%" PRId64 "\" data-y=\"", s->seed);
    for (size_t i = 0; i < l->n; i++)
        lines_number(f, i, s->y[i]);
    fprintf(f, "\" d=\"");
    for (size_t i = 0; i < l->n; i++) {
        if (isnan(s->y[i])) {
            command = "M";
            continue;
        }
        double y = fmin(m->y1, fmax(m->y0, s->y[i]));
        fprintf(f, "%s%.1f %.1f", command, eg_svg_x(m, l->point[i].x), eg_svg_y(m, y));
        command = "L";
    }
    fprintf(f, "\"/>");
}

/* The script reads the values back, for its crosshair and for CSV. */
static void lines_draw(eg_page *p, const eg_svg_frame *m, const eg_line *l, size_t number)
{
    fprintf(p->f, "<g data-line=\"%zu\" data-name=\"", number);
    eg_html_text(p->f, l->name);
    fprintf(p->f, "\"");
    lines_data(p->f, "x", l, lines_x);
    lines_data(p->f, "y", l, lines_y);
    lines_data(p->f, "low", l, lines_low);
    lines_data(p->f, "high", l, lines_high);
    fprintf(p->f, " ");
    eg_svg_colour(p->f, l->colour);
    fprintf(p->f, ">");
    lines_band(p->f, m, l);
    for (size_t i = 0; i < l->n_seeds; i++)
        lines_seed(p->f, m, l, &l->seed[i]);
    if (l->since > m->x0)
        lines_path(p->f, m, l, true);
    lines_path(p->f, m, l, false);
    if (l->n <= LINES_DOTS)
        lines_dots(p->f, m, l);
    fprintf(p->f, "</g>\n");
}

eg_status eg_line_add_seeds(eg_page *p, const eg_group *g, eg_line_value value,
                            const void *context, eg_line *line)
{
    if (g->n < 2)
        return EG_OK;
    eg_seed *seed = eg_arena_alloc(&p->arena, g->n * sizeof *seed);
    line->seed = seed;
    for (size_t i = 0; seed && i < g->n; i++) {
        eg_group one = *g;
        double *y = eg_arena_alloc(&p->arena, (line->n + 1) * sizeof *y);
        one.run = &g->run[i];
        one.n = 1;
        for (size_t k = 0; y && k < line->n; k++)
            y[k] = value(&one, (int64_t)line->point[k].x, context).mean;
        seed[i] = (eg_seed){g->run[i]->start->seed, y};
        if (!y)
            return EG_ENOMEM;
    }
    line->n_seeds = g->n;
    return seed ? EG_OK : EG_ENOMEM;
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
        const char *text =
            l->end ? l->end
                   : eg_arena_text(&p->arena, "%s  %s", value, c->small ? "" : l->name);
        if (text)
            labels[n++] = (eg_label){eg_svg_x(m, l->point[i - 1].x),
                                     eg_svg_y(m, l->point[i - 1].y),
                                     text,
                                     l->colour,
                                     l->strong,
                                     l->dash,
                                     k};
    }
    if (labels)
        eg_svg_labels(p, m, c->small ? LINES_SMALL_WIDTH : LINES_WIDTH, labels, n);
}

/* Of a small chart: more, where texts of lines need it. */
static double lines_room_ends(const eg_line_chart *c)
{
    double room = lines_room_small;
    for (size_t i = 0; i < c->n; i++)
        if (c->line[i].end)
            room = fmax(room, eg_svg_label_width(c->line[i].end, c->line[i].dash) + 1);
    return fmin(room, lines_room_least);
}

static double lines_room(const eg_line_chart *c)
{
    double room = lines_room_least;
    if (c->small)
        return lines_room_ends(c);
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
    const char *range = c->range ? c->range : "±";
    eg_unit x_unit = c->x_unit ? c->x_unit : EG_UNIT_COUNT; /* x is no percent */
    eg_svg_open(p, c->chart, width, height, c->title, c->description);
    fprintf(p->f, "<g class=\"data\" data-unit=\"%d\" data-range=\"%s\" data-x=\"%d\" ",
            c->unit, range, x_unit);
    fprintf(p->f, "data-item=\"%s\" data-box=\"%.1f %.1f %.1f %.1f %g %g\"></g>\n", c->x_item,
            m.left, m.right, m.top, m.bottom, m.x0, m.x1);
    eg_svg_axis(p, &m, c->unit);
    eg_svg_numbers(p, &m, x_unit, c->x_name);
    if (c->n_ends)
        eg_svg_tasks(p, &m, c->task_end, c->n_ends, c->n_tasks);
    for (size_t i = 0; i < c->n; i++)
        lines_draw(p, &m, &c->line[i], i);
    lines_names(p, &m, c);
    eg_svg_close(p);
}
