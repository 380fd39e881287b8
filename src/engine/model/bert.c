/* bert.c - BERT (Devlin et al., 2018, arXiv:1810.04805) and DistilBERT (Sanh et al., 2019,
 * arXiv:1910.01108), with Hugging Face's names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks have their norms behind: norm(x + attention(x)), then norm(x + mlp(x)). x [n, 1, 1, t]
 * are numbers of pieces, -1 behind a text's end. Features are the first token's, [CLS]; without
 * BERT's pooler. Where features are trained, embeddings and what a block adds are dropped at
 * random; attention's own weights are not.
 */
#include "engine/model/texts.h"

#include "engine/graph/graph.h"

#include <stdio.h>

enum { BERT_DISTILBERT, BERT_BASE };

typedef struct bert {
    int preset;
    int64_t pieces, width, depth, heads, hidden, positions;
    double dropout;
} bert;

static const double bert_eps = 1e-12;
static const eg_layer_init bert_init = {{.kind = EG_INIT_NORMAL, .a = 0.02},
                                        {.kind = EG_INIT_CONSTANT}};

// clang-format off
static const eg_opt bert_opts[] = {
    EG_OPT_CHOICE(bert, preset, 0, "whose tensors it has, and the depth where that is 0", "distilbert|bert-base"),
    EG_OPT_INT(bert, pieces, 30522, 2, 1 << 22, "of the vocabulary"),
    EG_OPT_INT(bert, width, 768, 2, 8192, "numbers of a token"),
    EG_OPT_INT(bert, depth, 0, 0, 128, "blocks; 0: 6 of DistilBERT, 12 of BERT"),
    EG_OPT_INT(bert, heads, 12, 1, 128, "of attention, which divide the width"),
    EG_OPT_INT(bert, hidden, 3072, 1, 65536, "hidden units of a block"),
    EG_OPT_INT(bert, positions, 512, 1, 65536, "pieces of the longest text"),
    EG_OPT_REAL(bert, dropout, 0.1, 0, 0.99, "share that is dropped where features are trained"),
    EG_OPT_END,
};
// clang-format on

/* What its tensors are called. */
typedef struct bert_names {
    const char *root, *layer;
    const char *q, *k, *v, *out, *norm1, *fc1, *fc2, *norm2;
} bert_names;

static const bert_names bert_called[] = {
    [BERT_DISTILBERT] = {"distilbert", "transformer.layer", "attention.q_lin",
                         "attention.k_lin", "attention.v_lin", "attention.out_lin",
                         "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"},
    [BERT_BASE] = {"bert", "encoder.layer", "attention.self.query", "attention.self.key",
                   "attention.self.value", "attention.output.dense",
                   "attention.output.LayerNorm", "intermediate.dense", "output.dense",
                   "output.LayerNorm"},
};

typedef struct bert_name {
    char text[100];
} bert_name;

static bert_name bert_part(const char *layer, const char *part)
{
    bert_name n;
    snprintf(n.text, sizeof n.text, "%.60s.%.38s", layer, part);
    return n;
}

static eg_status bert_settle(void *self)
{
    bert *m = self;
    if (!m->depth)
        m->depth = m->preset == BERT_BASE ? 12 : 6;
    return m->width % m->heads ? eg_fail(EG_EINVAL, "%lld heads do not divide a width of %lld",
                                         (long long)m->heads, (long long)m->width)
                               : EG_OK;
}

static eg_node *bert_linear(eg_graph *g, eg_params *p, const char *layer, const char *part,
                            eg_node *x, int64_t out)
{
    return eg_token_layer(
        g, p, bert_part(layer, part).text, x,
        &(eg_linear_layer_spec){.out = out, .bias = true, .init = &bert_init});
}

static eg_node *bert_norm(eg_graph *g, eg_params *p, const char *layer, const char *part,
                          eg_node *x)
{
    return eg_layer_norm_layer(g, p, bert_part(layer, part).text, x, bert_eps);
}

static eg_node *bert_block(const bert *m, eg_graph *g, eg_params *p, int64_t i, eg_node *x,
                           eg_node *lengths)
{
    const bert_names *n = &bert_called[m->preset];
    char name[64];
    snprintf(name, sizeof name, "%s.%s.%lld", n->root, n->layer, (long long)i);
    eg_node *h = eg_concat(g, 3,
                           (eg_node *[]){bert_linear(g, p, name, n->q, x, m->width),
                                         bert_linear(g, p, name, n->k, x, m->width),
                                         bert_linear(g, p, name, n->v, x, m->width)},
                           2);
    h = bert_linear(g, p, name, n->out, eg_attention(g, h, lengths, m->heads), m->width);
    x = bert_norm(g, p, name, n->norm1, eg_add(g, x, eg_dropout(g, h, m->dropout)));
    h = eg_gelu(g, bert_linear(g, p, name, n->fc1, x, m->hidden));
    h = eg_dropout(g, bert_linear(g, p, name, n->fc2, h, m->width), m->dropout);
    return bert_norm(g, p, name, n->norm2, eg_add(g, x, h));
}

static eg_node *bert_embed(const bert *m, eg_graph *g, eg_params *p, const eg_texts *t)
{
    bert_name root = bert_part(bert_called[m->preset].root, "embeddings");
    bert_name words = bert_part(root.text, "word_embeddings.weight");
    bert_name places = bert_part(root.text, "position_embeddings.weight");
    eg_node *h = eg_texts_embed(
        g, t, eg_param(g, p, words.text, eg_dims(m->pieces, m->width), bert_init.weight));
    const eg_positions spec = {places.text, m->positions, m->width, bert_init.weight};
    h = eg_add(g, h, eg_texts_positions(g, p, t, &spec));
    if (m->preset == BERT_BASE) { /* one sentence: all its tokens are of type 0 */
        bert_name types = bert_part(root.text, "token_type_embeddings.weight");
        eg_node *table = eg_param(g, p, types.text, eg_dims(2, m->width), bert_init.weight);
        h = eg_add(g, h, eg_slice(g, table, 0, 0, 1));
    }
    return eg_dropout(g, bert_norm(g, p, root.text, "LayerNorm", h), m->dropout);
}

static eg_node *bert_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const bert *m = self;
    eg_texts t = eg_texts_of(g, x);
    if (eg_is_poison(t.ids))
        return t.ids;
    eg_node *h = bert_embed(m, g, p, &t);
    for (int64_t i = 0; i < m->depth; i++)
        h = bert_block(m, g, p, i, h, t.lengths);
    return eg_reshape(g, eg_slice(g, h, 1, 0, 1), eg_dims(t.n, m->width));
}

static eg_node *bert_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                          int64_t classes)
{
    (void)self;
    return eg_linear_layer_of(
        g, p, "classifier", features,
        &(eg_linear_layer_spec){.out = classes, .bias = true, .init = &bert_init});
}

/* Of Hugging Face's files: heads that guess words, the pooler, numbers of positions. */
static const char *const bert_passes[] = {
    "vocab_", "cls.", "bert.pooler.", "bert.embeddings.position_ids", "pre_classifier.", NULL};

const eg_model eg_model_bert = {
    .component = {"bert", "BERT and DistilBERT, for texts", sizeof(bert), bert_opts},
    .settle = bert_settle,
    .features = bert_features,
    .head = bert_head,
    .alone = true,
    .texts = true,
    .passes = bert_passes,
};
