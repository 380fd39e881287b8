/* transformer.c - what transformers are made of: norms, linear layers and blocks on tokens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/layers.h>

#include "engine/graph/graph.h"

#include <math.h>
#include <stdio.h>

typedef struct transformer_name {
    char text[128];
} transformer_name;

static transformer_name transformer_join(const char *layer, const char *part)
{
    transformer_name n;
    snprintf(n.text, sizeof n.text, "%.100s.%.20s", layer, part);
    return n;
}

/* [n, t, w] -> [n t, w] */
static eg_node *transformer_rows(eg_graph *g, eg_node *x)
{
    int64_t w = x->shape.dim[x->shape.rank - 1];
    return eg_reshape(g, x, eg_dims(eg_shape_size(x->shape) / w, w));
}

eg_node *eg_layer_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                             double eps)
{
    if (eg_is_poison(x))
        return x;
    eg_shape w = eg_dims(x->shape.dim[x->shape.rank - 1]);
    const eg_init zero = {.kind = EG_INIT_CONSTANT}, one = {.kind = EG_INIT_CONSTANT, .a = 1};
    eg_node *scale = eg_param(g, p, transformer_join(name, "weight").text, w, one);
    eg_node *shift = eg_param(g, p, transformer_join(name, "bias").text, w, zero);
    eg_node *rows = eg_row_normalize(g, transformer_rows(g, x), eps);
    return eg_reshape(g, eg_channel_affine(g, rows, scale, shift), x->shape);
}

eg_node *eg_token_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                        const eg_linear_layer_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    eg_node *w, *b;
    eg_linear_params(g, p, name, x->shape.dim[x->shape.rank - 1], spec, &w, &b);
    return eg_token_linear(g, x, w, b);
}

eg_node *eg_patch_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x, int64_t side,
                        const eg_linear_layer_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    int64_t n = x->shape.dim[0], c = x->shape.dim[1], k = side, size = c * k * k;
    int64_t rows = x->shape.dim[2] / k, cols = x->shape.dim[3] / k;
    const int order[EG_MAX_RANK] = {0, 2, 4, 1, 3, 5};
    const eg_layer_init torch = {{.kind = EG_INIT_UNIFORM, .a = 1 / sqrt((double)size)},
                                 {.kind = EG_INIT_UNIFORM, .a = 1 / sqrt((double)size)}};
    const eg_layer_init *init = spec->init ? spec->init : &torch;
    eg_node *w = eg_param(g, p, transformer_join(name, "weight").text,
                          eg_dims(spec->out, c, k, k), init->weight);
    eg_node *b =
        eg_param(g, p, transformer_join(name, "bias").text, eg_dims(spec->out), init->bias);
    x = eg_transpose(g, eg_reshape(g, x, eg_dims(n, c, rows, k, cols, k)), order);
    x = eg_reshape(g, x, eg_dims(n, rows * cols, size));
    return eg_token_linear(g, x, eg_reshape(g, w, eg_dims(spec->out, size)), b);
}

/* Keys and values [n, tokens, 2 w] before those of x [n, t, 3 w], as tokens that ask nothing.
 */
static eg_node *transformer_prefix(eg_graph *g, eg_node *x, eg_node *prefix)
{
    if (eg_is_poison(x) || eg_is_poison(prefix))
        return g->poison;
    eg_shape s = prefix->shape;
    s.dim[2] = x->shape.dim[2] / 3;
    eg_node *wide = eg_concat(g, 2, (eg_node *[]){eg_constant(g, s, 0), prefix}, 2);
    return eg_concat(g, 2, (eg_node *[]){wide, x}, 1);
}

eg_node *eg_attention_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                            const eg_block_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    int64_t w = x->shape.dim[2], t = x->shape.dim[1];
    eg_linear_layer_spec linear = {.out = 3 * w, .bias = true, .init = spec->init};
    eg_node *h = eg_token_layer(g, p, transformer_join(name, "qkv").text, x, &linear);
    if (spec->prefix)
        h = transformer_prefix(g, h, spec->prefix);
    h = eg_attention(g, h, spec->lengths, spec->heads);
    if (spec->prefix && !eg_is_poison(h))
        h = eg_slice(g, h, 1, h->shape.dim[1] - t, t);
    linear.out = w;
    return eg_token_layer(g, p, transformer_join(name, "proj").text, h, &linear);
}

eg_node *eg_transformer_block(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                              const eg_block_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    eg_linear_layer_spec linear = {.out = spec->hidden, .bias = true, .init = spec->init};
    transformer_name mlp = transformer_join(name, "mlp");
    eg_node *h = eg_layer_norm_layer(g, p, transformer_join(name, "norm1").text, x, spec->eps);
    x = eg_add(g, x, eg_attention_layer(g, p, transformer_join(name, "attn").text, h, spec));
    h = eg_layer_norm_layer(g, p, transformer_join(name, "norm2").text, x, spec->eps);
    h = eg_gelu(g, eg_token_layer(g, p, transformer_join(mlp.text, "fc1").text, h, &linear));
    if (eg_is_poison(x))
        return x;
    linear.out = x->shape.dim[2];
    return eg_add(g, x,
                  eg_token_layer(g, p, transformer_join(mlp.text, "fc2").text, h, &linear));
}
