/* heat.h - what heat maps are drawn with: cells, or a picture of many.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_HEAT_H
#define EG_REPORT_HEAT_H

#include "io/image.h"
#include "report/chart.h"

/* Where maps stand in their chart, and how many pixels the picture of one has at most. */
enum { EG_HEAT_WIDTH = 470, EG_HEAT_LEFT = 62, EG_HEAT_TOP = 40, EG_HEAT_PIXELS = 400 };

typedef struct eg_box {
    double x, y, w, h;
} eg_box;

/* A cell of a share from 0 to 1 (NaN: nothing is known), with its percent where there is room,
 * and what a reader is told who points at it. */
void eg_heat_cell(eg_page *p, eg_box b, double share, const char *tip, bool framed);

/* The numbers along both sides, with their names: number[i], or i + 1 if it is NULL. */
typedef struct eg_heat_sides {
    int64_t rows, columns;
    const int64_t *number;
    const char *across, *down;
} eg_heat_sides;
void eg_heat_numbers(eg_page *p, const eg_heat_sides *s, double w, double h);

/* A picture of shades, to fill a box: a share of each pixel, as eg_heat_shade has it. */
uint8_t eg_heat_shade(double share);
eg_status eg_heat_picture(eg_page *p, const eg_image *im, eg_box b);

#endif
