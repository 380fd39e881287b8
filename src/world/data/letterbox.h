/* letterbox.h - pictures scaled into a frame as they are, with grey around.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_LETTERBOX_H
#define EG_LETTERBOX_H

#include <engram/box.h>

#include "io/image.h"

/* Where a picture lies within its frame, in pixels of the frame. */
typedef struct eg_letterbox {
    int64_t height, width; /* of the picture, scaled */
    int64_t top, left;
    int64_t frame_height, frame_width;
} eg_letterbox;

/* The largest that fits a frame, in its middle. */
eg_letterbox eg_letterbox_fit(const eg_image *im, int64_t height, int64_t width);

/* Scales a picture into a frame of planes, to [channels, frame_height, frame_width]. */
eg_status eg_letterbox_place(const eg_letterbox *f, const eg_image *im, int64_t channels,
                             uint8_t *to);

/* A box of the picture in shares of the frame, and back. */
eg_box eg_letterbox_into(const eg_letterbox *f, eg_box b);
eg_box eg_letterbox_out(const eg_letterbox *f, eg_box b);

#endif
