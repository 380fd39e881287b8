/* table.h - the table of a comparison, as cells that every form prints.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_TABLE_H
#define EG_REPORT_TABLE_H

#include "report/group.h"

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
} eg_grid;

/* Makes the cells. brief: long labels lose their middle. sort: the name of a value of the
 * summary, "label" or "seeds"; NULL: in the order of the groups. EG_EINVAL: there is no such
 * column. */
eg_status eg_grid_fill(eg_groups *g, bool brief, const char *sort, eg_grid *out);

/* The groups in that order. */
eg_status eg_grid_sort(eg_groups *g, const char *sort, const eg_group ***out);

/* What is to be said below a table, a line each: n texts of the arena. */
eg_status eg_grid_notes(eg_groups *g, const eg_grid *t, const char ***out, size_t *n);

/* Prints it for a terminal of so many columns (0: any), for Markdown, for LaTeX. */
eg_status eg_grid_text(FILE *f, eg_groups *g, const eg_grid *t, const eg_compare_how *how);
eg_status eg_grid_markdown(FILE *f, eg_groups *g, const eg_grid *t);
eg_status eg_grid_latex(FILE *f, eg_groups *g, const eg_grid *t);

/* For programs: numbers, not rounded. */
eg_status eg_grid_json(FILE *f, const eg_groups *g, const eg_group *const *order);
void eg_grid_csv(FILE *f, const eg_groups *g, const eg_group *const *order);

#endif
