/* fractals.h - the two halves of a fractal image: counting points and painting the counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FRACTALS_H
#define EG_FRACTALS_H

#include <engram/data.h>
#include <engram/rng.h>

#include "base/base.h"

/* Room for one image at a time. */
typedef struct eg_fractals_scratch {
    int64_t size;
    int64_t grid;    /* side of the background: the smallest 2^k + 1 that covers the image */
    uint32_t *hits;  /* [size + 2, size + 2]: points, with a border */
    uint32_t *image; /* [size, size]: points after stamping */
    float *cloud;    /* [grid, grid] */
    uint8_t *blur;   /* [size, size] */
} eg_fractals_scratch;

eg_status eg_fractals_scratch_init(eg_fractals_scratch *s, int64_t size);
void eg_fractals_scratch_fini(eg_fractals_scratch *s);

/* Colours s->image over a random cloud, as [3, size, size]. */
void eg_fractals_paint(eg_fractals_scratch *s, eg_rng *r, uint8_t *rgb);
/* The same in grey on black, as [size, size]. */
void eg_fractals_paint_grey(eg_fractals_scratch *s, eg_rng *r, uint8_t *grey);

#endif
