/* resnet.c - the blocks that both ResNets are made of (He et al., 2016, arXiv:1512.03385).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/resnet.h"

#include "engine/graph/graph.h"
#include <engram/layers.h>

#include <stdio.h>

typedef struct resnet_text {
    char text[64];
} resnet_text;

static resnet_text resnet_name(const char *block, const char *layer)
{
    resnet_text n;
    snprintf(n.text, sizeof n.text, "%s.%s", block, layer);
    return n;
}

/* Two 3x3 convolutions with batch norm, and a shortcut that is projected when sizes change. */
static eg_node *resnet_block(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                             int64_t out, int64_t stride)
{
    if (eg_is_poison(x))
        return x;
    const eg_conv_layer_spec first = {.out = out, .kernel = 3, .stride = stride, .padding = 1};
    const eg_conv_layer_spec second = {.out = out, .kernel = 3, .stride = 1, .padding = 1};
    const eg_conv_layer_spec project = {.out = out, .kernel = 1, .stride = stride};
    eg_node *h = eg_conv_layer(g, p, resnet_name(name, "conv1").text, x, &first);
    h = eg_relu(g, eg_batch_norm_layer(g, p, resnet_name(name, "bn1").text, h));
    h = eg_conv_layer(g, p, resnet_name(name, "conv2").text, h, &second);
    h = eg_batch_norm_layer(g, p, resnet_name(name, "bn2").text, h);
    eg_node *shortcut = x;
    if (stride != 1 || x->shape.dim[1] != out) {
        shortcut = eg_conv_layer(g, p, resnet_name(name, "downsample.0").text, x, &project);
        shortcut = eg_batch_norm_layer(g, p, resnet_name(name, "downsample.1").text, shortcut);
    }
    return eg_relu(g, eg_add(g, h, shortcut));
}

// clang-format off
const eg_opt eg_resnet_opts[] = {
    EG_OPT_CHOICE(eg_resnet, stem, EG_STEM_SMALL,
                  "what comes before the blocks: a 3x3 convolution, for small images; or as on ImageNet one of 7x7 "
                  "with stride 2, and a maximum over 3x3 with stride 2, which leave a sixteenth of the places", "small|imagenet"),
    EG_OPT_END,
};
// clang-format on

static eg_node *resnet_stem(const eg_resnet *r, eg_graph *g, eg_params *p, eg_node *x,
                            int64_t width)
{
    bool small = r->stem == EG_STEM_SMALL;
    const eg_conv_layer_spec conv = {.out = width,
                                     .kernel = small ? 3 : 7,
                                     .stride = small ? 1 : 2,
                                     .padding = small ? 1 : 3};
    const eg_window pool = {.kernel = 3, .stride = 2, .padding = 1};
    eg_node *h = eg_conv_layer(g, p, "conv1", x, &conv);
    h = eg_relu(g, eg_batch_norm_layer(g, p, "bn1", h));
    return small ? h : eg_max_pool(g, h, pool);
}

eg_node *eg_resnet18(const eg_resnet *r, eg_graph *g, eg_params *p, eg_node *x, int64_t width)
{
    eg_node *h = resnet_stem(r, g, p, x, width);
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < 2; block++) {
            char name[32];
            snprintf(name, sizeof name, "layer%d.%d", stage + 1, block);
            h = resnet_block(g, p, name, h, width << stage, stage && !block ? 2 : 1);
        }
    return eg_global_pool(g, h);
}
