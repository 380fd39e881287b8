/* cnn_small.c - the small network of Fed-A-GEM's MNIST experiments: 21,840 parameters.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/layers.h>

typedef struct cnn_small {
    int64_t width, hidden;
    double dropout;
} cnn_small;

static const eg_opt cnn_small_opts[] = {
    EG_OPT_INT(cnn_small, width, 10, 1, 4096,
               "channels of the first convolution; half the second's"),
    EG_OPT_INT(cnn_small, hidden, 50, 1, 65536, "hidden units"),
    EG_OPT_REAL(cnn_small, dropout, 0.5, 0, 0.99,
                "share of the second convolution's channels and of the hidden units left out "
                "in training"),
    EG_OPT_END,
};

static eg_node *cnn_small_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const cnn_small *m = self;
    const eg_window pool = {.kernel = 2, .stride = 2};
    eg_conv_layer_spec conv = {.out = m->width, .kernel = 5, .stride = 1, .bias = true};
    eg_node *h = eg_conv_layer(g, p, "conv1", x, &conv);
    h = eg_relu(g, eg_max_pool(g, h, pool));
    conv.out = 2 * m->width;
    h = eg_channel_dropout(g, eg_conv_layer(g, p, "conv2", h, &conv), m->dropout);
    h = eg_flatten(g, eg_relu(g, eg_max_pool(g, h, pool)));
    h = eg_relu(g, eg_linear_layer(g, p, "fc1", h, m->hidden));
    return eg_dropout(g, h, m->dropout);
}

static eg_node *cnn_small_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                               int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "fc2", features, classes);
}

const eg_model eg_model_cnn_small = {
    .component = {"cnn_small", "Fed-A-GEM's MNIST network with dropout", sizeof(cnn_small),
                  cnn_small_opts},
    .features = cnn_small_features,
    .head = cnn_small_head,
};
