/* resnet18_thin.c - a quarter of ResNet-18's widths, which pFedGRP calls ResNet-20: 701,466
 * parameters for three channels and ten classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/resnet.h"
#include <engram/layers.h>

static eg_node *resnet18_thin_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    return eg_resnet18(self, g, p, x, 16);
}

static eg_node *resnet18_thin_head(const void *self, eg_graph *g, eg_params *p,
                                   eg_node *features, int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "fc", features, classes);
}

const eg_model eg_model_resnet18_thin = {
    .component = {"resnet18_thin", "ResNet-18 with widths 16 to 128", sizeof(eg_resnet),
                  eg_resnet_opts},
    .head = resnet18_thin_head,
    .features = resnet18_thin_features,
};
