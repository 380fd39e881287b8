/* layers_text.h - a network as text: "[conv 32 k3, relu, pool 2, flatten, linear 128, relu]".
 * SPDX-License-Identifier: Apache-2.0
 *
 *   list   [entry, entry, ...]
 *   entry  kind, then its number if it has one, then words in any order; or residual list
 *   words  k3 the window's side, s2 its stride, p1 zeros around, g4 groups of channels,
 *          depthwise, h256 hidden units, no-bias
 *
 * `engram help layers` lists the kinds. residual: [...] with a colon, as YAML writes it, is
 * read too.
 */
#ifndef EG_LAYERS_TEXT_H
#define EG_LAYERS_TEXT_H

#include <engram/opt.h>

enum { EG_MAX_LAYERS = 256, EG_MAX_LAYERS_DEPTH = 8, EG_LAYER_NAME_SIZE = 64 };

typedef enum eg_layer_kind {
    EG_LAYER_CONV,
    EG_LAYER_LINEAR,
    EG_LAYER_BATCH_NORM,
    EG_LAYER_GROUP_NORM,
    EG_LAYER_RELU,
    EG_LAYER_LEAKY_RELU,
    EG_LAYER_GELU,
    EG_LAYER_SILU,
    EG_LAYER_SIGMOID,
    EG_LAYER_TANH,
    EG_LAYER_POOL,
    EG_LAYER_AVG_POOL,
    EG_LAYER_GLOBAL_POOL,
    EG_LAYER_DROPOUT,
    EG_LAYER_CHANNEL_DROPOUT,
    EG_LAYER_FLATTEN,
    EG_LAYER_RESIDUAL,
    EG_LAYER_PATCH,
    EG_LAYER_CLASS_TOKEN,
    EG_LAYER_POSITION,
    EG_LAYER_NORM,
    EG_LAYER_ATTENTION,
    EG_LAYER_TRANSFORMER,
    EG_LAYER_FIRST_TOKEN,
} eg_layer_kind;

/* One entry. Those of a residual's own list follow it. */
typedef struct eg_layer {
    eg_layer_kind kind;
    char name[EG_LAYER_NAME_SIZE];   /* as in an nn.Sequential: "4", within a residual "4.0" */
    double number;                   /* channels, units, side, groups, share or slope */
    int64_t kernel, stride, padding; /* of windows; all are set */
    int64_t groups;                  /* of a convolution; 0: depthwise */
    int64_t hidden;                  /* of a transformer's block; 0: four times the width */
    bool no_bias;
    size_t n_inside; /* of a residual: the entries that follow and belong to it, at any depth */
    size_t from, length; /* its words, in the text */
} eg_layer;

typedef struct eg_layer_list {
    size_t n;     /* of all entries, at any depth */
    size_t n_top; /* of those in no residual: the number of the next layer, which is the head */
    eg_layer at[EG_MAX_LAYERS];
} eg_layer_list;

/* EG_EINVAL with one sentence that names the entry, its words and what is wrong. */
eg_status eg_layers_parse(const char *text, eg_layer_list *out);

/* Writes the list in its one form: equal lists are equal texts. EG_EINVAL when it does not fit.
 */
eg_status eg_layers_print(const eg_layer_list *list, char out[EG_OPT_TEXT_SIZE]);

#endif
