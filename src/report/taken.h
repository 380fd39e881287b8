/* taken.h - what the models of a group take for what at their end, all seeds together.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_TAKEN_H
#define EG_REPORT_TAKEN_H

#include "report/group.h"

/* So many images of class number `row` got class number `column` for an answer. */
typedef struct eg_taken_cell {
    int64_t row, column, n;
} eg_taken_cell;

typedef struct eg_taken {
    int64_t n;                       /* classes that were tested or answered; 0: none were */
    int64_t *class;                  /* [n] ascending: what each number stands for */
    int64_t *tested, *right, *worst; /* [n] images; right ones; the wrong answer given most, as
                                      * a number, -1: none */
    eg_taken_cell *cell;             /* [n_cells] by row, then by column; none is empty */
    size_t n_cells;
} eg_taken;

/* Arrays are the arena's. */
eg_status eg_group_taken(eg_arena *a, const eg_group *g, eg_taken *out);

#endif
