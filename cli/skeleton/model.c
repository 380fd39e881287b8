/* mine.c - a network of one's own: say here what it is, and whose.
 * SPDX-License-Identifier: Apache-2.0
 *
 * engram/layers.h has layers with their tensors, engram/op.h every op between them.
 */
#include <engram/plugin.h>

typedef struct mine {
    int64_t width;
} mine;

static const eg_opt mine_opts[] = {
    EG_OPT_INT(mine, width, 16, 1, 4096, "channels of the convolution"),
    EG_OPT_END,
};

/* Features [n, d] of images x [n, c, h, w]: a convolution and a relu. */
static eg_node *mine_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const mine *o = self;
    const eg_conv_layer_spec conv = {
        .out = o->width, .kernel = 3, .stride = 2, .padding = 1, .bias = true};
    return eg_flatten(g, eg_relu(g, eg_conv_layer(g, p, "conv1", x, &conv)));
}

/* Logits [n, classes] of features [n, d]. */
static eg_node *mine_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                          int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "head", features, classes);
}

static const eg_model model = {
    .component = {"mine", "a convolution and a linear layer", sizeof(mine), mine_opts},
    .features = mine_features,
    .head = mine_head,
};

static const eg_model *const models[] = {&model, NULL};
EG_PLUGIN(.models = models);
