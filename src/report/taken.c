/* taken.c - what the models of a group take for what, added up over its seeds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/taken.h"

#include <stdlib.h>
#include <string.h>

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
static eg_status taken_classes(eg_arena *a, const eg_group *g, size_t n_most, eg_taken *out)
{
    size_t n = 0;
    out->class = eg_arena_alloc(a, n_most * sizeof *out->class);
    if (!out->class)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        const eg_confusion_event *e = taken_last(g->run[i]);
        for (size_t k = 0; e && k < e->n_cells; k += 3) {
            out->class[n++] = e->cells[k];
            out->class[n++] = e->cells[k + 1];
        }
    }
    qsort(out->class, n, sizeof *out->class, taken_compare_classes);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out->class[i] != out->class[out->n - 1])
            out->class[out->n++] = out->class[i];
    return EG_OK;
}

static int64_t taken_number(const eg_taken *t, int64_t class)
{
    const int64_t *at =
        bsearch(&class, t->class, (size_t)t->n, sizeof class, taken_compare_classes);
    return at - t->class;
}

static int taken_compare_cells(const void *a, const void *b)
{
    const eg_taken_cell *x = a, *y = b;
    int by_row = (x->row > y->row) - (x->row < y->row);
    return by_row ? by_row : (x->column > y->column) - (x->column < y->column);
}

/* The cells of all seeds, those of one place together. */
static eg_status taken_cells(eg_arena *a, const eg_group *g, size_t n_most, eg_taken *out)
{
    size_t n = 0;
    out->cell = eg_arena_alloc(a, n_most * sizeof *out->cell);
    if (!out->cell)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        const eg_confusion_event *e = taken_last(g->run[i]);
        for (size_t k = 0; e && k < e->n_cells; k += 3)
            out->cell[n++] =
                (eg_taken_cell){taken_number(out, e->cells[k]),
                                taken_number(out, e->cells[k + 1]), e->cells[k + 2]};
    }
    qsort(out->cell, n, sizeof *out->cell, taken_compare_cells);
    for (size_t i = 0; i < n; i++) {
        eg_taken_cell *last = out->n_cells ? &out->cell[out->n_cells - 1] : NULL;
        if (last && taken_compare_cells(last, &out->cell[i]) == 0)
            last->n += out->cell[i].n;
        else
            out->cell[out->n_cells++] = out->cell[i];
    }
    return EG_OK;
}

static eg_status taken_sums(eg_arena *a, eg_taken *t)
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
        const eg_taken_cell *c = &t->cell[i];
        t->tested[c->row] += c->n;
        if (c->row == c->column)
            t->right[c->row] += c->n;
        else if (c->n > most[c->row])
            most[c->row] = c->n, t->worst[c->row] = c->column;
    }
    return EG_OK;
}

eg_status eg_group_taken(eg_arena *a, const eg_group *g, eg_taken *out)
{
    size_t n = 0;
    *out = (eg_taken){0};
    for (size_t i = 0; i < g->n; i++)
        n += taken_last(g->run[i]) ? taken_last(g->run[i])->n_cells / 3 : 0;
    if (n == 0)
        return EG_OK;
    EG_TRY(taken_classes(a, g, 2 * n, out));
    EG_TRY(taken_cells(a, g, n, out));
    return taken_sums(a, out);
}
