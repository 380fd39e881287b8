/* resize.h - bicubic weights along one axis, for images and for tables of positions.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_RESIZE_H
#define EG_SRC_RESIZE_H

#include <stdint.h>

enum { EG_CUBIC_TAPS = 4 };

/* Place i of `to` is the sum over k of weight[k] times place at[k] of `from`: the cubic of Keys
 * with a = -0.75, the border repeated, corners not aligned, as PyTorch's interpolate has it. */
typedef struct eg_cubic {
    int64_t at[EG_CUBIC_TAPS];
    double weight[EG_CUBIC_TAPS];
} eg_cubic;
eg_cubic eg_cubic_at(int64_t i, int64_t from, int64_t to);

#endif
