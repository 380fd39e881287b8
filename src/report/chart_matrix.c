/* chart_matrix.c - the accuracy matrix as a heat map.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of many tasks it is a picture, a pixel for a cell or for several: elements for each would be
 * as many as the square of the tasks.
 */
#include "report/chart.h"

#include "io/png.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MATRIX_WIDTH = 470, MATRIX_LEFT = 62, MATRIX_TOP = 40, MATRIX_PIXELS = 400 };

/* A cell is the card's colour at 0 and this at 100 %. */
static const eg_colour matrix_card = {0xffffff, 0x171b22}, matrix_heat = {0x083d77, 0x58a6ff};

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
    int64_t most = n > rows ? n : rows, stride = most / (most < 100 ? 20 : 12) + 1;
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
    return n > 0 ? (uint8_t)lround(255 * (0.04 + 0.96 * sum / (double)n)) : 0;
}

/* A picture of the matrix, light where accuracy is high. end [rows]: rounds. */
static eg_status matrix_image(eg_page *p, const eg_group *g, const int64_t *end, int64_t rows,
                              eg_image *im)
{
    int64_t n = g->run[0]->start->tasks;
    *im = (eg_image){.channels = 1};
    im->height = rows < MATRIX_PIXELS ? rows : MATRIX_PIXELS;
    im->width = n < MATRIX_PIXELS ? n : MATRIX_PIXELS;
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

/* The picture is a mask of the heat's colour, so that it fits light pages and dark ones. */
static eg_status matrix_picture(eg_page *p, const eg_group *g, const int64_t *end, int64_t rows,
                                matrix_box b)
{
    eg_image im;
    uint8_t *bytes;
    size_t n;
    EG_TRY(matrix_image(p, g, end, rows, &im));
    EG_TRY(eg_png_print(&im, &bytes, &n));
    fprintf(p->f,
            "<mask id=\"m%d\"><image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
            "href=\"data:image/png;base64,",
            p->n_charts, b.x, b.y, b.w, b.h);
    eg_html_base64(p->f, bytes, n);
    free(bytes);
    fprintf(p->f, "\"/></mask><g ");
    eg_svg_colour(p->f, matrix_heat);
    fprintf(p->f,
            "><rect class=\"fill\" mask=\"url(#m%d)\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>\n",
            p->n_charts, b.x, b.y, b.w, b.h);
    return EG_OK;
}

/* Each cell by itself. */
static void matrix_cells(eg_page *p, const eg_group *g, double w, double h)
{
    const eg_runlog *r = g->run[0];
    double y = MATRIX_TOP;
    for (size_t i = 0; i < r->n_row; i++) {
        if (!r->row[i].task_end)
            continue;
        for (int64_t t = 0; t < r->start->tasks; t++)
            matrix_cell(p, &r->row[i], t, eg_group_acc(g, r->row[i].round, t).mean,
                        (matrix_box){MATRIX_LEFT + (double)t * w, y, w, h},
                        r->start->learned[t] == r->row[i].period);
        y += h;
    }
}

/* The rounds of the task rows, of the arena. */
static eg_status matrix_ends(eg_page *p, const eg_runlog *r, int64_t **out, int64_t *n)
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
    const eg_runlog *r = g->run[0];
    int64_t rows, *end, n = r->start->tasks;
    EG_TRY(matrix_ends(p, r, &end, &rows));
    if (rows == 0)
        return EG_OK;
    bool many = n > EG_MANY_TASKS || rows > EG_MANY_TASKS;
    double w = (MATRIX_WIDTH - MATRIX_LEFT - 4) / (double)n, room = 290 / (double)rows;
    double h = many ? (MATRIX_WIDTH - MATRIX_LEFT - 4) / (double)rows
                    : fmin(fmax(w, 4), fmin(46, fmax(room, 3)));
    eg_figure_open(p, "Accuracy matrix",
                   many ? "The stronger the colour, the higher the accuracy. Read down a "
                          "column to see a task "
                          "being learned and what happens to it afterwards."
                        : "Read down a column to see a task being learned (framed) and what "
                          "happens to it afterwards.");
    eg_svg_open(p, "matrix", MATRIX_WIDTH, MATRIX_TOP + (double)rows * h + 6,
                "Accuracy matrix in percent",
                "A heat map: rows are the ends of tasks, columns the tasks tested.");
    matrix_numbers(p, n, w, h, rows);
    if (many)
        EG_TRY(matrix_picture(
            p, g, end, rows,
            (matrix_box){MATRIX_LEFT, MATRIX_TOP, w * (double)n, h * (double)rows}));
    else
        matrix_cells(p, g, w, h);
    eg_svg_close(p);
    if (eg_figure_task_table(p, "accuracy in percent", n > rows ? n : rows))
        matrix_table(p, g);
    eg_figure_close(p);
    return EG_OK;
}
