/* engram/layers.h - layers with their tensors: what models are written with.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer named "conv1" has tensors "conv1.weight" and "conv1.bias", as in PyTorch, with
 * PyTorch's default first values: uniform in +-1/sqrt(fan in) for weights and biases, ones and
 * zeros for norms; unless a rule (eg_first) or values (eg_layer_init, NULL: by the rule) are
 * given.
 */
#ifndef EG_LAYERS_H
#define EG_LAYERS_H

#include <engram/model.h>
#include <engram/op.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* First values of weights; but for PyTorch's, biases begin as 0. */
typedef enum eg_first {
    EG_FIRST_TORCH,  /* uniform in +-1/sqrt(fan in), biases too */
    EG_FIRST_GLOROT, /* uniform in +-sqrt(6 / (fan in + fan out)); Glorot and Bengio, 2010 */
    EG_FIRST_HE,     /* normal with deviation sqrt(2 / fan in); He et al., 2015 */
} eg_first;

/* How a layer's two tensors get their first values. */
typedef struct eg_layer_init {
    eg_init weight, bias;
} eg_layer_init;

/* The name of one of several like layers: "conv2". */
typedef struct eg_layer_name {
    char text[64];
} eg_layer_name;
eg_layer_name eg_layer_number(const char *word, int64_t number);

/* Fully connected: x [n, in] -> [n, out]. */
eg_node *eg_linear_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x, int64_t out);

/* The same with first values of choice, and without a bias. */
typedef struct eg_linear_layer_spec {
    int64_t out;
    bool bias;
    eg_first first;
    const eg_layer_init *init;
} eg_linear_layer_spec;
eg_node *eg_linear_layer_of(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                            const eg_linear_layer_spec *spec);

/* The tensors of such a layer alone; *b is NULL without a bias. */
void eg_linear_params(eg_graph *g, eg_params *p, const char *name, int64_t in,
                      const eg_linear_layer_spec *spec, eg_node **w, eg_node **b);

/* A square convolution. */
typedef struct eg_conv_layer_spec {
    int64_t out, kernel, stride, padding;
    bool bias;
    eg_first first;
    const eg_layer_init *init;
    int64_t groups; /* of channels, each on its own; 0: one. Transposed ones have one */
} eg_conv_layer_spec;
eg_node *eg_conv_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                       const eg_conv_layer_spec *spec);
/* The transposed one: weights [in, out, kernel, kernel], and a side of s places becomes
 * (s - 1) stride - 2 padding + kernel. */
eg_node *eg_conv_transpose_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                 const eg_conv_layer_spec *spec);

/* Batch norm with running statistics, momentum 0.1, eps 1e-5; by g's training or eval form. */
eg_node *eg_batch_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x);
eg_node *eg_batch_norm_layer_from(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                  const eg_layer_init *init);

/* Instance norm, eps 1e-5, without running statistics; affine: with weight and bias. */
eg_node *eg_instance_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                bool affine);

/* Group norm, eps 1e-5; groups divide the channels. */
eg_node *eg_group_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                             int64_t groups);

/* Layer norm over the last axis. */
eg_node *eg_layer_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                             double eps);

/* A linear layer on each token: x [n, t, in] -> [n, t, out]. */
eg_node *eg_token_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                        const eg_linear_layer_spec *spec);

/* Images cut into square patches, each a token: x [n, c, h, w] -> [n, h w / side^2, width],
 * whose weights are [width, c, side, side]. */
eg_node *eg_patch_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x, int64_t side,
                        const eg_linear_layer_spec *spec);

/* A block of a transformer with its norms in front, as timm names it ("norm1", "attn.qkv",
 * "attn.proj", "norm2", "mlp.fc1", "mlp.fc2"): x + attention(norm x), then x + mlp(norm x). */
typedef struct eg_block_spec {
    int64_t heads, hidden;
    double eps;
    eg_node *lengths; /* [n]: the tokens that count; NULL: all */
    eg_node *prefix;  /* [n, tokens, 2 w]: keys and values that are read too; NULL: none */
    const eg_layer_init *init;
} eg_block_spec;
/* Its attention alone: "qkv" and "proj" of the spec's heads; hidden is not read. */
eg_node *eg_attention_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                            const eg_block_spec *spec);
eg_node *eg_transformer_block(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                              const eg_block_spec *spec);

/* [n, ...] -> [n, everything else]. */
eg_node *eg_flatten(eg_graph *g, eg_node *x);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
