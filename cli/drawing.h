/* drawing.h - images as generators learn them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_DRAWING_H
#define EG_CLI_DRAWING_H

#include <engram/data.h>
#include <engram/generator.h>

/* Where images come from. */
typedef struct drawing_source {
    const eg_dataset *set;
    const void *options; /* of the set; NULL: the usual ones */
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

#endif
