/* cnn.c - two 5x5 convolutions of 32 and 64 channels with max-pooling, 512 hidden units
 * (McMahan et al., 2017): 1,663,370 parameters for 1x28x28 and ten classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/layers.h"

static eg_node *cnn_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    (void)self;
    const eg_window pool = {.kernel = 2, .stride = 2};
    eg_conv_layer_spec conv = {.out = 32, .kernel = 5, .stride = 1, .padding = 2, .bias = true};
    eg_node *h = eg_relu(g, eg_conv_layer(g, p, "conv1", x, &conv));
    h = eg_max_pool(g, h, pool);
    conv.out = 64;
    h = eg_relu(g, eg_conv_layer(g, p, "conv2", h, &conv));
    h = eg_flatten(g, eg_max_pool(g, h, pool));
    return eg_relu(g, eg_linear_layer(g, p, "fc1", h, 512));
}

const eg_model eg_model_cnn = {.name = "cnn",
                               .help = "two 5x5 convolutions, max-pooling, 512 hidden units",
                               .head = "fc2",
                               .features = cnn_features};
