/* kernel.h - the table of vector kernels, one copy compiled for each instruction set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files in simd/ are compiled once per instruction set; kernel.inc lists what they define.
 * A plan takes one table when it is compiled and keeps it.
 */
#ifndef EG_KERNEL_H
#define EG_KERNEL_H

#include "engine/graph/geometry.h"

/* A tensor seen as channels: row-major [n, c, area] or blocked [n, ceil(c / v), area, v]. With
 * the batch innermost it is row-major with one sample, whose area holds them all. */
typedef struct eg_channels {
    int64_t n, c, area;
    bool blocked;
    int64_t from, to; /* only these channels, or blocks of them; to 0: all */
} eg_channels;

/* Pooling over windows of images. images of h x w places, `pitch` floats from place to place
 * and `lanes` of them computed: row-major 1 and 1; blocked v and v; batch innermost: the
 * filled-up batch, v at a time, the images of one channel being chunks of its batch. */
typedef struct eg_pool_dims {
    int64_t images, chunks, pitch;
    int64_t h, w, oh, ow;
    int64_t kernel, stride, padding;
    bool vectors; /* chunks of EG_V lanes; else single floats */
} eg_pool_dims;

/* Attention over samples of so many tokens: queries, keys and values of every head have `size`
 * numbers. So many rows of a softmax are made at a time. */
typedef struct eg_attention_dims {
    int64_t n, tokens, heads, size;
} eg_attention_dims;
enum { EG_ATTENTION_ROWS = 24 };

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
    bool own;      /* nothing is left to oneDNN, whose sums differ from machine to machine */
#define X(name, args) void(*name) args;
#include "engine/graph/kernel.inc"
#undef X
} eg_kernels;

/* The table of the instruction set in use (eg_isa_set, else the best the machine has). */
const eg_kernels *eg_kernels_get(void);
/* Somebody chose it (eg_isa_set, ENGRAM_ISA): other libraries must not take a better one. */
bool eg_isa_wished(void);

#endif
