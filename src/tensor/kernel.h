/* kernel.h - the table of vector kernels, one copy compiled for each instruction set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files in simd/ are compiled once per instruction set; kernel.inc lists what they define.
 * A plan takes one table when it is compiled and keeps it.
 */
#ifndef EG_KERNEL_H
#define EG_KERNEL_H

#include "base/base.h"

/* A tensor seen as channels: plain [n, c, area] or blocked [n, ceil(c / v), area, v]. With the
 * batch innermost it is plain with one sample, whose area holds them all. */
typedef struct eg_channels {
    int64_t n, c, area;
    bool blocked;
} eg_channels;

/* A convolution's geometry: x [n, ic, h, w], weights [oc, ic / groups, kh, kw], y [n, oc, oh,
 * ow]. */
typedef struct eg_conv {
    int64_t n, ic, h, w, oc, kh, kw, oh, ow;
    int64_t stride, padding, groups;
    int64_t lanes; /* batch innermost: n filled up to whole vectors */
} eg_conv;

/* Pooling over windows of images. images of h x w places, `pitch` floats from place to place
 * and `lanes` of them computed: plain 1 and 1; blocked v and v; batch innermost: the filled-up
 * batch, v at a time, the images of one channel being chunks of its batch. */
typedef struct eg_pool_dims {
    int64_t images, chunks, pitch;
    int64_t h, w, oh, ow;
    int64_t kernel, stride, padding;
    bool vectors; /* chunks of EG_V lanes; else single floats */
} eg_pool_dims;

/* Images [n, c / v, h, w, v] cut into tiles of 4 x 4 places for Winograd's convolution, rows x
 * cols of them an image. The n tiles from `from` on, counted through all images, are worked on.
 * What a tile is turned into has a number a channel for each of (taps + 3)^2 points, which go
 * to as many matrices. */
typedef struct eg_tiles {
    int64_t taps; /* of a filter in a row or column: 3 or 5 */
    int64_t c, h, w, rows, cols;
    int64_t padding; /* the windows begin so far before the tiles */
    int64_t from, n;
    int64_t step; /* floats from one matrix to the next */
} eg_tiles;

/* The products of tiles, one a point: [n, ic] by [ic, oc] give [n, oc], or their gradient for
 * the second factor. */
typedef struct eg_tile_product {
    int64_t points;
    int64_t n, ic, oc;
    int64_t in_step, weight_step, out_step; /* floats from one matrix to the next */
    bool add;                               /* to what stands there */
} eg_tile_product;

/* Filters of taps x taps, 3 or 5, or a piece of them: where they stand in the weights, ic_step
 * floats apart along what is summed over and oc_step along the results. */
typedef struct eg_filters {
    int64_t taps;
    int64_t ic, oc, ic_step, oc_step;
    int64_t step; /* floats from one matrix to the next */
    bool turned;  /* by half a turn */
} eg_filters;

/* What a pass of Winograd's F(4x4, 5x5) with the batch innermost reads; NULL what it does not.
 * A unit is a tile of one vector of samples; so many are worked on together. */
typedef struct eg_tile_data {
    const float *x, *dy, *u;
    float
        *scratch; /* 64 (ic + oc) vectors a unit; for the weights one more a pair of channels */
} eg_tile_data;
enum { EG_TILE_UNITS = 2, EG_TILE_GRAD_UNITS = 4 };

/* A convolution's result behind 2x2 max pooling, and behind a relu then. */
typedef struct eg_conv_pool {
    float *max;      /* [oc, oh / 2, ow / 2, lanes] */
    uint8_t *winner; /* as many bytes: which of the four it was; NULL: not asked */
    float *y;        /* [oc, oh, ow, lanes], the result itself; NULL: nobody reads it */
    bool relu;
} eg_conv_pool;

/* The gradient dy of that, zero where the relu's result `mask` is not positive. */
typedef struct eg_pool_gradient {
    const uint8_t *winner;
    const float *dy, *mask; /* [oc, oh / 2, ow / 2, lanes]; mask may be NULL */
} eg_pool_gradient;

/* Multiplications and additions in one round of the peak kernel, a lane. */
#define EG_PEAK_ROUND (2 * 32)

/* The constants of one step of Adam: size is lr / (1 - beta1^t), root is sqrt(1 - beta2^t). The
 * shares 1 - beta are rounded from double: from float, 1 - 0.999 would be off by 5e-5. */
typedef struct eg_adam_step {
    float size, beta1, beta2, share1, share2, eps, root;
    float decay; /* Adam adds decay * w to the gradient; AdamW scales w by 1 - decay */
} eg_adam_step;

typedef struct eg_kernels {
    const char *isa;
    int64_t width; /* channels in a block */
#define X(name, args) void(*name) args;
#include "tensor/kernel.inc"
#undef X
} eg_kernels;

/* The table of the instruction set in use (eg_isa_set, else the best the machine has). */
const eg_kernels *eg_kernels_get(void);

#endif
