/* layers.h - layers with their tensors: what models are written with.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer named "conv1" has tensors "conv1.weight" and "conv1.bias", as in PyTorch, with
 * PyTorch's default first values: uniform in +-1/sqrt(fan in) for weights and biases.
 */
#ifndef EG_LAYERS_H
#define EG_LAYERS_H

#include <engram/model.h>
#include <engram/op.h>

/* Fully connected: x [n, in] -> [n, out]. */
eg_node *eg_linear_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x, int64_t out);

/* A square convolution. */
typedef struct eg_conv_layer_spec {
    int64_t out, kernel, stride, padding;
    bool bias;
} eg_conv_layer_spec;
eg_node *eg_conv_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                       const eg_conv_layer_spec *spec);

/* Batch norm with running statistics, momentum 0.1, eps 1e-5; by g's training or eval form. */
eg_node *eg_batch_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x);

/* [n, ...] -> [n, everything else]. */
eg_node *eg_flatten(eg_graph *g, eg_node *x);

/* The features [n, 8 width] of the ResNet-18 of 32x32 images: a 3x3 stem, four stages of two
 * basic blocks, widths doubling. */
eg_node *eg_resnet18(eg_graph *g, eg_params *p, eg_node *x, int64_t width);

#endif
