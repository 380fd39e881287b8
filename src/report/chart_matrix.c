/* chart_matrix.c - the accuracy matrix as a heat map, and what became of each task.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart.h"

#include <inttypes.h>
#include <math.h>

enum { MATRIX_WIDTH = 470, MATRIX_LEFT = 62, MATRIX_TOP = 40 };

/* A cell is the card's colour at 0 and this at 100 %. */
static const eg_colour matrix_card = {0xffffff, 0x171b22}, matrix_heat = {0x083d77, 0x58a6ff};
static const eg_colour matrix_lost = {0xd55e00, 0xff8f4a};

typedef struct matrix_box {
    double x, y, w, h;
} matrix_box;

static void matrix_cell(eg_page *p, const eg_runlog_row *row, int64_t task, double acc,
                        matrix_box b, bool own)
{
    char text[32];
    eg_show_percent(text, acc);
    eg_colour paper =
        eg_colour_mix(matrix_card, matrix_heat, isnan(acc) ? 0 : 0.04 + 0.96 * acc);
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, paper);
    fprintf(p->f,
            "><title>after task %" PRId64 ", on task %" PRId64
            ": %s %%</title><rect class=\"heat%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/>",
            row->period, task + 1, text, own ? " ownheat" : "", b.x, b.y, b.w - 2, b.h - 2);
    int digits = acc >= 0.9995 ? 3 : acc >= 0.0995 ? 2 : 1;
    if (b.w >= 26) {
        fprintf(p->f, "<g ");
        eg_svg_colour(p->f, eg_colour_ink(paper));
        fprintf(p->f, "><text class=\"own mid\" x=\"%.1f\" y=\"%.1f\">%.*s</text></g>",
                b.x + b.w / 2 - 1, b.y + b.h / 2 + 3, b.w >= 36 ? 31 : digits, text);
    }
    fprintf(p->f, "</g>\n");
}

static void matrix_numbers(eg_page *p, int64_t n, double w, double h, int64_t rows)
{
    int64_t stride = n / 20 + 1;
    for (int64_t t = 0; t < n; t += stride)
        fprintf(p->f, "<text class=\"dim mid\" x=\"%.1f\" y=\"%d\">%" PRId64 "</text>",
                MATRIX_LEFT + ((double)t + 0.5) * w - 1, MATRIX_TOP - 8, t + 1);
    for (int64_t i = 0; i < rows; i += stride)
        fprintf(p->f, "<text class=\"dim end\" x=\"%d\" y=\"%.1f\">%" PRId64 "</text>",
                MATRIX_LEFT - 8, MATRIX_TOP + ((double)i + 0.5) * h + 3, i + 1);
    fprintf(p->f,
            "<text class=\"dim mid\" x=\"%.1f\" y=\"14\">tested on task</text>"
            "<text class=\"dim mid\" transform=\"translate(14 %.1f) rotate(-90)\">after "
            "task</text>\n",
            MATRIX_LEFT + (double)n * w / 2, MATRIX_TOP + (double)rows * h / 2);
}

static void matrix_table(eg_page *p, const eg_group *g)
{
    const eg_runlog *r = g->run[0];
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

void eg_chart_matrix(eg_page *p, const eg_group *g)
{
    const eg_runlog *r = g->run[0];
    int64_t rows = 0;
    for (size_t i = 0; i < r->n_row; i++)
        rows += r->row[i].task_end;
    if (rows == 0)
        return;
    double w = (MATRIX_WIDTH - MATRIX_LEFT - 4) / (double)r->start->tasks;
    double h = fmin(fmax(w, 4), fmin(46, fmax(290 / (double)rows, 3)));
    double y = MATRIX_TOP;
    eg_figure_open(
        p, "Accuracy matrix",
        "Read down a column to see a task being learned (framed) and what happens to "
        "it afterwards.");
    eg_svg_open(p, "matrix", MATRIX_WIDTH, MATRIX_TOP + (double)rows * h + 6,
                "Accuracy matrix in percent",
                "A heat map: rows are the ends of tasks, columns the tasks tested. The table "
                "below holds the numbers.");
    matrix_numbers(p, r->start->tasks, w, h, rows);
    for (size_t i = 0; i < r->n_row; i++) {
        if (!r->row[i].task_end)
            continue;
        for (int64_t t = 0; t < r->start->tasks; t++)
            matrix_cell(p, &r->row[i], t, eg_group_acc(g, r->row[i].round, t).mean,
                        (matrix_box){MATRIX_LEFT + (double)t * w, y, w, h},
                        r->start->learned[t] == r->row[i].period);
        y += h;
    }
    eg_svg_close(p);
    eg_figure_table(p, "accuracy in percent");
    matrix_table(p, g);
    eg_figure_close(p);
}

/* One task: what it still has, and beside it what it has lost. */
static void forgetting_bar(eg_page *p, const eg_group *g, const eg_frame *m, int64_t task,
                           double y, double h)
{
    const eg_runlog *r = g->run[0];
    const eg_runlog_row *last = eg_runlog_last(r);
    double now = eg_group_acc(g, last->round, task).mean, fall = eg_group_fall(g, task).mean;
    char now_text[32], fall_text[32], gap_text[32];
    bool learned = r->start->learned[task] > 0 && r->start->learned[task] <= last->period;
    if (isnan(now))
        return;
    eg_show_percent(now_text, now);
    eg_show_percent(fall_text, fall);
    eg_show_percent(gap_text, fabs(fall));
    double x = eg_frame_x(m, now);
    fprintf(p->f, "<g><title>task %" PRId64 ": %s %% at the end", task + 1, now_text);
    if (!isnan(fall))
        fprintf(p->f, ", %s points %s its best before", gap_text, fall < 0 ? "above" : "below");
    fprintf(p->f,
            "</title><text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">%s%" PRId64 "</text><g ",
            m->left - 8, y + h / 2 + 4, h >= 14 ? "task " : "", task + 1);
    eg_svg_colour(p->f, eg_colour_task(task, r->start->tasks));
    fprintf(p->f,
            "><rect class=\"fill\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>",
            m->left, y, fmax(x - m->left, 0.8), h);
    if (fall > 0) {
        fprintf(p->f, "<g ");
        eg_svg_colour(p->f, matrix_lost);
        fprintf(p->f,
                "><rect class=\"lost\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                "height=\"%.1f\"/></g>",
                x + 1, y + 0.5, fmax(eg_frame_x(m, now + fall) - x - 1.5, 0.5), h - 1);
    }
    if (h >= 9)
        fprintf(p->f, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                eg_frame_x(m, now + fmax(isnan(fall) ? 0 : fall, 0)) + 6, y + h / 2 + 4,
                !isnan(fall) ? fall_text
                : learned    ? "just learned"
                             : "not learned yet");
    fprintf(p->f, "</g>\n");
}

static void forgetting_table(eg_page *p, const eg_group *g)
{
    const eg_runlog *r = g->run[0];
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "task");
    eg_cell_head(p, "at the end");
    eg_cell_head(p, "fall from its best");
    fprintf(p->f, "</tr>\n");
    for (int64_t t = 0; t < r->start->tasks; t++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, t + 1);
        eg_cell_spread(p, eg_group_acc(g, eg_runlog_last(r)->round, t));
        eg_cell_spread(p, eg_group_fall(g, t));
        fprintf(p->f, "</tr>\n");
    }
}

void eg_chart_forgetting(eg_page *p, const eg_group *g)
{
    const eg_runlog *r = g->run[0];
    const eg_runlog_row *last = eg_runlog_last(r);
    if (!last)
        return;
    double step = fmin(44, fmax(290 / (double)r->start->tasks, 8)), h = step * 0.68;
    eg_frame m = {.left = MATRIX_LEFT, .right = MATRIX_WIDTH - 56, .top = 16, .x1 = 1, .y1 = 1};
    m.bottom = m.top + step * (double)r->start->tasks + 4;
    eg_figure_open(
        p, "Forgetting by task",
        "Solid: accuracy at the end. Outlined, and as a number: how many points the task has "
        "fallen from its best before; below 0 it has gained.");
    eg_svg_open(
        p, "forgetting", MATRIX_WIDTH, m.bottom + 24, "Forgetting by task",
        "Bars of each task's final accuracy, and its fall from the best. The table below "
        "holds the numbers.");
    for (int k = 0; k <= 100; k += 25)
        fprintf(p->f,
                "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/><text class=\"dim mid\" x=\"%.1f\" "
                "y=\"%.1f\">%d%s</text>\n",
                k ? "grid" : "axis", eg_frame_x(&m, k / 100.0), m.top - 4, m.bottom,
                eg_frame_x(&m, k / 100.0), m.bottom + 16, k, k == 100 ? " %" : "");
    for (int64_t t = 0; t < r->start->tasks; t++)
        forgetting_bar(p, g, &m, t, m.top + (double)t * step + (step - h) / 2, h);
    eg_svg_close(p);
    eg_figure_table(p, "percent and points");
    forgetting_table(p, g);
    eg_figure_close(p);
}
