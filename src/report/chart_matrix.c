/* chart_matrix.c - the accuracy matrix as a heat map.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/heat.h"

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
    eg_figure_open(p, "Accuracy matrix",
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
