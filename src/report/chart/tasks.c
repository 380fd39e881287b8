/* tasks.c - what became of each task: the accuracy matrix, and what was forgotten.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void matrix_table(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "after task");
    for (int64_t t = 0; t < r->start->tasks; t++)
        eg_cell_head(p, "task %" PRId64, t + 1);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < r->n_row; i++) {
        if (!r->row[i].task_end)
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, r->row[i].period);
        for (int64_t t = 0; t < r->start->tasks; t++)
            eg_cell_spread(p, eg_group_acc(g, r->row[i].round, t));
        fprintf(p->f, "</tr>\n");
    }
}

/* The mean accuracy of a pixel's cells, as a shade from 0 to 255; row numbers are of task ends.
 */
static uint8_t matrix_shade(const eg_group *g, const int64_t *end, const int64_t rows[2],
                            const int64_t tasks[2])
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = rows[0]; i < rows[1]; i++)
        for (int64_t t = tasks[0]; t < tasks[1]; t++) {
            double a = eg_group_acc(g, end[i], t).mean;
            sum += isnan(a) ? 0 : a;
            n += !isnan(a);
        }
    return eg_heat_shade(n > 0 ? sum / (double)n : NAN);
}

/* A picture of the matrix, light where accuracy is high. end [rows]: rounds. */
static eg_status matrix_image(eg_page *p, const eg_group *g, const int64_t *end, int64_t rows,
                              eg_image *im)
{
    int64_t n = g->run[0]->start->tasks;
    *im = (eg_image){.channels = 1};
    im->height = rows < EG_HEAT_PIXELS ? rows : EG_HEAT_PIXELS;
    im->width = n < EG_HEAT_PIXELS ? n : EG_HEAT_PIXELS;
    im->pixels = eg_arena_alloc(&p->arena, (size_t)(im->height * im->width));
    if (!im->pixels)
        return EG_ENOMEM;
    for (int64_t y = 0; y < im->height; y++)
        for (int64_t x = 0; x < im->width; x++) {
            const int64_t some[2] = {y * rows / im->height, (y + 1) * rows / im->height};
            const int64_t tasks[2] = {x * n / im->width, (x + 1) * n / im->width};
            im->pixels[y * im->width + x] = matrix_shade(g, end, some, tasks);
        }
    return EG_OK;
}

/* Each cell by itself. */
static void matrix_cells(eg_page *p, const eg_group *g, double w, double h)
{
    const eg_run *r = eg_group_longest(g);
    double y = EG_HEAT_TOP;
    for (size_t i = 0; i < r->n_row; i++) {
        if (!r->row[i].task_end)
            continue;
        for (int64_t t = 0; t < r->start->tasks; t++) {
            char tip[80];
            snprintf(tip, sizeof tip, "after task %" PRId64 ", on task %" PRId64,
                     r->row[i].period, t + 1);
            eg_heat_cell(p, (eg_box){EG_HEAT_LEFT + (double)t * w, y, w, h},
                         eg_group_acc(g, r->row[i].round, t).mean, tip,
                         r->start->learned[t] == r->row[i].period);
        }
        y += h;
    }
}

/* The rounds of the task rows, of the arena. */
static eg_status matrix_ends(eg_page *p, const eg_run *r, int64_t **out, int64_t *n)
{
    *n = 0;
    *out = eg_arena_alloc(&p->arena, (r->n_row + 1) * sizeof **out);
    for (size_t i = 0; *out && i < r->n_row; i++)
        if (r->row[i].task_end)
            (*out)[(*n)++] = r->row[i].round;
    return *out ? EG_OK : EG_ENOMEM;
}

eg_status eg_chart_matrix(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    int64_t rows, *end, n = r->start->tasks;
    EG_TRY(matrix_ends(p, r, &end, &rows));
    if (rows == 0)
        return EG_OK;
    bool many = n > EG_MANY_TASKS || rows > EG_MANY_TASKS;
    double w = (EG_HEAT_WIDTH - EG_HEAT_LEFT - 4) / (double)n, room = 290 / (double)rows;
    double h = many ? (EG_HEAT_WIDTH - EG_HEAT_LEFT - 4) / (double)rows
                    : fmin(fmax(w, 4), fmin(46, fmax(room, 3)));
    const char *title = eg_run_has_boxes(r) ? "mAP matrix" : "Accuracy matrix";
    eg_figure_open(p, title,
                   many ? "The stronger the colour, the higher the accuracy. Read down a "
                          "column to see a task "
                          "being learned and what happens to it afterwards."
                        : "Read down a column to see a task being learned (framed) and what "
                          "happens to it afterwards.");
    eg_svg_open(p, "matrix", EG_HEAT_WIDTH, EG_HEAT_TOP + (double)rows * h + 6,
                "Accuracy matrix in percent",
                "A heat map: rows are the ends of tasks, columns the tasks tested.");
    eg_heat_numbers(
        p,
        &(eg_heat_sides){
            .rows = rows, .columns = n, .across = "tested on task", .down = "after task"},
        w, h);
    if (many) {
        eg_image im;
        EG_TRY(matrix_image(p, g, end, rows, &im));
        EG_TRY(eg_heat_picture(
            p, &im, (eg_box){EG_HEAT_LEFT, EG_HEAT_TOP, w * (double)n, h * (double)rows}));
    } else {
        matrix_cells(p, g, w, h);
    }
    eg_svg_close(p);
    if (eg_figure_task_table(p, "accuracy in percent", n > rows ? n : rows))
        matrix_table(p, g);
    eg_figure_close(p);
    return EG_OK;
}

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
