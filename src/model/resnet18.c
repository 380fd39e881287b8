/* resnet18.c - ResNet-18 (He et al., 2016) for 32x32 images, widths 64 to 512.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/layers.h"

static eg_node *resnet18_forward(const void *self, eg_graph *g, eg_params *p, eg_node *x,
                                 int64_t n_out)
{
    (void)self;
    return eg_resnet18(g, p, x, 64, n_out);
}

const eg_model eg_model_resnet18 = {.name = "resnet18",
                                    .help = "ResNet-18 for 32x32 images, widths 64 to 512",
                                    .forward = resnet18_forward};
