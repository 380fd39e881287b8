/* mlp.c - multi-layer perceptron: depth times (linear, relu), then a linear head.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/layers.h>

#include <stdio.h>

typedef struct mlp {
    int64_t depth, width;
} mlp;

static const eg_opt mlp_opts[] = {
    EG_OPT_INT(mlp, depth, 2, 0, 64, "hidden layers; 0 is logistic regression"),
    EG_OPT_INT(mlp, width, 100, 1, 65536, "units of a hidden layer"),
    EG_OPT_END,
};

static eg_node *mlp_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const mlp *m = self;
    eg_node *h = eg_flatten(g, x);
    for (int64_t i = 0; i < m->depth; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", (int)i + 1);
        h = eg_relu(g, eg_linear_layer(g, p, name, h, m->width));
    }
    return h;
}

static eg_node *mlp_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                         int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "head", features, classes);
}

const eg_model eg_model_mlp = {
    .component = {"mlp", "multi-layer perceptron; depth 0 is logistic regression", sizeof(mlp),
                  mlp_opts},
    .head = mlp_head,
    .features = mlp_features,
};
