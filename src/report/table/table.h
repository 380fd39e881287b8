/* table.h - the table of a comparison, as cells that every form prints.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_TABLE_H
#define EG_REPORT_TABLE_H

#include "io/json.h"
#include "report/table/paired.h"

#include <stdio.h>

typedef enum eg_cell_style { EG_CELL_PLAIN, EG_CELL_BEST, EG_CELL_PUBLISHED } eg_cell_style;

typedef struct eg_cell {
    const char *text;
    eg_cell_style style;
} eg_cell;

/* A grid of cells; a published figure is a column of its own beside ours. */
typedef struct eg_grid {
    size_t rows, columns; /* row 0 holds the headings, column 0 the labels */
    eg_cell *cell;        /* [rows, columns], of the groups' arena */
    int *weight;          /* [columns], what stays when there is no room */
    const eg_group **of;  /* [rows], the group in each row; NULL in row 0 */
    eg_against against;   /* what the differences are to */
} eg_grid;

/* Makes the cells; on a terminal long labels lose their middle. EG_EINVAL: there is no such
 * column to sort by, or no label to hold the others against. */
eg_status eg_grid_fill(eg_groups *g, const eg_compare_how *how, eg_grid *out);
/* An empty grid of the arena; its cells are set one by one. */
eg_status eg_grid_alloc(eg_groups *g, size_t rows, size_t columns, eg_grid *out);
eg_status eg_grid_set(eg_groups *g, eg_grid *t, size_t row, size_t column, const char *text,
                      eg_cell_style style);
eg_status eg_grid_label(eg_groups *g, eg_grid *t, size_t row, bool brief); /* of its group */
enum { EG_GRID_ALWAYS = 1000 }; /* the weight of what is never left out */

/* The heading of published figures that are of larger runs: it leads to the note below. */
#define EG_GRID_STARRED "published*"

/* The groups in that order. */
eg_status eg_grid_sort(eg_groups *g, const char *sort, const eg_group ***out);

/* What is to be said below a table, one line each: n texts of the arena. */
eg_status eg_grid_notes(eg_groups *g, const eg_grid *t, const char ***out, size_t *n);

/* Prints it for a terminal of so many columns (0: any), for Markdown, for LaTeX. */
eg_status eg_grid_text(FILE *f, eg_groups *g, const eg_grid *t, const eg_compare_how *how);
eg_status eg_grid_markdown(FILE *f, eg_groups *g, const eg_grid *t);
eg_status eg_grid_latex(FILE *f, eg_groups *g, const eg_grid *t);

/* For programs: numbers, not rounded. */
eg_status eg_grid_json(FILE *f, const eg_groups *g, const eg_group *const *order,
                       const eg_against *against);
void eg_grid_csv(FILE *f, const eg_groups *g, const eg_group *const *order,
                 const eg_against *against);
/* Prints an array of n objects; fill makes the i-th. */
typedef eg_status (*eg_grid_fill_json)(const void *context, size_t i, eg_json *row);
eg_status eg_grid_json_rows(FILE *f, size_t n, eg_grid_fill_json fill, const void *context);
eg_json *eg_grid_json_number(double x); /* null if it is not a number */
/* A text, or ",", and a number, as RFC 4180 has them. */
void eg_csv_text(FILE *f, const char *text);
void eg_csv_number(FILE *f, double x);

#endif
