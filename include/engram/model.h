/* engram/model.h - networks: one file each, recorded into a graph, with PyTorch's tensor names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A net is a model with its options, its input and output sizes, and its table of tensors. It
 * holds no values; it does not change once made, so that threads may share it.
 */
#ifndef EG_MODEL_H
#define EG_MODEL_H

#include <engram/graph.h>
#include <engram/opt.h>

#pragma GCC visibility push(default)

/* What a model is; src/model has one file each. */
typedef struct eg_model {
    const char *name, *help;
    size_t size; /* of its options */
    const eg_opt *opts;
    /* Records features [n, d] for x [n, c, h, w]. Tensors are handed out in call order. */
    eg_node *(*features)(const void *self, eg_graph *g, eg_params *p, eg_node *x);
    const char *head; /* the name of the linear layer that makes logits of them */
} eg_model;

extern const eg_model *const eg_models[]; /* NULL at the end */
const eg_model *eg_model_find(const char *name);

typedef struct eg_net eg_net;

/* What a net is made for. options is NULL or "depth=0 width=64": name=value, blanks between. */
typedef struct eg_net_spec {
    const char *model;
    int64_t channels, height, width, classes;
    const char *options;
    int64_t side; /* outputs of a second head on the features, "side"; 0: there is none */
} eg_net_spec;

eg_status eg_net_new(const eg_net_spec *spec, eg_net **out);
void eg_net_free(eg_net *net); /* NULL is fine */

const eg_params *eg_net_params(const eg_net *net);
const eg_net_spec *eg_net_spec_of(const eg_net *net);
int64_t eg_net_n_features(const eg_net *net); /* what its head sees */

/* Records the net's logits for x [n, c, h, w] into g, in g's training or eval form. */
eg_node *eg_net_forward(const eg_net *net, eg_graph *g, eg_node *x);

/* The same in two steps: features [n, d], then the head, or the second head. Only one forward
 * of a graph may be differentiated per sample (eg_sample_norms). */
eg_node *eg_net_features(const eg_net *net, eg_graph *g, eg_node *x);
eg_node *eg_net_head(const eg_net *net, eg_graph *g, eg_node *features);
eg_node *eg_net_side(const eg_net *net, eg_graph *g, eg_node *features);

/* Records gradients of loss for all of the net's tensors: eg_backward on its table. */
void eg_net_backward(const eg_net *net, eg_graph *g, eg_node *loss);

#pragma GCC visibility pop

#endif
