/* conv.h - convolutions as steps of a plan: which kernel computes which.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_CONV_H
#define EG_SRC_CONV_H

#include "engine/graph/plan.h"

/* Adds the steps of one pass, which computes y, with the kernels that suit its shape. */
eg_status eg_emit_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes);

/* True when channels do not fill blocks: then the batch is kept innermost. */
bool eg_conv_is_batched(const eg_kernels *k, const eg_conv *c);
eg_status eg_direct_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                         const eg_conv_nodes *nodes);

/* True when Winograd's F(4x4, 5x5) can compute it, batch innermost; eg_winograd_batched_conv
 * takes nothing else. */
bool eg_winograd_batched_can(const eg_conv *c);
bool eg_winograd_batched_pays(const eg_conv *c); /* it is faster than directly */
eg_status eg_winograd_batched_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass,
                                   const eg_conv *c, const eg_conv_nodes *nodes);

/* True when a 2x2 max pooling behind it is taken into both its forward pass and its gradient.
 */
bool eg_pooled_takes(const eg_kernels *k, const eg_conv *c);
eg_status eg_pooled_forward(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes);
eg_status eg_pooled_back_weights(eg_plan *p, const eg_node *y, const eg_conv *c,
                                 const eg_conv_nodes *nodes);

/* True when the gradient of weights can be computed as products over places, blocked;
 * eg_product_back_weights takes nothing else. */
bool eg_product_can(const eg_kernels *k, const eg_conv *c);
eg_status eg_product_back_weights(eg_plan *p, const eg_node *y, const eg_conv *c,
                                  const eg_conv_nodes *nodes);

/* True when x has few channels and the result whole blocks: both gradients can be computed as
 * products of windows; eg_few_conv takes nothing else, and no forward pass. */
bool eg_few_can(const eg_kernels *k, const eg_conv *c);
eg_status eg_few_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                      const eg_conv_nodes *nodes);

/* Any convolution, where nothing may be left to oneDNN: as products with the unfolded input. */
eg_status eg_unfolded_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                           const eg_conv_nodes *nodes);
/* Adds a step for the squared norm of each sample's weight gradient, [n]. */
eg_status eg_unfolded_sample_norms(eg_plan *p, const eg_node *y, const eg_conv *c,
                                   const eg_node *x, const eg_node *dy);
/* u [ic kh kw, places]: what each weight sees at each place of one sample of one group, zero in
 * the padding. */
void eg_conv_unfold(const eg_conv *c, const float *x, float *u);

/* True when Winograd's F(4x4, 3x3) or F(4x4, 5x5), or of stride 2 F(4x4, 2x2), can compute it;
 * eg_winograd_conv takes nothing else. */
bool eg_winograd_can(const eg_kernels *k, const eg_conv *c);
eg_status eg_winograd_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                           const eg_conv_nodes *nodes);

#endif
