/* layers.c - linear layers, convolutions and norms with their tensors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/layers.h>

#include "engine/graph/graph.h"

#include <math.h>
#include <stdio.h>

typedef struct layer_name {
    char text[128];
} layer_name;

static layer_name layer_tensor(const char *layer, const char *tensor)
{
    layer_name n;
    snprintf(n.text, sizeof n.text, "%s.%s", layer, tensor);
    return n;
}

eg_layer_name eg_layer_number(const char *word, int64_t number)
{
    eg_layer_name n;
    snprintf(n.text, sizeof n.text, "%s%lld", word, (long long)number);
    return n;
}

static eg_node *layer_param(eg_graph *g, eg_params *p, const char *layer, const char *tensor,
                            eg_shape shape, eg_init init)
{
    return eg_param(g, p, layer_tensor(layer, tensor).text, shape, init);
}

/* First values of a layer's weights and bias, by the inputs and outputs a weight stands
 * between; unless they are given. */
static eg_layer_init layer_init(const eg_layer_init *given, eg_first first, int64_t fan_in,
                                int64_t fan_out)
{
    const eg_init zero = {.kind = EG_INIT_CONSTANT};
    const eg_init torch = {.kind = EG_INIT_UNIFORM, .a = 1 / sqrt((double)fan_in)};
    if (given)
        return *given;
    if (first == EG_FIRST_GLOROT)
        return (eg_layer_init){
            {.kind = EG_INIT_UNIFORM, .a = sqrt(6 / (double)(fan_in + fan_out))}, zero};
    if (first == EG_FIRST_HE)
        return (eg_layer_init){{.kind = EG_INIT_NORMAL, .a = sqrt(2 / (double)fan_in)}, zero};
    return (eg_layer_init){torch, torch};
}

static eg_node *layer_bias(eg_graph *g, eg_params *p, const char *name, bool wanted,
                           int64_t out, eg_init init)
{
    return wanted ? layer_param(g, p, name, "bias", eg_dims(out), init) : NULL;
}

void eg_linear_params(eg_graph *g, eg_params *p, const char *name, int64_t in,
                      const eg_linear_layer_spec *spec, eg_node **w, eg_node **b)
{
    eg_layer_init init = layer_init(spec->init, spec->first, in, spec->out);
    *w = layer_param(g, p, name, "weight", eg_dims(spec->out, in), init.weight);
    *b = layer_bias(g, p, name, spec->bias, spec->out, init.bias);
}

eg_node *eg_linear_layer_of(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                            const eg_linear_layer_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    eg_node *w, *b;
    eg_linear_params(g, p, name, x->shape.dim[1], spec, &w, &b);
    return eg_linear(g, x, w, b);
}

eg_node *eg_linear_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x, int64_t out)
{
    return eg_linear_layer_of(g, p, name, x, &(eg_linear_layer_spec){.out = out, .bias = true});
}

eg_node *eg_conv_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                       const eg_conv_layer_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    int64_t groups = spec->groups ? spec->groups : 1;
    int64_t in = x->shape.dim[1] / groups, k = spec->kernel;
    eg_layer_init init =
        layer_init(spec->init, spec->first, in * k * k, spec->out / groups * k * k);
    eg_node *w = layer_param(g, p, name, "weight", eg_dims(spec->out, in, k, k), init.weight);
    return eg_conv2d(
        g, x, w, layer_bias(g, p, name, spec->bias, spec->out, init.bias),
        (eg_window){.stride = spec->stride, .padding = spec->padding, .groups = groups});
}

eg_node *eg_conv_transpose_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                 const eg_conv_layer_spec *spec)
{
    if (eg_is_poison(x))
        return x;
    int64_t in = x->shape.dim[1], k = spec->kernel;
    /* PyTorch takes the fan in from the weights' second axis here, too, which is `out`. */
    eg_layer_init init = layer_init(spec->init, spec->first, spec->out * k * k, in * k * k);
    eg_node *w = layer_param(g, p, name, "weight", eg_dims(in, spec->out, k, k), init.weight);
    return eg_conv2d_transpose(g, x, w,
                               layer_bias(g, p, name, spec->bias, spec->out, init.bias),
                               (eg_window){.stride = spec->stride, .padding = spec->padding});
}

static const eg_init layer_zeros = {.kind = EG_INIT_CONSTANT, .a = 0};
static const eg_init layer_ones = {.kind = EG_INIT_CONSTANT, .a = 1};

/* A norm's weight and bias, one for each channel. */
static void layer_scale(eg_graph *g, eg_params *p, const char *name, eg_shape c,
                        const eg_layer_init *given, eg_node *out[2])
{
    out[0] = layer_param(g, p, name, "weight", c, given ? given->weight : layer_ones);
    out[1] = layer_param(g, p, name, "bias", c, given ? given->bias : layer_zeros);
}

eg_node *eg_batch_norm_layer_from(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                  const eg_layer_init *init)
{
    if (eg_is_poison(x))
        return x;
    const double momentum = 0.1, eps = 1e-5;
    eg_shape c = eg_dims(x->shape.dim[1]);
    eg_node *scale[2];
    layer_scale(g, p, name, c, init, scale);
    eg_node *mean = eg_state(g, p, layer_tensor(name, "running_mean").text, c, layer_zeros);
    eg_node *var = eg_state(g, p, layer_tensor(name, "running_var").text, c, layer_ones);
    if (!eg_graph_training(g))
        return eg_batch_norm_eval(g, x, mean, var, scale[0], scale[1], eps);
    if (eg_shape_size(x->shape) == x->shape.dim[1])
        return eg_poison(
            g, EG_ESHAPE,
            "batch norm '%s' has one value per channel, which has no variance; train "
            "it on two samples or more at a time",
            name);
    return eg_batch_norm(g, x, eg_channel_stats(g, x, mean, var, momentum), scale[0], scale[1],
                         eps);
}

eg_node *eg_batch_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x)
{
    return eg_batch_norm_layer_from(g, p, name, x, NULL);
}

eg_node *eg_instance_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                                bool affine)
{
    if (eg_is_poison(x))
        return x;
    if (x->shape.rank > 2 && eg_shape_size(x->shape) == x->shape.dim[0] * x->shape.dim[1])
        return eg_poison(g, EG_ESHAPE,
                         "instance norm '%s' has one value per channel, which has no variance",
                         name);
    eg_node *scale[2] = {NULL, NULL};
    if (affine)
        layer_scale(g, p, name, eg_dims(x->shape.dim[1]), NULL, scale);
    return eg_instance_norm(g, x, scale[0], scale[1], 1e-5);
}

eg_node *eg_group_norm_layer(eg_graph *g, eg_params *p, const char *name, eg_node *x,
                             int64_t groups)
{
    if (eg_is_poison(x))
        return x;
    eg_node *scale[2];
    layer_scale(g, p, name, eg_dims(x->shape.dim[1]), NULL, scale);
    return eg_group_norm(g, x, groups, scale[0], scale[1], 1e-5);
}

eg_node *eg_flatten(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return x;
    int64_t n = x->shape.dim[0];
    return eg_reshape(g, x, eg_dims(n, eg_shape_size(x->shape) / n));
}
