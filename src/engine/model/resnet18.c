/* resnet18.c - ResNet-18 (He et al., 2016) for 32x32 images, widths 64 to 512.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/resnet.h"
#include <engram/layers.h>

static eg_node *resnet18_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    return eg_resnet18(self, g, p, x, 64);
}

static eg_node *resnet18_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                              int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "fc", features, classes);
}

const eg_model eg_model_resnet18 = {
    .component = {"resnet18", "ResNet-18 for 32x32 images, widths 64 to 512", sizeof(eg_resnet),
                  eg_resnet_opts},
    .head = resnet18_head,
    .features = resnet18_features,
};
