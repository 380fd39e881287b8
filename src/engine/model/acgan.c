/* acgan.c - the critic of an ACGAN as a classifier: strided convolutions and two heads, one
 * that tells classes and one, `side`, that tells real images from drawn ones (Odena et al.,
 * 2017; the networks are those of FedCIL's published code).
 * SPDX-License-Identifier: Apache-2.0
 *
 * With `variant: reacgan` it is ReACGAN's (Kang et al., 2021, arXiv:2111.01118): logits are
 * cosines of features with a vector of each class, over a temperature; eg_acgan_told has the
 * loss.
 */
#include "engine/model/acgan.h"

#include "engine/graph/graph.h"
#include "engine/model/net.h"
#include <engram/op.h>

enum { ACGAN_PLAIN, ACGAN_REBOOTED };

typedef struct acgan {
    int64_t width;
    int form, variant;
    eg_acgan_cosine cosine;
} acgan;

// clang-format off
static const eg_opt acgan_opts[] = {
    EG_OPT_INT(acgan, width, 64, 4, 1024,
               "channels of the largest maps; a quarter in form cifar"),
    EG_OPT_CHOICE(acgan, form, EG_ACGAN_MNIST, "layers as published for MNIST or for CIFAR-10",
                  EG_ACGAN_FORMS),
    EG_OPT_CHOICE(acgan, variant, ACGAN_PLAIN,
                  "logits are linear in the features; or, for ReACGAN, their cosines with a vector of each class",
                  EG_ACGAN_VARIANTS),
    EG_OPT_REAL_AS("temperature", acgan, cosine.temperature, 0.5, 0.05, 100, "of reacgan: what cosines are divided by"),
    EG_OPT_REAL_AS("margin", acgan, cosine.margin, 0.98, 0, 1,
                   "of reacgan: features this near to their class's vector are not pulled nearer, and those of other classes not pushed apart whose cosine is below what is left to 1"),
    EG_OPT_END,
};
// clang-format on

const eg_layer_init eg_acgan_init = {.weight = {.kind = EG_INIT_NORMAL, .a = 0.02},
                                     .bias = {.kind = EG_INIT_CONSTANT}};
const eg_layer_init eg_acgan_norm_init = {
    .weight = {.kind = EG_INIT_NORMAL, .a = 0.02, .mean = 1},
    .bias = {.kind = EG_INIT_CONSTANT}};

int64_t eg_acgan_doublings(int64_t height, int64_t width)
{
    for (int64_t n = 1; n <= 3; n++)
        if (height == width && height == 4 << n)
            return n;
    return 0;
}

/* 4x4 windows of stride 2 down to maps of 4x4, channels doubling. */
static eg_node *acgan_mnist(const acgan *m, eg_graph *g, eg_params *p, eg_node *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const eg_conv_layer_spec conv = {.out = m->width << i,
                                         .kernel = 4,
                                         .stride = 2,
                                         .padding = 1,
                                         .bias = true,
                                         .init = &eg_acgan_init};
        x = eg_conv_layer(g, p, eg_layer_number("conv", i + 1).text, x, &conv);
        x = eg_leaky_relu(g, x, 0.01);
    }
    return x;
}

/* 3x3 windows of stride 2 and 1 in turn, all but the first with batch norm, all with dropout.
 */
static eg_node *acgan_cifar(const acgan *m, eg_graph *g, eg_params *p, eg_node *x, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i++) {
        const eg_conv_layer_spec conv = {.out = m->width / 4 << i,
                                         .kernel = 3,
                                         .stride = i % 2 ? 1 : 2,
                                         .padding = 1,
                                         .init = &eg_acgan_init};
        x = eg_conv_layer(g, p, eg_layer_number("conv", i + 1).text, x, &conv);
        if (i > 0)
            x = eg_batch_norm_layer_from(g, p, eg_layer_number("bn", i + 1).text, x,
                                         &eg_acgan_norm_init);
        x = eg_dropout(g, eg_leaky_relu(g, x, 0.2), 0.5);
    }
    return x;
}

static eg_node *acgan_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const acgan *m = self;
    if (eg_is_poison(x))
        return x;
    eg_shape s = eg_node_shape(x);
    int64_t n = eg_acgan_doublings(s.dim[2], s.dim[3]);
    if (!n)
        return eg_poison(g, EG_ESHAPE, "takes " EG_ACGAN_SIDES ", not %lldx%lld",
                         (long long)s.dim[2], (long long)s.dim[3]);
    return eg_flatten(g, m->form == EG_ACGAN_CIFAR ? acgan_cifar(m, g, p, x, n)
                                                   : acgan_mnist(m, g, p, x, n));
}

/* Of both forms' linear layers the published code draws those of MNIST's alone by its own rule.
 */
static eg_node *acgan_linear(const acgan *m, eg_graph *g, eg_params *p, const char *name,
                             eg_node *features, int64_t outputs)
{
    const eg_linear_layer_spec spec = {.out = outputs,
                                       .bias = true,
                                       .init =
                                           m->form == EG_ACGAN_CIFAR ? NULL : &eg_acgan_init};
    return eg_linear_layer_of(g, p, name, features, &spec);
}

static eg_node *acgan_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                           int64_t classes)
{
    const acgan *m = self;
    eg_node *w, *b;
    if (m->variant == ACGAN_PLAIN || eg_is_poison(features))
        return acgan_linear(self, g, p, "classes", features, classes);
    const eg_linear_layer_spec spec = {.out = classes, .init = &eg_acgan_init};
    eg_linear_params(g, p, "classes", features->shape.dim[1], &spec, &w, &b);
    eg_node *near =
        eg_product(g, eg_l2_normalize(g, features), eg_l2_normalize(g, w), false, true);
    return eg_affine(g, near, 1 / m->cosine.temperature, 0);
}

static eg_node *acgan_side(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                           int64_t outputs)
{
    return acgan_linear(self, g, p, "side", features, outputs);
}

const eg_model eg_model_acgan = {
    .component = {"acgan", "the critic of an ACGAN: strided convolutions, for FedCIL",
                  sizeof(acgan), acgan_opts},
    .features = acgan_features,
    .head = acgan_head,
    .side = acgan_side,
};

bool eg_acgan_cosine_of(const eg_net *critic, eg_acgan_cosine *out)
{
    const acgan *m = eg_net_options(critic);
    if (eg_net_model(critic) != &eg_model_acgan || m->variant != ACGAN_REBOOTED)
        return false;
    *out = m->cosine;
    return true;
}
