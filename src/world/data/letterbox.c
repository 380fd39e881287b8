/* letterbox.c - pictures scaled into a frame as they are, with grey around.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/letterbox.h"

#include "world/data/resize.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERBOX_GREY = 127 };

eg_letterbox eg_letterbox_fit(const eg_image *im, int64_t height, int64_t width)
{
    double scale = (double)height / (double)im->height;
    if ((double)im->width * scale > (double)width)
        scale = (double)width / (double)im->width;
    eg_letterbox f = {.height = (int64_t)((double)im->height * scale + 0.5),
                      .width = (int64_t)((double)im->width * scale + 0.5),
                      .frame_height = height,
                      .frame_width = width};
    f.height = f.height < 1 ? 1 : f.height, f.width = f.width < 1 ? 1 : f.width;
    f.top = (height - f.height) / 2, f.left = (width - f.width) / 2;
    return f;
}

/* Channel c of RGB made grey as eg_table_set_channels does, or of grey made RGB. */
static void letterbox_grey(const eg_image *im, uint8_t *to)
{
    for (int64_t i = 0; i < im->height * im->width; i++) {
        const uint8_t *p = im->pixels + 3 * i;
        to[i] = (uint8_t)(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2] + 0.5);
    }
}

/* One plane of the picture into one of the frame. plane: room for the scaled one */
static void letterbox_plane(const eg_letterbox *f, eg_resizer *r, const uint8_t *from,
                            int64_t step, uint8_t *plane, uint8_t *to)
{
    eg_resizer_u8(r, from, step, plane);
    for (int64_t y = 0; y < f->height; y++)
        memcpy(to + (f->top + y) * f->frame_width + f->left, plane + y * f->width,
               (size_t)f->width);
}

eg_status eg_letterbox_place(const eg_letterbox *f, const eg_image *im, int64_t channels,
                             uint8_t *to)
{
    int64_t area = f->frame_height * f->frame_width;
    bool fades = channels == 1 && im->channels == 3;
    uint8_t *plane, *grey = NULL;
    eg_resizer *r = NULL;
    memset(to, LETTERBOX_GREY, (size_t)(channels * area));
    EG_TRY(eg_alloc((size_t)(f->height * f->width), 1, &plane));
    eg_status s = eg_resizer_new(im->height, im->width, f->height, f->width, &r);
    if (s == EG_OK && fades)
        s = eg_alloc((size_t)(im->height * im->width), 1, &grey);
    if (s == EG_OK && fades)
        letterbox_grey(im, grey);
    for (int64_t c = 0; s == EG_OK && c < channels; c++)
        letterbox_plane(f, r, fades ? grey : im->pixels + (im->channels == 3 ? c : 0),
                        fades ? 1 : im->channels, plane, to + c * area);
    eg_resizer_free(r);
    free(grey);
    free(plane);
    return s;
}

eg_box eg_letterbox_into(const eg_letterbox *f, eg_box b)
{
    float w = (float)f->frame_width, h = (float)f->frame_height;
    b.x = (b.x * (float)f->width + (float)f->left) / w, b.w *= (float)f->width / w;
    b.y = (b.y * (float)f->height + (float)f->top) / h, b.h *= (float)f->height / h;
    return b;
}

eg_box eg_letterbox_out(const eg_letterbox *f, eg_box b)
{
    float w = (float)f->frame_width, h = (float)f->frame_height;
    b.x = (b.x * w - (float)f->left) / (float)f->width, b.w *= w / (float)f->width;
    b.y = (b.y * h - (float)f->top) / (float)f->height, b.h *= h / (float)f->height;
    return b;
}
