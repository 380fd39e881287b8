/* svg.h - what the charts of a page are drawn with.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Colours come in pairs, for light and dark pages: an element of class "k" with the style of a
 * colour makes it the variable --k inside. All coordinates are pixels of the chart's own size.
 */
#ifndef EG_REPORT_SVG_H
#define EG_REPORT_SVG_H

#include "io/image.h"
#include "report/runs/group.h"

#include <stdio.h>

/* A page while it is written. */
typedef struct eg_page {
    FILE *f;
    const eg_groups *g;
    const eg_compare_how *how;    /* its table */
    const eg_group *const *order; /* [groups], of the table's rows */
    int n_charts;
    long long number; /* as eg_page_print has it */
    bool in_table;    /* a figure's table is open */
    eg_arena arena;   /* what charts are made of */
} eg_page;

/* Writes text so that it is safe in an element and in a quoted attribute. */
void eg_html_text(FILE *f, const char *text);

/* Writes bytes as base64 (RFC 4648). */
void eg_html_base64(FILE *f, const unsigned char *bytes, size_t n);

/* Says at the top of a box that it can be scrolled, on screens where it must be. */
void eg_html_hint(FILE *f, const char *what);

typedef struct eg_colour {
    unsigned light, dark; /* 0xrrggbb */
} eg_colour;

eg_colour eg_colour_task(int64_t task, int64_t n); /* a scale, as tasks have an order */
eg_colour eg_colour_label(size_t i);               /* far apart, as labels have none */
eg_colour eg_colour_mix(eg_colour a, eg_colour b, double part); /* part of b, rest of a */
eg_colour eg_colour_ink(eg_colour paper); /* black or white, whichever reads better on it */
int eg_dash_label(size_t i); /* 0 (none) to EG_DASHES, where labels share a colour */
void eg_svg_colour(FILE *f, eg_colour c); /* class="k" style="..." */

enum { EG_DASHES = 3 }; /* classes dash1, dash2, ... of lines and chips */

/* A chart: who draws it, its size, its title, and a sentence for those who cannot see it. */
void eg_svg_open(eg_page *p, const char *chart, double width, double height, const char *title,
                 const char *description);
void eg_svg_close(eg_page *p);

/* Where values are on a chart. */
typedef struct eg_svg_frame {
    double left, right, top, bottom; /* pixels */
    double x0, x1, y0, y1;           /* the values at left, right, bottom, top */
} eg_svg_frame;
double eg_svg_x(const eg_svg_frame *m, double x);
double eg_svg_y(const eg_svg_frame *m, double y);

/* 1, 2 or 5 times a power of ten, so that a span has at most n steps. */
double eg_svg_step(double span, int n);

/* Lets the frame span the values from low to high, up to round numbers; low above high: there
 * are none. */
void eg_axis_fit(eg_svg_frame *m, eg_unit unit, double low, double high);

/* The grid of that axis; numbers below, with their name. */
void eg_svg_axis(eg_page *p, const eg_svg_frame *m, eg_unit unit);
void eg_svg_numbers(eg_page *p, const eg_svg_frame *m, eg_unit unit, const char *name);

/* The grid of bars that go right, from 0 to 100 %. */
void eg_svg_shares(eg_page *p, const eg_svg_frame *m);

/* Bands over the rounds of each task: its name and a line where it ends. end[i] is its last
 * round. */
void eg_svg_tasks(eg_page *p, const eg_svg_frame *m, const int64_t *end, size_t n,
                  int64_t n_tasks);

/* The names of lines, written right of where they end and moved apart, up to an edge. */
typedef struct eg_label {
    double x, y; /* where the line ends */
    const char *text;
    eg_colour colour;
    bool strong;
    int dash;    /* shown before the text, unless 0 */
    size_t line; /* its number, by which the script hides it */
} eg_label;
void eg_svg_labels(eg_page *p, const eg_svg_frame *m, double edge, eg_label *labels, size_t n);

enum { EG_LABEL_GAP = 15 }; /* pixels from a label to the next */

/* About how wide such a label is; what goes beyond the edge is cut. */
double eg_svg_label_width(const char *text, int dash);

/* A small text at a point, cut to a width, with all of it to be pointed at where it was cut. */
void eg_svg_cut(eg_page *p, const char *look, double x, double y, double width,
                const char *text);

/* Heat maps: cells, or a picture of many. */

/* Where maps stand in their chart, and how many pixels the picture of one has at most. */
enum { EG_HEAT_WIDTH = 470, EG_HEAT_LEFT = 62, EG_HEAT_TOP = 40, EG_HEAT_PIXELS = 400 };

typedef struct eg_box {
    double x, y, w, h;
} eg_box;

/* A cell of a share from 0 to 1 (NaN: nothing is known), with its percent where there is room,
 * and what a reader is told who points at it. */
void eg_heat_cell(eg_page *p, eg_box b, double share, const char *tip, bool framed);

/* What stands along both sides: name[i], or i + 1 if it is NULL; what both are about. */
typedef struct eg_heat_sides {
    int64_t rows, columns;
    const char *const *name;
    const char *const *column; /* of columns; NULL: as of rows */
    double left;               /* where cells begin; 0: at EG_HEAT_LEFT */
    const char *across, *down;
} eg_heat_sides;
void eg_heat_numbers(eg_page *p, const eg_heat_sides *s, double w, double h);

/* A picture of shades, to fill a box: a share of each pixel, as eg_heat_shade has it. */
uint8_t eg_heat_shade(double share);
eg_status eg_heat_picture(eg_page *p, const eg_image *im, eg_box b);

#endif
