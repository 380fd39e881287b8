/* resnet.h - what both ResNets are made of.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RESNET_H
#define EG_RESNET_H

#include <engram/model.h>

/* The features [n, 8 width] of the ResNet-18 of 32x32 images: a 3x3 stem, four stages of two
 * basic blocks, widths doubling. */
eg_node *eg_resnet18(eg_graph *g, eg_params *p, eg_node *x, int64_t width);

#endif
