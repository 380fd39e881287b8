/* mark.h - boxes and their names on pictures.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_MARK_H
#define EG_MARK_H

#include <engram/box.h>

#include "io/image.h"

/* A part of an RGB picture that boxes are shares of. */
typedef struct eg_mark_area {
    int64_t top, left, height, width;
} eg_mark_area;

/* Draws a box with lines of so many pixels inwards, in the colour of its class, and a text
 * above it, or in it where there is no room; NULL: without. Letters are written large. */
void eg_mark_box(eg_image *im, const eg_mark_area *in, const eg_box *b, int64_t thick,
                 const char *text);

/* Lines that suit a picture of this size. */
int64_t eg_mark_thickness(int64_t height, int64_t width);

#endif
