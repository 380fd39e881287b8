/* layers_model.c - the model "layers": a network that the experiment file lists.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its tensors have the names of PyTorch's nn.Sequential of the same layers with a linear head
 * behind them: "0.weight", and within a residual, an nn.Sequential too, "4.0.weight". Every
 * layer looks at its input's shape before it records anything, so that an error tells both.
 *
 * What runs through it are images [n, c, h, w], tokens [n, t, w] or rows [n, d]. Layers of
 * tokens have the names that timm's have within a block, and its layer norm's eps.
 */
#include "engine/model/layers_text.h"
#include "engine/op/op.h"
#include <engram/layers.h>

#include <stdio.h>

typedef struct layers {
    char layers[EG_OPT_TEXT_SIZE];
    int init, head_init;
    const eg_marks *marks; /* while a net is made, if known */
} layers;

// clang-format off
static const eg_opt layers_opts[] = {
    EG_OPT_TEXT(layers, layers, "[flatten, linear 100, relu]",
                "what stands before the head, in order: conv CHANNELS [kSIDE sSTRIDE pPADDING gGROUPS depthwise no-bias], linear UNITS [no-bias], batch-norm, group-norm GROUPS, relu, leaky-relu [SLOPE], gelu, silu, sigmoid, tanh, pool SIDE [sSTRIDE pPADDING], avg-pool (as pool), global-pool, dropout SHARE, channel-dropout SHARE, flatten, residual: [LAYERS]; of tokens: patch WIDTH [kSIDE], class-token, position, layer-norm, attention HEADS, transformer HEADS [hHIDDEN], first-token, and global-pool, their mean"),
    EG_OPT_CHOICE(layers, init, 0, "first values of weights: PyTorch's, Glorot's or He's, the last two with biases of 0", "torch|glorot|he"),
    EG_OPT_CHOICE(layers, head_init, 0, "those of the head", "same|torch|glorot|he"),
    EG_OPT_END,
};
// clang-format on

/* What recording needs at hand. */
typedef struct layers_net {
    const layers *self;
    eg_graph *g;
    eg_params *p;
    eg_layer_list list;
} layers_net;

static eg_status layers_settle(void *self)
{
    layers *m = self;
    eg_layer_list list;
    EG_TRY(eg_layers_parse(m->layers, &list));
    return eg_layers_print(&list, m->layers);
}

static void layers_locate(void *self, const eg_marks *marks)
{
    ((layers *)self)->marks = marks;
}

/* The shape of a sample: "64x12x12". */
typedef struct layers_shape {
    char text[64];
} layers_shape;

static layers_shape layers_shape_of(const eg_node *x)
{
    layers_shape s;
    const int64_t *d = x->shape.dim;
    if (x->shape.rank == 4)
        snprintf(s.text, sizeof s.text, "%lldx%lldx%lld", (long long)d[1], (long long)d[2],
                 (long long)d[3]);
    else if (x->shape.rank == 3)
        snprintf(s.text, sizeof s.text, "%lld tokens of %lld", (long long)d[1],
                 (long long)d[2]);
    else
        snprintf(s.text, sizeof s.text, "a row of %lld values", (long long)d[1]);
    return s;
}

/* Marks the graph with an error of entry i, the place where it was read first. */
static eg_node *layers_fail(const layers_net *n, size_t i, const char *what)
{
    const eg_marks *marks = n->self->marks;
    const eg_layer *l = &n->list.at[i];
    char place[512] = "";
    if (marks && i < marks->n)
        snprintf(place, sizeof place, "%.400s:%d:%d: ", marks->file, marks->at[i].line,
                 marks->at[i].column);
    return eg_poison(n->g, EG_ESHAPE, "%slayer %s ('%.*s') %s", place, l->name,
                     l->length < 60 ? (int)l->length : 60, n->self->layers + l->from, what);
}

/* Whether x is an image, as convolutions and pools want it, and the windows fit into it. */
static bool layers_window_fits(const layers_net *n, size_t i, const eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    char what[256];
    layers_shape have = layers_shape_of(x);
    if (x->shape.rank != 4) {
        snprintf(what, sizeof what, "works on images, and gets %s", have.text);
        layers_fail(n, i, what);
        return false;
    }
    if (eg_window_count(x->shape.dim[2], l->kernel, l->stride, l->padding) > 0 &&
        eg_window_count(x->shape.dim[3], l->kernel, l->stride, l->padding) > 0)
        return true;
    snprintf(what, sizeof what, "has windows of %lldx%lld, padding %lld, and gets %s",
             (long long)l->kernel, (long long)l->kernel, (long long)l->padding, have.text);
    layers_fail(n, i, what);
    return false;
}

static eg_node *layers_conv(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    const eg_conv_layer_spec spec = {.out = (int64_t)l->number,
                                     .kernel = l->kernel,
                                     .stride = l->stride,
                                     .padding = l->padding,
                                     .bias = !l->no_bias,
                                     .first = (eg_first)n->self->init,
                                     .groups = l->groups ? l->groups : x->shape.dim[1]};
    char what[256];
    if (!layers_window_fits(n, i, x))
        return n->g->poison;
    if (x->shape.dim[1] % spec.groups || spec.out % spec.groups) {
        snprintf(what, sizeof what,
                 "has %lld groups, which do not divide its channels and those of %s",
                 (long long)spec.groups, layers_shape_of(x).text);
        return layers_fail(n, i, what);
    }
    return eg_conv_layer(n->g, n->p, l->name, x, &spec);
}

static eg_node *layers_pool(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    const eg_window win = {.kernel = l->kernel, .stride = l->stride, .padding = l->padding};
    if (!layers_window_fits(n, i, x))
        return n->g->poison;
    return l->kind == EG_LAYER_POOL ? eg_max_pool(n->g, x, win) : eg_avg_pool(n->g, x, win);
}

static eg_node *layers_linear(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    const eg_linear_layer_spec spec = {
        .out = (int64_t)l->number, .bias = !l->no_bias, .first = (eg_first)n->self->init};
    char what[256];
    if (x->shape.rank == 2)
        return eg_linear_layer_of(n->g, n->p, l->name, x, &spec);
    if (x->shape.rank == 3)
        return eg_token_layer(n->g, n->p, l->name, x, &spec);
    snprintf(what, sizeof what,
             "works on a row of values, and gets %s: flatten or global-pool makes one",
             layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

/* A layer that would take tokens for channels. */
static eg_node *layers_no_tokens(const layers_net *n, size_t i, const eg_node *x)
{
    char what[256];
    snprintf(what, sizeof what, "works on images and rows, and gets %s",
             layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

static eg_node *layers_group_norm(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    int64_t groups = (int64_t)l->number;
    char what[256];
    if (x->shape.rank == 3)
        return layers_no_tokens(n, i, x);
    if (x->shape.dim[1] % groups == 0)
        return eg_group_norm_layer(n->g, n->p, l->name, x, groups);
    snprintf(what, sizeof what, "makes %lld groups, which do not divide the channels of %s",
             (long long)groups, layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

/* Layers that work on maps, and on nothing else. */
static eg_node *layers_maps(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    char what[256];
    if (x->shape.rank == 3 && l->kind == EG_LAYER_GLOBAL_POOL)
        return eg_reshape(n->g, eg_mean(n->g, x, EG_AXIS(1)),
                          eg_dims(x->shape.dim[0], x->shape.dim[2]));
    if (x->shape.rank == 4)
        return l->kind == EG_LAYER_GLOBAL_POOL ? eg_global_pool(n->g, x)
                                               : eg_channel_dropout(n->g, x, l->number);
    snprintf(what, sizeof what, "works on images, and gets %s", layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

static eg_node *layers_all(const layers_net *n, size_t first, size_t count, eg_node *x);

static eg_node *layers_residual(const layers_net *n, size_t i, eg_node *x)
{
    eg_node *y = layers_all(n, i + 1, n->list.at[i].n_inside, x);
    char what[256];
    if (eg_is_poison(y) || eg_shape_equal(x->shape, y->shape))
        return eg_add(n->g, y, x);
    snprintf(what, sizeof what, "makes %s of %s, which cannot be added to it",
             layers_shape_of(y).text, layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

static const eg_init layers_token_init = {.kind = EG_INIT_NORMAL, .a = 0.02};
static const double layers_token_eps = 1e-6;

static eg_node *layers_patch(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    const eg_linear_layer_spec spec = {.out = (int64_t)l->number, .bias = true};
    char what[256];
    if (!layers_window_fits(n, i, x))
        return n->g->poison;
    if (x->shape.dim[2] % l->kernel == 0 && x->shape.dim[3] % l->kernel == 0)
        return eg_patch_layer(n->g, n->p, l->name, x, l->kernel, &spec);
    snprintf(what, sizeof what, "has patches of %lldx%lld, which do not fill %s",
             (long long)l->kernel, (long long)l->kernel, layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

/* A learned token in front, or learned positions: "<name>.weight". */
static eg_node *layers_learned(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    char name[EG_LAYER_NAME_SIZE + 8];
    const int64_t *d = x->shape.dim;
    snprintf(name, sizeof name, "%s.weight", l->name);
    if (l->kind == EG_LAYER_POSITION)
        return eg_add(n->g, x,
                      eg_param(n->g, n->p, name, eg_dims(1, d[1], d[2]), layers_token_init));
    eg_node *token = eg_param(n->g, n->p, name, eg_dims(1, 1, d[2]), layers_token_init);
    token = eg_expand(n->g, token, eg_dims(d[0], 1, d[2]));
    return eg_concat(n->g, 2, (eg_node *[]){token, x}, 1);
}

static eg_node *layers_heads(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    int64_t w = x->shape.dim[2];
    const eg_block_spec spec = {.heads = (int64_t)l->number,
                                .hidden = l->hidden ? l->hidden : 4 * w,
                                .eps = layers_token_eps};
    char what[256];
    if (w % spec.heads == 0)
        return l->kind == EG_LAYER_ATTENTION
                   ? eg_attention_layer(n->g, n->p, l->name, x, &spec)
                   : eg_transformer_block(n->g, n->p, l->name, x, &spec);
    snprintf(what, sizeof what, "has %lld heads, which do not divide the width of %s",
             (long long)spec.heads, layers_shape_of(x).text);
    return layers_fail(n, i, what);
}

/* Layers that work on tokens. */
static eg_node *layers_tokens(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    char what[256];
    if (l->kind == EG_LAYER_NORM && x->shape.rank < 4)
        return eg_layer_norm_layer(n->g, n->p, l->name, x, layers_token_eps);
    if (x->shape.rank != 3) {
        snprintf(what, sizeof what, "works on tokens, and gets %s: patch makes them",
                 layers_shape_of(x).text);
        return layers_fail(n, i, what);
    }
    if (l->kind == EG_LAYER_FIRST_TOKEN)
        return eg_reshape(n->g, eg_slice(n->g, x, 1, 0, 1),
                          eg_dims(x->shape.dim[0], x->shape.dim[2]));
    return l->kind == EG_LAYER_ATTENTION || l->kind == EG_LAYER_TRANSFORMER
               ? layers_heads(n, i, x)
               : layers_learned(n, i, x);
}

static eg_node *layers_one(const layers_net *n, size_t i, eg_node *x)
{
    const eg_layer *l = &n->list.at[i];
    if (eg_is_poison(x))
        return x;
    switch (l->kind) {
    case EG_LAYER_CONV:
        return layers_conv(n, i, x);
    case EG_LAYER_LINEAR:
        return layers_linear(n, i, x);
    case EG_LAYER_BATCH_NORM:
        return x->shape.rank == 3 ? layers_no_tokens(n, i, x)
                                  : eg_batch_norm_layer(n->g, n->p, l->name, x);
    case EG_LAYER_GROUP_NORM:
        return layers_group_norm(n, i, x);
    case EG_LAYER_RELU:
        return eg_relu(n->g, x);
    case EG_LAYER_LEAKY_RELU:
        return eg_leaky_relu(n->g, x, l->number);
    case EG_LAYER_GELU:
        return eg_gelu(n->g, x);
    case EG_LAYER_SILU:
        return eg_silu(n->g, x);
    case EG_LAYER_SIGMOID:
        return eg_sigmoid(n->g, x);
    case EG_LAYER_TANH:
        return eg_tanh(n->g, x);
    case EG_LAYER_POOL:
    case EG_LAYER_AVG_POOL:
        return layers_pool(n, i, x);
    case EG_LAYER_GLOBAL_POOL:
    case EG_LAYER_CHANNEL_DROPOUT:
        return layers_maps(n, i, x);
    case EG_LAYER_DROPOUT:
        return eg_dropout(n->g, x, l->number);
    case EG_LAYER_FLATTEN:
        return eg_flatten(n->g, x);
    case EG_LAYER_RESIDUAL:
        return layers_residual(n, i, x);
    case EG_LAYER_PATCH:
        return layers_patch(n, i, x);
    case EG_LAYER_CLASS_TOKEN:
    case EG_LAYER_POSITION:
    case EG_LAYER_NORM:
    case EG_LAYER_ATTENTION:
    case EG_LAYER_TRANSFORMER:
    case EG_LAYER_FIRST_TOKEN:
        return layers_tokens(n, i, x);
    }
    return eg_poison(n->g, EG_EINVAL, "layer %s is of no kind", l->name);
}

/* The entries from `first` on, `count` with those inside them, one after the other. */
static eg_node *layers_all(const layers_net *n, size_t first, size_t count, eg_node *x)
{
    for (size_t i = first; i < first + count; i += 1 + n->list.at[i].n_inside)
        x = layers_one(n, i, x);
    return x;
}

static eg_node *layers_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    layers_net n = {.self = self, .g = g, .p = p};
    if (eg_layers_parse(n.self->layers, &n.list) != EG_OK)
        return eg_poison(g, EG_EINVAL, "%s", eg_error());
    eg_node *y = layers_all(&n, 0, n.list.n, x);
    char what[256];
    if (eg_is_poison(y) || y->shape.rank == 2)
        return y;
    snprintf(what, sizeof what,
             "is the last and makes %s, and the head behind it works on a row of values: "
             "flatten, global-pool or, of tokens, first-token makes one",
             layers_shape_of(y).text);
    size_t last = 0; /* of those in no residual */
    for (size_t i = 0; i < n.list.n; i += 1 + n.list.at[i].n_inside)
        last = i;
    return layers_fail(&n, last, what);
}

static eg_node *layers_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                            int64_t classes)
{
    const layers *m = self;
    eg_layer_list list;
    if (eg_layers_parse(m->layers, &list) != EG_OK)
        return eg_poison(g, EG_EINVAL, "%s", eg_error());
    char name[EG_LAYER_NAME_SIZE];
    snprintf(name, sizeof name, "%zu", list.n_top);
    const eg_linear_layer_spec spec = {
        .out = classes,
        .bias = true,
        .first = (eg_first)(m->head_init ? m->head_init - 1 : m->init)};
    return eg_linear_layer_of(g, p, name, features, &spec);
}

const eg_model eg_model_layers = {
    .component = {"layers", "a network given as a list of layers", sizeof(layers), layers_opts},
    .settle = layers_settle,
    .locate = layers_locate,
    .features = layers_features,
    .head = layers_head,
};
