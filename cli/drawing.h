/* drawing.h - images as generators learn and draw them, and sheets of drawings.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_DRAWING_H
#define EG_CLI_DRAWING_H

#include <engram/data.h>
#include <engram/generator.h>

/* Where images come from. */
typedef struct drawing_source {
    const eg_dataset *set;
    eg_origin from;
    eg_split split;
    int64_t channels; /* grey or colour; 0: as they are */
    int64_t side;     /* images are scaled to so many pixels; 0: as they are */
    int64_t only;     /* this class alone; -1: all */
} drawing_source;

/* Images of a data set, between -1 and 1. */
typedef struct drawing_images {
    int64_t n, channels, height, width, classes;
    float *x;      /* [n, c, h, w] */
    float *labels; /* [n] */
} drawing_images;

/* EG_ENOENT: there are none of the class; EG_EINVAL: values do not lie between 0 and 1. */
eg_status drawing_load(const drawing_source *source, drawing_images *out);
void drawing_fini(drawing_images *d); /* a zeroed one is fine */

/* Rows of drawings, to become a picture. */
typedef struct drawing_sheet {
    int64_t n_rows, per_row, channels, height, width;
    float *x;      /* [n_rows, per_row, c, h, w] */
    float *labels; /* [n_rows]: -1 for all classes */
} drawing_sheet;

eg_status drawing_sheet_open(drawing_sheet *s, const eg_generator *like, int64_t n_rows,
                             int64_t per_row);
void drawing_sheet_fini(drawing_sheet *s);

/* Draws one row of a class, from the stream (seed, row, 0, EG_FOR_NOISE). */
eg_status drawing_sheet_row(drawing_sheet *s, eg_generator *m, int64_t row, int64_t label,
                            uint64_t seed);

/* Draws n images of a class: x [n, c, h, w]. */
eg_status drawing_draw(eg_generator *m, int64_t label, int64_t n, eg_rng *rng, float *x);

/* Writes the picture; a single row becomes a square. A path that ends in ".safetensors" gets
 * the numbers: "images" and "labels". */
eg_status drawing_sheet_save(const drawing_sheet *s, const char *path);

#endif
