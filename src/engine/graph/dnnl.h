/* dnnl.h - what engram uses of oneDNN; dnnl.c is the only file that sees the library.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every primitive runs on the calling thread alone. A primitive that cannot be made is an
 * error.
 */
#ifndef EG_DNNL_H
#define EG_DNNL_H

#include "engine/graph/plan.h"

/* Adds the steps of one pass, which computes y, in blocked layouts where channels allow it. */
eg_status eg_dnnl_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes);

/* Whether oneDNN has nothing faster for a pass than its definition, at a tenth of a GFLOP/s. */
eg_status eg_dnnl_is_reference(const eg_plan *p, eg_conv_pass pass, const eg_conv *c,
                               bool *out);

/* Adds a step for the squared norm of each sample's weight gradient, [n]. */
eg_status eg_dnnl_conv_sample_norms(eg_plan *p, const eg_node *y, const eg_conv *c,
                                    const eg_node *x, const eg_node *dy);

/* Adds a step that copies x between layouts. A value's own node may be a tensor of another
 * shape, which x is a view of. */
eg_status eg_dnnl_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to);

eg_status eg_dnnl_product(const eg_product_shape *d, const float *a, const float *b, float *c);

/* The same by whoever the instruction set leaves it to. */
static inline eg_status eg_multiply(const eg_kernels *k, const eg_product_shape *d,
                                    const float *a, const float *b, float *c)
{
    if (!k->own)
        return eg_dnnl_product(d, a, b, c);
    k->product(c, a, b, d);
    return EG_OK;
}

/* The library's handles of one plan. */
typedef struct eg_dnnl eg_dnnl;
eg_status eg_dnnl_open(eg_dnnl **out);
void eg_dnnl_close(eg_dnnl *d); /* NULL is fine */
/* Makes this thread's calls single-threaded: OpenMP's setting is not inherited. */
void eg_dnnl_enter(void);

#endif
