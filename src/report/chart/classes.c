/* classes.c - what models take for what at their end: the confusion matrix, and class by class.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many images of class number `row` got class number `column` for an answer. */
typedef struct taken_cell {
    int64_t row, column, n;
} taken_cell;

typedef struct taken {
    int64_t n;                       /* classes that were tested or answered; 0: none were */
    int64_t *number;                 /* [n] ascending: what each number stands for */
    const char **name;               /* [n] what each is called; "3" where nobody says */
    int64_t *tested, *right, *worst; /* [n] images; right ones; the wrong answer given most, as
                                      * a number, -1: none */
    taken_cell *cell;                /* [n_cells] by row, then by column; none is empty */
    size_t n_cells;
} taken;

/* The last of a run; NULL: there is none. */
static const eg_confusion_event *taken_last(const eg_run *r)
{
    return r->log->n_confusion ? &r->log->confusion[r->log->n_confusion - 1] : NULL;
}

static int taken_compare_classes(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The classes of all cells, each once. n_most: of all, with those that come again. */
static eg_status taken_classes(eg_arena *a, const eg_group *g, size_t n_most, taken *out)
{
    size_t n = 0;
    out->number = eg_arena_alloc(a, n_most * sizeof *out->number);
    if (!out->number)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        const eg_confusion_event *e = taken_last(g->run[i]);
        for (size_t k = 0; e && k < e->n_cells; k += 3) {
            out->number[n++] = e->cells[k];
            out->number[n++] = e->cells[k + 1];
        }
    }
    qsort(out->number, n, sizeof *out->number, taken_compare_classes);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out->number[i] != out->number[out->n - 1])
            out->number[out->n++] = out->number[i];
    return EG_OK;
}

/* Names of the data, or numbers. */
static eg_status taken_names(eg_arena *a, const eg_group *g, taken *t)
{
    const eg_start_event *run = g->run[0]->start;
    t->name = eg_arena_alloc(a, (size_t)t->n * sizeof *t->name);
    if (!t->name)
        return EG_ENOMEM;
    for (int64_t k = 0; k < t->n; k++) {
        t->name[k] = run->names && t->number[k] < run->classes
                         ? run->names[t->number[k]]
                         : eg_arena_text(a, "%" PRId64, t->number[k]);
        if (!t->name[k])
            return EG_ENOMEM;
    }
    return EG_OK;
}

static int64_t taken_number(const taken *t, int64_t class)
{
    const int64_t *at =
        bsearch(&class, t->number, (size_t)t->n, sizeof class, taken_compare_classes);
    return at - t->number;
}

static int taken_compare_cells(const void *a, const void *b)
{
    const taken_cell *x = a, *y = b;
    int by_row = (x->row > y->row) - (x->row < y->row);
    return by_row ? by_row : (x->column > y->column) - (x->column < y->column);
}

/* The cells of all seeds, those of one place together. */
static eg_status taken_cells(eg_arena *a, const eg_group *g, size_t n_most, taken *out)
{
    size_t n = 0;
    out->cell = eg_arena_alloc(a, n_most * sizeof *out->cell);
    if (!out->cell)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        const eg_confusion_event *e = taken_last(g->run[i]);
        for (size_t k = 0; e && k < e->n_cells; k += 3)
            out->cell[n++] = (taken_cell){taken_number(out, e->cells[k]),
                                          taken_number(out, e->cells[k + 1]), e->cells[k + 2]};
    }
    qsort(out->cell, n, sizeof *out->cell, taken_compare_cells);
    for (size_t i = 0; i < n; i++) {
        taken_cell *last = out->n_cells ? &out->cell[out->n_cells - 1] : NULL;
        if (last && taken_compare_cells(last, &out->cell[i]) == 0)
            last->n += out->cell[i].n;
        else
            out->cell[out->n_cells++] = out->cell[i];
    }
    return EG_OK;
}

static eg_status taken_sums(eg_arena *a, taken *t)
{
    size_t n = (size_t)t->n;
    int64_t *all = eg_arena_alloc(a, 4 * n * sizeof *all), *most = all + 3 * n;
    if (!all)
        return EG_ENOMEM;
    memset(all, 0, 4 * n * sizeof *all);
    t->tested = all, t->right = all + n, t->worst = all + 2 * n;
    for (size_t i = 0; i < n; i++)
        t->worst[i] = -1;
    for (size_t i = 0; i < t->n_cells; i++) {
        const taken_cell *c = &t->cell[i];
        t->tested[c->row] += c->n;
        if (c->row == c->column)
            t->right[c->row] += c->n;
        else if (c->n > most[c->row])
            most[c->row] = c->n, t->worst[c->row] = c->column;
    }
    return EG_OK;
}

static eg_status taken_make(eg_arena *a, const eg_group *g, taken *out)
{
    size_t n = 0;
    *out = (taken){0};
    for (size_t i = 0; i < g->n; i++)
        n += taken_last(g->run[i]) ? taken_last(g->run[i])->n_cells / 3 : 0;
    if (n == 0)
        return EG_OK;
    EG_TRY(taken_classes(a, g, 2 * n, out));
    EG_TRY(taken_names(a, g, out));
    EG_TRY(taken_cells(a, g, n, out));
    return taken_sums(a, out);
}

enum { CONFUSION_CELLS = 30, CONFUSION_LISTED = 20 };

/* The share of a cell among the images of its class. */
static double confusion_share(const taken *t, const taken_cell *c)
{
    return (double)c->n / (double)t->tested[c->row];
}

/* Where cells begin: behind the names of classes. */
static double confusion_left(const taken *t)
{
    double widest = 0;
    for (int64_t k = 0; k < t->n; k++)
        widest = fmax(widest, eg_svg_label_width(t->name[k], 0));
    return fmin(fmax(EG_HEAT_LEFT, widest + 16), 2 * EG_HEAT_LEFT);
}

static void confusion_cells(eg_page *p, const taken *t, double left, double side)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        const taken_cell *c = &t->cell[i];
        char tip[240];
        snprintf(tip, sizeof tip, "class %s taken for %s, %" PRId64 " images", t->name[c->row],
                 t->name[c->column], c->n);
        eg_heat_cell(p,
                     (eg_box){left + (double)c->column * side,
                              EG_HEAT_TOP + (double)c->row * side, side, side},
                     confusion_share(t, c), tip, c->row == c->column);
    }
}

/* A pixel for a cell, or for several: the share of the images of its classes. */
static eg_status confusion_picture(eg_page *p, const taken *t, double left, double side)
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
    return eg_heat_picture(p, &im, (eg_box){left, EG_HEAT_TOP, all, all});
}

static int confusion_compare(const void *a, const void *b)
{
    const taken_cell *x = a, *y = b;
    return x->n != y->n       ? (x->n < y->n) - (x->n > y->n)
           : x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                              : (x->column > y->column) - (x->column < y->column);
}

/* The mistakes made most. */
static eg_status confusion_table(eg_page *p, const taken *t)
{
    size_t n = 0;
    taken_cell *wrong = eg_arena_alloc(&p->arena, (t->n_cells + 1) * sizeof *wrong);
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
        eg_cell_head(p, "%s", t->name[wrong[i].row]);
        eg_cell_text(p, t->name[wrong[i].column]);
        eg_cell_count(p, wrong[i].n);
        eg_cell_percent(p, confusion_share(t, &wrong[i]));
        fprintf(p->f, "</tr>\n");
    }
    return EG_OK;
}

static eg_status confusion_figure(eg_page *p, const taken *t)
{
    double left = confusion_left(t), side = (EG_HEAT_WIDTH - left - 4) / (double)t->n;
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
                                     .name = t->name,
                                     .left = left,
                                     .across = "the answer",
                                     .down = "the class"},
                    side, side);
    if (t->n > CONFUSION_CELLS)
        EG_TRY(confusion_picture(p, t, left, side));
    else
        confusion_cells(p, t, left, side);
    eg_svg_close(p);
    EG_TRY(confusion_table(p, t));
    eg_figure_close(p);
    return EG_OK;
}

enum { CLASSES_WIDTH = 470, CLASSES_LISTED = 200 };

/* Classes number [first, last] in one bar. */
typedef struct classes_bin {
    int64_t first, last, tested, right;
} classes_bin;

static classes_bin classes_sum(const taken *t, int64_t first, int64_t last)
{
    classes_bin b = {.first = first, .last = last};
    for (int64_t k = first; k <= last; k++) {
        b.tested += t->tested[k];
        b.right += t->right[k];
    }
    return b;
}

static void classes_bar(eg_page *p, const eg_svg_frame *m, const taken *t, const classes_bin *b,
                        double y, double h)
{
    char percent[32];
    if (b->tested == 0) /* only answered: no client has met it */
        return;
    double share = (double)b->right / (double)b->tested;
    eg_show_percent(percent, share);
    fprintf(p->f, "<g><title>class%s ", b->first < b->last ? "es" : "");
    eg_html_text(p->f, t->name[b->first]);
    if (b->first < b->last) {
        fprintf(p->f, " to ");
        eg_html_text(p->f, t->name[b->last]);
    }
    fprintf(p->f, ": %s %% of %" PRId64 " images</title>", percent, b->tested);
    if (h >= 8 || b->first / (b->last - b->first + 1) % 2 == 0) /* else every other has room */
        eg_svg_cut(p, "dim end", m->left - 8, y + h / 2 + 4, m->left - 8, t->name[b->first]);
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, eg_colour_task(b->first, t->n));
    fprintf(p->f,
            "><rect class=\"fill\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>",
            m->left, y, fmax(eg_svg_x(m, share) - m->left, 0.8), h);
    if (h >= 9)
        fprintf(p->f, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                eg_svg_x(m, share) + 6, y + h / 2 + 4, percent);
    fprintf(p->f, "</g>\n");
}

static void classes_table(eg_page *p, const taken *t)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "class");
    eg_cell_head(p, "images");
    eg_cell_head(p, "right");
    eg_cell_head(p, "else mostly taken for");
    fprintf(p->f, "</tr>\n");
    for (int64_t k = 0; k < t->n; k++) {
        if (t->tested[k] == 0)
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%s", t->name[k]);
        eg_cell_count(p, t->tested[k]);
        eg_cell_percent(p, (double)t->right[k] / (double)t->tested[k]);
        if (t->worst[k] < 0)
            fprintf(p->f, "<td>–</td>");
        else
            eg_cell_text(p, t->name[t->worst[k]]);
        fprintf(p->f, "</tr>\n");
    }
}

static void classes_figure(eg_page *p, const taken *t)
{
    int64_t each = eg_tasks_together(t->n), bars = (t->n + each - 1) / each;
    double step = fmin(36, fmax(380 / (double)bars, 8)), h = step * 0.68;
    eg_svg_frame m = {
        .left = fmin(confusion_left(t) - 20, 120), .right = CLASSES_WIDTH - 60, .top = 16};
    m.x1 = m.y1 = 1;
    m.bottom = m.top + step * (double)bars + 4;
    eg_figure_open(p, "Accuracy by class",
                   each > 1 ? "Of the test images of neighbouring classes, each counted once, "
                              "how many are told right at the end."
                            : "Of the test images of each class that was met, each counted "
                              "once, how many are told right at the end.");
    eg_svg_open(p, "classes", CLASSES_WIDTH, m.bottom + 24, "Accuracy by class",
                "Bars of the share of each class's images that are told right.");
    eg_svg_shares(p, &m);
    for (int64_t i = 0; i < bars; i++) {
        int64_t last = (i + 1) * each < t->n ? (i + 1) * each - 1 : t->n - 1;
        classes_bin b = classes_sum(t, i * each, last);
        classes_bar(p, &m, t, &b, m.top + (double)i * step + (step - h) / 2, h);
    }
    eg_svg_close(p);
    if (t->n > CLASSES_LISTED) {
        fprintf(p->f, "<p class=\"where\">The numbers are in the run&#39;s %s.</p>",
                EG_RUN_CLASSES);
    } else {
        eg_figure_table(p, "percent by class");
        classes_table(p, t);
    }
    eg_figure_close(p);
}

eg_status eg_chart_classes(eg_page *p, const eg_group *g)
{
    taken t;
    EG_TRY(taken_make(&p->arena, g, &t));
    if (t.n == 0)
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    EG_TRY(confusion_figure(p, &t));
    classes_figure(p, &t);
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
