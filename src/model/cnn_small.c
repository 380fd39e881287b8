/* cnn_small.c - the small network of Fed-A-GEM's MNIST experiments: 21,840 parameters.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/layers.h"

static eg_node *cnn_small_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    (void)self;
    const eg_window pool = {.kernel = 2, .stride = 2};
    eg_conv_layer_spec conv = {.out = 10, .kernel = 5, .stride = 1, .bias = true};
    eg_node *h = eg_conv_layer(g, p, "conv1", x, &conv);
    h = eg_relu(g, eg_max_pool(g, h, pool));
    conv.out = 20;
    h = eg_channel_dropout(g, eg_conv_layer(g, p, "conv2", h, &conv), 0.5);
    h = eg_flatten(g, eg_relu(g, eg_max_pool(g, h, pool)));
    return eg_dropout(g, eg_relu(g, eg_linear_layer(g, p, "fc1", h, 50)), 0.5);
}

const eg_model eg_model_cnn_small = {.name = "cnn_small",
                                     .help = "Fed-A-GEM's MNIST network with dropout",
                                     .head = "fc2",
                                     .features = cnn_small_features};
