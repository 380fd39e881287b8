/* chart.h - the charts of a page. Each writes one <figure>.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_CHART_H
#define EG_REPORT_CHART_H

#include "report/chart/svg.h"

/* A figure's frame: heading and a sentence, then the chart, then its numbers as a table. */
void eg_figure_open(eg_page *p, const char *heading, const char *sentence);
void eg_figure_table(eg_page *p, const char *heading); /* begins the table that can be opened */
void eg_figure_close(eg_page *p);                      /* ends the figure */

/* Charts of more tasks than this draw several as one, and leave their numbers to the run's
 * tables: else a page would grow with the square of the tasks. */
enum { EG_MANY_TASKS = 50 };
int64_t eg_tasks_together(int64_t n_tasks); /* how many are drawn as one */

/* As eg_figure_table; false, after saying where the numbers are, of too many tasks. */
bool eg_figure_task_table(eg_page *p, const char *heading, int64_t n_tasks);

/* Whether number i of n is drawn or listed where there is room for about `most`: every so many,
 * and the last. */
bool eg_chart_keeps(size_t i, size_t n, size_t most);

/* A heading, with the first seed in it if there are several: "Who took part, seed 0". */
const char *eg_figure_of_seed(eg_page *p, const eg_group *g, const char *heading);

/* Cells of that table. */
void eg_cell_head(eg_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void eg_cell_percent(eg_page *p, double fraction);
void eg_cell_spread(eg_page *p, eg_spread s);
void eg_cell_text(eg_page *p, const char *text);
void eg_cell_count(eg_page *p, int64_t n);
void eg_cell_unit(eg_page *p, eg_unit unit, double x);
void eg_cell_bytes(eg_page *p, double bytes);

typedef struct eg_chart_point {
    double x, y;      /* y NaN: a gap */
    double low, high; /* the band around y; NaN: none */
} eg_chart_point;
eg_chart_point eg_chart_point_of(double x,
                                 eg_spread s); /* in a band of one standard deviation */

typedef struct eg_seed {
    int64_t seed;
    const double *y; /* [n] of its line */
} eg_seed;

typedef struct eg_line {
    const char *name;
    eg_colour colour;
    const eg_chart_point *point;
    size_t n;
    double since; /* faint before this x */
    bool strong;
    int dash;            /* 0: none */
    const char *end;     /* what stands where it ends; NULL: its last value, and its name */
    const eg_seed *seed; /* [n_seeds] each by itself, shown on demand */
    size_t n_seeds;
} eg_line;

/* What a line shows of a group after a round. */
typedef eg_spread (*eg_line_value)(const eg_group *g, int64_t round, const void *context);

/* Gives a line, whose x are rounds, its seeds one by one; of a single one, none. */
eg_status eg_line_add_seeds(eg_page *p, const eg_group *g, eg_line_value value,
                            const void *context, eg_line *line);

typedef struct eg_line_chart {
    const char *chart, *title, *description, *x_name;
    const char *x_item;   /* "round" in tooltips */
    const char *range;    /* what the bands are: "±", or "from" one end to the other */
    eg_unit unit, x_unit; /* of the values; of x, 0 for rounds */
    bool small;           /* half as wide */
    double x0, x1;
    const eg_line *line;
    size_t n;
    const int64_t *task_end; /* [n_ends], or NULL */
    size_t n_ends;
    int64_t n_tasks;
} eg_line_chart;
void eg_chart_lines(eg_page *p, const eg_line_chart *c);

/* Charts of one group, over its seeds. */
void eg_page_tiles(eg_page *p, const eg_group *g); /* page/tiles.c: numbers at its head */
eg_status eg_chart_accuracy(eg_page *p, const eg_group *g);
eg_status eg_chart_matrix(eg_page *p, const eg_group *g);
void eg_chart_forgetting(eg_page *p, const eg_group *g);
eg_status eg_chart_clients(eg_page *p, const eg_group *g); /* the first seed */
eg_status eg_chart_bytes(eg_page *p, const eg_group *g);   /* the first seed; two figures */

eg_status eg_chart_each(eg_page *p, const eg_group *g);   /* the first seed */
eg_status eg_chart_rounds(eg_page *p, const eg_group *g); /* loss and time; two figures */
eg_status eg_chart_held(eg_page *p, const eg_group *g); /* the first seed: losses by client, and
                                                         * what memories hold; two figures */
eg_status eg_chart_notes(eg_page *p, const eg_group *g); /* a figure for each name */

eg_status eg_chart_sheets(eg_page *p, const eg_group *g); /* the first seed; several figures */

eg_status eg_chart_classes(eg_page *p, const eg_group *g); /* two figures, or none */

/* Of runs with boxes, the first seed: average precision over rounds, by class and against
 * recall; test images with what was found and missed. Nothing of others. */
eg_status eg_chart_rates(eg_page *p, const eg_group *g);
eg_status eg_chart_frames(eg_page *p, const eg_group *g);
bool eg_note_is_rate(const eg_run *r, const char *name); /* which is drawn there */

/* What a class is called, of the arena; what stands at the end of its line: "45.2 car". NULL:
 * out of memory. */
const char *eg_run_class(eg_page *p, const eg_run *r, int64_t class);
const char *eg_run_class_end(eg_page *p, const char *class, double share);

/* Of one group, or of all; nothing where no stream was met. */
eg_status eg_chart_met(eg_page *p, const eg_group *groups, size_t n);

/* Of one group, or of all: accuracy against bytes and against seconds; two figures. */
eg_status eg_chart_costs(eg_page *p, const eg_group *groups, size_t n);

/* Charts of all groups. */
eg_status eg_chart_compare(eg_page *p);
eg_status eg_chart_final(eg_page *p);
eg_status eg_chart_losses(eg_page *p);

/* The last rounds of the tasks as far as the run has got, of the arena; *n may be 0. */
eg_status eg_task_ends(eg_page *p, const eg_run *r, const int64_t **out, size_t *n);

#endif
