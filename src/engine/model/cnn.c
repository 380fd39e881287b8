/* cnn.c - two 5x5 convolutions of 32 and 64 channels with max-pooling, 512 hidden units
 * (McMahan et al., 2017): 1,663,370 parameters for 1x28x28 and ten classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/layers.h>

typedef struct cnn {
    int64_t width, hidden;
    double dropout;
} cnn;

static const eg_opt cnn_opts[] = {
    EG_OPT_INT(cnn, width, 32, 1, 4096, "channels of the first convolution; half the second's"),
    EG_OPT_INT(cnn, hidden, 512, 1, 65536, "hidden units"),
    EG_OPT_REAL(cnn, dropout, 0, 0, 0.99, "share of the hidden units left out in training"),
    EG_OPT_END,
};

static eg_node *cnn_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const cnn *m = self;
    const eg_window pool = {.kernel = 2, .stride = 2};
    eg_conv_layer_spec conv = {
        .out = m->width, .kernel = 5, .stride = 1, .padding = 2, .bias = true};
    eg_node *h = eg_relu(g, eg_conv_layer(g, p, "conv1", x, &conv));
    h = eg_max_pool(g, h, pool);
    conv.out = 2 * m->width;
    h = eg_relu(g, eg_conv_layer(g, p, "conv2", h, &conv));
    h = eg_flatten(g, eg_max_pool(g, h, pool));
    return eg_dropout(g, eg_relu(g, eg_linear_layer(g, p, "fc1", h, m->hidden)), m->dropout);
}

static eg_node *cnn_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                         int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "fc2", features, classes);
}

const eg_model eg_model_cnn = {
    .component = {"cnn", "two 5x5 convolutions, max-pooling, 512 hidden units", sizeof(cnn),
                  cnn_opts},
    .features = cnn_features,
    .head = cnn_head,
};
