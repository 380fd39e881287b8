/* winograd.h - what a step of Winograd's convolution knows: phases, tiles, products.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_WINOGRAD_H
#define EG_WINOGRAD_H

#include "engine/conv/conv.h"

enum { EG_WINOGRAD_TILE = 4, EG_WINOGRAD_PHASES = 4 };

/* From EG_WINOGRAD_MANY filters on the transformed set leaves the cache; blocks of
 * EG_WINOGRAD_PIECE channels stay. */
enum { EG_WINOGRAD_MANY = 256 * 256, EG_WINOGRAD_PIECE = 64 };

/* One phase: its places, its filters, and the first of their weights. */
typedef struct eg_winograd_phase {
    eg_winograd_tiles in, out; /* of the tensor with ic channels, and of that with oc */
    eg_winograd_filters filters;
    int64_t first;
} eg_winograd_phase;

/* What a step needs beside its values. */
typedef struct eg_winograd_args {
    eg_winograd_phase phase[EG_WINOGRAD_PHASES];
    int64_t n_phases;
    bool apart; /* each phase is a convolution of its own; else they are summed over together */
    bool once;  /* apart: all phases read the same tiles */
    int64_t pitch; /* points from line to line */
    eg_panel_product product;
    int64_t ic, oc, tiles; /* channels of a phase; tiles in all */
    bool pieces;           /* filters are transformed piece by piece, between the products */
    double flops;          /* by the definition */
    bool relu;
} eg_winograd_args;

/* A matrix of so many floats, with a line between it and the next: at powers of two the
 * places of one tile would meet in one set of the first cache. */
static inline int64_t eg_winograd_step(const eg_kernels *k, int64_t size)
{
    return size + k->width;
}

/* Fills in the arguments of a pass. */
void eg_winograd_describe(const eg_kernels *k, const eg_conv *c, eg_conv_pass pass,
                          eg_winograd_args *a);

#endif
