/* panel.h - the layout of matrices: columns in panels that fit the registers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PANEL_H
#define EG_PANEL_H

#include "engine/simd/simd.h"

enum { PANEL = TUNE_PANEL, PANEL_ROWS = TUNE_PANEL_ROWS };

/* Vectors in the panel that begins with block b of so many. */
static inline int64_t panel_width(int64_t b, int64_t blocks)
{
    return blocks - b < PANEL ? blocks - b : PANEL;
}

/* One block's column of vectors in a matrix of panels. */
typedef struct panel_column {
    int64_t at, step; /* vectors to its first row, and from row to row */
} panel_column;

static inline panel_column panel_find(int64_t b, int64_t blocks, int64_t rows)
{
    int64_t first = b / PANEL * PANEL;
    return (panel_column){first * rows + b % PANEL, panel_width(first, blocks)};
}

#endif
