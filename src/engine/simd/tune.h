/* tune.h - what fits the registers of each instruction set: how many vectors a kernel keeps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A new set needs a row here and its instructions in lanes.h; no kernel asks for a set itself.
 */
#ifndef EG_TUNE_H
#define EG_TUNE_H

/* Floats in a vector; 8 of them are two registers where there is no AVX. */
#ifdef __AVX512F__
#define EG_V 16
#else
#define EG_V 8
#endif

/* Whether the set leaves nothing to oneDNN: the portable one, and all where there is none. */
#if defined(EG_PORTABLE) || !defined(EG_DNNL)
#define EG_OWN true
#else
#define EG_OWN false
#endif

/* Vectors in a panel of Winograd's products, and rows of a product that are computed at once:
 * their sums, a row of factors and one number for all lanes fill the registers. */
#if defined(__AVX512F__)
enum { TUNE_PANEL = 4, TUNE_PANEL_ROWS = 6 };
#elif defined(__AVX2__) || defined(__aarch64__) || defined(EG_PORTABLE)
enum { TUNE_PANEL = 2, TUNE_PANEL_ROWS = 6 };
#else
enum { TUNE_PANEL = 1, TUNE_PANEL_ROWS = 4 };
#endif
enum { TUNE_PANEL_MOST_ROWS = 6 }; /* of all sets */

#if defined(__AVX512F__)
enum {
    /* Direct convolution: channels, neighbouring places and vectors of results in a tile; and
     * channels whose weight gradients are summed together. */
    TUNE_DIRECT_OUT = 5,
    TUNE_DIRECT_COLS = 2,
    TUNE_DIRECT_VECS = 2,
    TUNE_DIRECT_GRAD_OUT = 4,
    /* Winograd, batch innermost: rows of a product, and the pairs of a gradient. */
    TUNE_WINOGRAD_ROWS = 10,
    TUNE_WINOGRAD_OUT = 5,
    TUNE_WINOGRAD_IN = 5,
    /* Convolution with pooling: channels of results, and rows of weights. */
    TUNE_POOLED_OUT = 5,
    TUNE_POOLED_ROWS = 5,
    /* Linear: samples and results; their product is the number of lanes. */
    TUNE_LINEAR_ROWS = 4,
    TUNE_LINEAR_OUTS = 4,
};
#else
enum {
    TUNE_DIRECT_OUT = 5,
    TUNE_DIRECT_COLS = 1,
    TUNE_DIRECT_VECS = 2,
    TUNE_DIRECT_GRAD_OUT = 2,
    TUNE_WINOGRAD_ROWS = 5,
    TUNE_WINOGRAD_OUT = 2,
    TUNE_WINOGRAD_IN = 5,
    TUNE_POOLED_OUT = 3,
    TUNE_POOLED_ROWS = 1,
    TUNE_LINEAR_ROWS = 2,
    TUNE_LINEAR_OUTS = 4,
};
#endif

#endif
