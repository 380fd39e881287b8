/* vit.c - vision transformer (Dosovitskiy et al., 2020, arXiv:2010.11929), with timm's names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An image becomes patches, each a token; a class token stands before them, and learned
 * positions are added. Blocks have their norms in front; a last norm follows. Features are the
 * class token's, or the mean of all tokens. Small images are scaled to `size` within the
 * network, so that they are kept, sent and remembered small. Patches are cut out by a
 * transposition and multiplied like any token: so a sample's features do not depend on what
 * stands beside it.
 */
#include <engram/layers.h>

#include "engine/graph/graph.h"
#include "engine/op/resize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VIT_NONE, VIT_DEIT_TINY, VIT_B16, VIT_TINY_32 };
enum { VIT_TOKEN, VIT_MEAN };

typedef struct vit {
    int preset, pool;
    int64_t patch, width, depth, heads, size;
    double ratio;
} vit;

static const double vit_eps = 1e-6;

// clang-format off
static const eg_opt vit_opts[] = {
    EG_OPT_CHOICE(vit, preset, 0, "where the numbers come from that are 0 below: a small network for small images; or one of the field", "none|deit-tiny|vit-b16|vit-tiny-32"),
    EG_OPT_INT(vit, patch, 0, 0, 256, "side of a patch; 0: by the preset, 4 without one"),
    EG_OPT_INT(vit, width, 0, 0, 8192, "numbers of a token; 0: by the preset, 64 without one"),
    EG_OPT_INT(vit, depth, 0, 0, 128, "blocks; 0: by the preset, 4 without one"),
    EG_OPT_INT(vit, heads, 0, 0, 128, "of attention, which divide the width; 0: by the preset, 4 without one"),
    EG_OPT_REAL(vit, ratio, 0, 0, 64, "hidden units of a block for each number of a token; 0: by the preset, 2 without one"),
    EG_OPT_INT(vit, size, 0, 0, 4096, "side that smaller images are scaled to within the network, bicubic; 0: by the preset, as they are without one"),
    EG_OPT_CHOICE(vit, pool, 0, "features: those of the class token, or the mean of all tokens without one", "token|mean"),
    EG_OPT_END,
};
// clang-format on

static eg_status vit_settle(void *self)
{
    static const vit presets[] = {
        [VIT_NONE] = {0, 0, 4, 64, 4, 4, 0, 2},
        [VIT_DEIT_TINY] = {0, 0, 16, 192, 12, 3, 224, 4},
        [VIT_B16] = {0, 0, 16, 768, 12, 12, 224, 4},
        [VIT_TINY_32] = {0, 0, 4, 192, 9, 3, 32, 2},
    };
    vit *m = self;
    const vit *of = &presets[m->preset];
    m->patch = m->patch ? m->patch : of->patch;
    m->width = m->width ? m->width : of->width;
    m->depth = m->depth ? m->depth : of->depth;
    m->heads = m->heads ? m->heads : of->heads;
    m->ratio = m->ratio > 0 ? m->ratio : of->ratio;
    m->size = m->size ? m->size : of->size;
    if (m->width % m->heads)
        return eg_fail(EG_EINVAL, "%lld heads do not divide a width of %lld",
                       (long long)m->heads, (long long)m->width);
    return floor(m->ratio * (double)m->width) < 1
               ? eg_fail(EG_EINVAL, "a ratio of %g leaves no hidden unit", m->ratio)
               : EG_OK;
}

static const eg_layer_init vit_init = {{.kind = EG_INIT_NORMAL, .a = 0.02},
                                       {.kind = EG_INIT_CONSTANT}};

static eg_node *vit_tokens(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const vit *m = self;
    if (eg_is_poison(x))
        return x;
    int64_t h = x->shape.dim[2], w = x->shape.dim[3];
    if (m->size && (h > m->size || w > m->size))
        return eg_poison(g, EG_ESHAPE,
                         "images are larger than the %lld pixels a side that the network "
                         "takes: set data.size to it, or model.size to theirs",
                         (long long)m->size);
    if (m->size)
        x = eg_resize(g, x, m->size, m->size);
    if (eg_is_poison(x) || x->shape.dim[2] % m->patch || x->shape.dim[3] % m->patch)
        return eg_poison(g, EG_ESHAPE, "patches of %lld pixels do not fill images of %lldx%lld",
                         (long long)m->patch, (long long)(m->size ? m->size : h),
                         (long long)(m->size ? m->size : w));
    x = eg_patch_layer(
        g, p, "patch_embed.proj", x, m->patch,
        &(eg_linear_layer_spec){.out = m->width, .bias = true, .init = &vit_init});
    if (eg_is_poison(x))
        return x;
    int64_t n = x->shape.dim[0], t = x->shape.dim[1] + (m->pool == VIT_TOKEN);
    if (m->pool == VIT_TOKEN) {
        eg_node *token = eg_param(g, p, "cls_token", eg_dims(1, 1, m->width),
                                  (eg_init){.kind = EG_INIT_NORMAL, .a = 0.02});
        token = eg_expand(g, token, eg_dims(n, 1, m->width));
        x = eg_concat(g, 2, (eg_node *[]){token, x}, 1);
    }
    return eg_add(g, x, eg_param(g, p, "pos_embed", eg_dims(1, t, m->width), vit_init.weight));
}

static eg_node *vit_encode(const void *self, eg_graph *g, eg_params *p, eg_node *tokens,
                           eg_node *const *prefixes)
{
    const vit *m = self;
    eg_block_spec spec = {.heads = m->heads,
                          .hidden = (int64_t)floor(m->ratio * (double)m->width),
                          .eps = vit_eps,
                          .init = &vit_init};
    for (int64_t i = 0; i < m->depth; i++) {
        spec.prefix = prefixes ? prefixes[i] : NULL;
        tokens = eg_transformer_block(g, p, eg_layer_number("blocks.", i).text, tokens, &spec);
    }
    return eg_layer_norm_layer(g, p, "norm", tokens, vit_eps);
}

static eg_node *vit_pooled(const void *self, eg_graph *g, eg_node *tokens)
{
    const vit *m = self;
    if (eg_is_poison(tokens))
        return tokens;
    eg_node *t =
        m->pool == VIT_MEAN ? eg_mean(g, tokens, EG_AXIS(1)) : eg_slice(g, tokens, 1, 0, 1);
    return eg_reshape(g, t, eg_dims(tokens->shape.dim[0], m->width));
}

static eg_node *vit_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    return vit_pooled(self, g, vit_encode(self, g, p, vit_tokens(self, g, p, x), NULL));
}

static eg_node *vit_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                         int64_t classes)
{
    (void)self;
    return eg_linear_layer_of(
        g, p, "head", features,
        &(eg_linear_layer_spec){.out = classes, .bias = true, .init = &vit_init});
}

/* The side of a square of tokens behind the class token; 0: there is none. */
static int64_t vit_side(const vit *m, int64_t tokens)
{
    int64_t n = tokens - (m->pool == VIT_TOKEN), side = (int64_t)lround(sqrt((double)n));
    return n > 0 && side * side == n ? side : 0;
}

/* Positions of another image size: those of the patches are scaled like an image. */
static bool vit_fit(const void *self, const char *name, const eg_fit *fit)
{
    const vit *m = self;
    if (strcmp(name, "pos_embed") != 0 || fit->from.rank != 3 || fit->from.dim[0] != 1 ||
        fit->from.dim[2] != m->width)
        return false;
    int64_t from = vit_side(m, fit->from.dim[1]), to = vit_side(m, fit->to.dim[1]);
    if (!from || !to)
        return false;
    if (!fit->out)
        return true;
    int64_t w = m->width, first = m->pool == VIT_TOKEN ? w : 0;
    memcpy(fit->out, fit->values, (size_t)first * sizeof *fit->out);
    for (int64_t i = 0; i < to * to * w; i++) {
        eg_cubic y = eg_cubic_at(i / w / to, from, to), x = eg_cubic_at(i / w % to, from, to);
        double sum = 0;
        for (int k = 0; k < EG_CUBIC_TAPS * EG_CUBIC_TAPS; k++)
            sum +=
                y.weight[k / EG_CUBIC_TAPS] * x.weight[k % EG_CUBIC_TAPS] *
                (double)
                    fit->values[first + i % w +
                                w * (y.at[k / EG_CUBIC_TAPS] * from + x.at[k % EG_CUBIC_TAPS])];
        fit->out[first + i] = (float)sum;
    }
    return true;
}

static int64_t vit_depth(const void *self)
{
    return ((const vit *)self)->depth;
}

const eg_model eg_model_vit = {
    .component = {"vit", "vision transformer: patches, attention, a class token", sizeof(vit),
                  vit_opts},
    .settle = vit_settle,
    .features = vit_features,
    .head = vit_head,
    .alone = true,
    .tokens = vit_tokens,
    .encode = vit_encode,
    .pooled = vit_pooled,
    .depth = vit_depth,
    .fit = vit_fit,
};
