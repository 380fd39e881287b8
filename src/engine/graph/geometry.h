/* geometry.h - the shapes and pieces of convolutions, as their kernels are told them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_GEOMETRY_H
#define EG_SRC_GEOMETRY_H

#include <engram/graph.h>

#include "base/base.h"

/* A convolution's geometry: x [n, ic, h, w], weights [oc, ic / groups, kh, kw], y [n, oc, oh,
 * ow]. */
typedef struct eg_conv {
    int64_t n, ic, h, w, oc, kh, kw, oh, ow;
    int64_t stride, padding, groups;
    int64_t lanes; /* batch innermost: n filled up to whole vectors */
} eg_conv;

/* Floating-point operations of one pass by the definition. */
static inline double eg_conv_flops(const eg_conv *c)
{
    int64_t inputs = c->ic / c->groups * c->kh * c->kw; /* of one result */
    return 2.0 * (double)(c->n * c->oc * c->oh * c->ow) * (double)inputs;
}

typedef enum eg_conv_pass {
    EG_CONV_FORWARD, /* x, weights, bias or NULL -> y */
    EG_CONV_BACK_DATA,
    EG_CONV_BACK_WEIGHTS,
} eg_conv_pass;

/* The nodes of one pass: what it reads (NULL where it does not), and what it may take in. */
typedef struct eg_conv_nodes {
    const eg_node *x, *weights, *bias, *dy;
    const eg_node *relu;
    /* Forward: a 2x2 max pooling that reads the result, the relu that alone reads that, and
     * whether it is to leave the places of the maxima. */
    const eg_node *pool, *pool_relu;
    bool winners;
    /* For the weights: the result that was pooled, when dy is the gradient behind the pooling;
     * the relu behind it, or NULL; and the sum of the gradient, or NULL. */
    const eg_node *pooled, *mask, *sum;
} eg_conv_nodes;

/* Images [n, c / v, h, w, v] cut into tiles of 4 x 4 places for Winograd's convolution, rows x
 * cols of them an image. Neighbours in a tile are `stride` places apart in the image, and the
 * first tile, or its window, begins at (row, col), which may be before the image. The n tiles
 * from `from` on, counted through all images, are worked on.
 * A transformed tile has taps + 3 by across + 3 points per channel; point p of every tile goes
 * to matrix p. Points of filters of 1 and 2 taps are those of 2 x 2, counted alike. */
typedef struct eg_winograd_tiles {
    int64_t taps, across; /* of a filter in a column and in a row: equal, or 1 and 2 */
    int64_t c, h, w, rows, cols;
    int64_t row, col, stride;
    int64_t from, n;
    int64_t step;       /* floats from one matrix to the next */
    int64_t block, end; /* only these blocks of channels; end 0: all */
} eg_winograd_tiles;

/* Products of tiles or places by weights, one per point: [n, ic] by [ic, oc] give [n, oc], or
 * their gradient for the second factor. */
typedef struct eg_panel_product {
    int64_t points;
    int64_t n, ic, oc;
    int64_t row, rows; /* the ic rows of the weights begin at `row` of so many */
    int64_t in_step, weight_step, out_step; /* floats from one matrix to the next */
    bool add;                               /* to what stands there */
} eg_panel_product;

/* A row-major product: c [m, n] = a [m, k] b [k, n]; ta, tb: stored transposed. */
typedef struct eg_product_shape {
    bool ta, tb;
    int64_t m, n, k;
    bool add;      /* to what stands in c */
    int64_t a_row; /* floats from row to row of a as it is stored; 0: they follow each other */
} eg_product_shape;

/* Filters of taps x across, 1 or 2 each or 3 x 3 or 5 x 5, or a piece of them: where they stand
 * in the weights,
 * ic_step floats apart along what is summed over and oc_step along the results; their taps are
 * tap_step apart in a line, and lines line_step. Their ic rows begin at `row` of so many in the
 * matrices. */
typedef struct eg_winograd_filters {
    int64_t taps, across;
    int64_t ic, oc, ic_step, oc_step, tap_step, line_step;
    int64_t row, rows;
    int64_t step; /* floats from one matrix to the next */
    bool turned;  /* by half a turn */
} eg_winograd_filters;

/* Places of blocked maps [n, c / v, h, w, v] as a matrix: rows x cols of them a sample, from
 * (row, col) on, stride apart. */
typedef struct eg_places {
    int64_t n, c, h, w;
    int64_t row, col, rows, cols, stride;
} eg_places;

/* Weights [oc, ic, taps] that stand as one matrix a tap. */
typedef struct eg_place_weights {
    int64_t taps, ic, oc;
    int64_t step; /* floats from one matrix to the next */
} eg_place_weights;

/* What a pass of Winograd's F(4x4, 5x5) with the batch innermost reads; NULL what it does not.
 * A unit is a tile of one vector of samples; so many are worked on together. */
typedef struct eg_winograd_data {
    const float *x, *dy, *u;
    /* 64 (ic + oc) vectors per unit; for the weights one more per pair of channels. */
    float *scratch;
} eg_winograd_data;
enum { EG_WINOGRAD_UNITS = 2, EG_WINOGRAD_GRAD_UNITS = 4 };

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

#endif
