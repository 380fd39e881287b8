/* resnet.h - what both ResNets are made of, and their options.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RESNET_H
#define EG_RESNET_H

#include <engram/model.h>

typedef enum eg_resnet_stem { EG_STEM_SMALL, EG_STEM_IMAGENET } eg_resnet_stem;

typedef struct eg_resnet {
    int stem; /* an eg_resnet_stem */
} eg_resnet;
extern const eg_opt eg_resnet_opts[];

/* The features [n, 8 width] of a ResNet-18: the stem, four stages of two basic blocks, widths
 * doubling. */
eg_node *eg_resnet18(const eg_resnet *r, eg_graph *g, eg_params *p, eg_node *x, int64_t width);

#endif
