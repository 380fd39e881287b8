/* chart_confusion.c - what is taken for what: the confusion matrix as a heat map.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/heat.h"
#include "report/taken.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFUSION_CELLS = 30, CONFUSION_LISTED = 20 };

/* The share of a cell among the images of its class. */
static double confusion_share(const eg_taken *t, const eg_taken_cell *c)
{
    return (double)c->n / (double)t->tested[c->row];
}

static void confusion_cells(eg_page *p, const eg_taken *t, double side)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        const eg_taken_cell *c = &t->cell[i];
        char tip[120];
        snprintf(tip, sizeof tip, "class %" PRId64 " taken for %" PRId64 ", %" PRId64 " images",
                 t->class[c->row], t -> class[c->column], c -> n);
        eg_heat_cell(p,
                     (eg_box){EG_HEAT_LEFT + (double)c->column * side,
                              EG_HEAT_TOP + (double)c->row * side, side, side},
                     confusion_share(t, c), tip, c->row == c->column);
    }
}

/* A pixel for a cell, or for several: the share of the images of its classes. */
static eg_status confusion_picture(eg_page *p, const eg_taken *t, double side)
{
    int64_t n = t->n < EG_HEAT_PIXELS ? t->n : EG_HEAT_PIXELS;
    size_t size = (size_t)(n * n);
    eg_image im = {.channels = 1, .height = n, .width = n};
    double *sum = eg_arena_alloc(&p->arena, size * sizeof *sum);
    double *whole = eg_arena_alloc(&p->arena, (size_t)n * sizeof *whole);
    im.pixels = eg_arena_alloc(&p->arena, size);
    if (!sum || !whole || !im.pixels)
        return EG_ENOMEM;
    memset(sum, 0, size * sizeof *sum);
    memset(whole, 0, (size_t)n * sizeof *whole);
    for (int64_t k = 0; k < t->n; k++)
        whole[k * n / t->n] += (double)t->tested[k];
    for (size_t i = 0; i < t->n_cells; i++)
        sum[t->cell[i].row * n / t->n * n + t->cell[i].column * n / t->n] +=
            (double)t->cell[i].n;
    for (size_t i = 0; i < size; i++) {
        double all = whole[i / (size_t)n];
        im.pixels[i] = eg_heat_shade(sum[i] > 0 ? sum[i] / all : NAN);
    }
    double all = side * (double)t->n;
    return eg_heat_picture(p, &im, (eg_box){EG_HEAT_LEFT, EG_HEAT_TOP, all, all});
}

static int confusion_compare(const void *a, const void *b)
{
    const eg_taken_cell *x = a, *y = b;
    return x->n != y->n       ? (x->n < y->n) - (x->n > y->n)
           : x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                              : (x->column > y->column) - (x->column < y->column);
}

/* The mistakes made most. */
static eg_status confusion_table(eg_page *p, const eg_taken *t)
{
    size_t n = 0;
    eg_taken_cell *wrong = eg_arena_alloc(&p->arena, (t->n_cells + 1) * sizeof *wrong);
    if (!wrong)
        return EG_ENOMEM;
    for (size_t i = 0; i < t->n_cells; i++)
        if (t->cell[i].row != t->cell[i].column)
            wrong[n++] = t->cell[i];
    qsort(wrong, n, sizeof *wrong, confusion_compare);
    eg_figure_table(p, "the mistakes made most");
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "class");
    eg_cell_head(p, "taken for");
    eg_cell_head(p, "images");
    eg_cell_head(p, "of its class");
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < n && i < CONFUSION_LISTED; i++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, t->class[wrong[i].row]);
        eg_cell_count(p, t->class[wrong[i].column]);
        eg_cell_count(p, wrong[i].n);
        eg_cell_percent(p, confusion_share(t, &wrong[i]));
        fprintf(p->f, "</tr>\n");
    }
    return EG_OK;
}

eg_status eg_chart_confusion(eg_page *p, const eg_taken *t)
{
    double side = (EG_HEAT_WIDTH - EG_HEAT_LEFT - 4) / (double)t->n;
    side = fmin(side, 60);
    eg_figure_open(p, "What is taken for what",
                   "Of the test images of a class (a row), each counted once, how many percent "
                   "the model takes for which class (the columns) at the end.");
    eg_svg_open(p, "confusion", EG_HEAT_WIDTH, EG_HEAT_TOP + (double)t->n * side + 6,
                "What is taken for what, in percent",
                "A heat map: rows are true classes, columns the answers.");
    eg_heat_numbers(p,
                    &(eg_heat_sides){.rows = t->n,
                                     .columns = t->n,
                                     .number = t->class,
                                     .across = "the answer",
                                     .down = "the class"},
                    side, side);
    if (t->n > CONFUSION_CELLS)
        EG_TRY(confusion_picture(p, t, side));
    else
        confusion_cells(p, t, side);
    eg_svg_close(p);
    EG_TRY(confusion_table(p, t));
    eg_figure_close(p);
    return EG_OK;
}
