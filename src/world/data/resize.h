/* resize.h - bilinear scaling of planes, as eg_table_resize states it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RESIZE_H
#define EG_RESIZE_H

#include "base/base.h"

/* Weights to scale one size to another; made once, used for many planes. One thread at a time.
 */
typedef struct eg_resizer eg_resizer;

eg_status eg_resizer_new(int64_t from_h, int64_t from_w, int64_t to_h, int64_t to_w,
                         eg_resizer **out);
void eg_resizer_free(eg_resizer *r);

/* One plane; pixel (y, x) of it is at y * from_w * step + x * step, so that pictures with their
 * channels side by side need no copy. Bytes are rounded to nearest. */
void eg_resizer_u8(eg_resizer *r, const uint8_t *from, int64_t step, uint8_t *to);
void eg_resizer_f32(eg_resizer *r, const float *from, float *to);

#endif
