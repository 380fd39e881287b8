/* net.c - the list of models, and a net: a model made for an input and a number of classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/net.h"
#include "engine/graph/graph.h"
#include <engram/layers.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const eg_model eg_model_##name;
#include "list.inc"
#undef X

const eg_model *const eg_models[] = {
#define X(name) &eg_model_##name,
#include "list.inc"
#undef X
    NULL,
};
static eg_added net_added;
const eg_family eg_model_family = {"models", "model", eg_models, &net_added};

const eg_model *eg_model_find(const char *word)
{
    return (const eg_model *)eg_family_find(&eg_model_family, word);
}

eg_status eg_model_add(const eg_model *m)
{
    if (!m->features || !m->head)
        return eg_fail(EG_EINVAL, "model '%s': it needs features and a head",
                       m->component.name ? m->component.name : "");
    return eg_family_add(&eg_model_family, &m->component);
}

struct eg_net {
    const eg_model *model;
    eg_net_spec spec;
    void *options;
    eg_params *params;
    size_t head, side; /* the first tensor of each; those of the features stand before */
    int64_t n_features;
    bool frozen, still; /* some tensors are frozen; all of the features' are */
    eg_graft graft;     /* its `of` is NULL: none */
    bool begun;         /* features are computed before */
    int64_t input[3];   /* what the network itself reads: channels, height, width */
};

eg_status eg_model_set(const eg_model *m, void *options, const char *text)
{
    eg_status s = eg_opts_set_text(m->component.opts, options, text);
    if (s == EG_OK && m->settle)
        s = m->settle(options);
    return eg_blame(s, "%s", m->component.name);
}

eg_status eg_model_print(const eg_model *m, const void *options, size_t room, char *out)
{
    return eg_blame(eg_opts_print_text(m->component.opts, options, room, out), "%s",
                    m->component.name);
}

/* Records the net once, so that its table is complete and its shapes are known to fit. */
static eg_status net_fill_table(eg_net *net)
{
    eg_graph *g;
    EG_TRY(eg_graph_new(&g));
    const eg_net_spec *s = &net->spec;
    const eg_marks *marks = s->marks;
    eg_node *x = eg_input(g, "x", eg_dims(2, s->channels, s->height, s->width));
    eg_node *features = eg_net_features(net, g, x);
    net->head = eg_params_n(net->params);
    eg_net_head(net, g, features);
    net->side = eg_params_n(net->params);
    if (s->side)
        eg_net_side(net, g, features);
    eg_status status = eg_graph_status(g);
    if (status == EG_OK)
        net->n_features = eg_node_shape(features).dim[1];
    eg_graph_free(g);
    bool located = status != EG_OK && marks && marks->n &&
                   strncmp(eg_error(), marks->file, strlen(marks->file)) == 0;
    if (located) /* the place in the file comes first, and the sentence has the shapes */
        return status;
    return eg_blame(status, "%s for %lldx%lldx%lld", net->model->component.name,
                    (long long)s->channels, (long long)s->height, (long long)s->width);
}

/* Sets the options and records the net once. */
static eg_status net_fill(eg_net *net)
{
    const eg_model *m = net->model;
    const eg_net_spec *s = &net->spec;
    EG_TRY(s->set ? eg_component_copy(&m->component, s->set, &net->options)
                  : eg_component_new(&m->component, &net->options));
    EG_TRY(eg_params_new(&net->params));
    EG_TRY(eg_model_set(m, net->options, s->options ? s->options : ""));
    if (m->locate)
        m->locate(net->options, s->marks);
    EG_TRY(net_fill_table(net));
    if (m->locate)
        m->locate(net->options, NULL);
    net->spec.options = NULL, net->spec.set = NULL, net->spec.marks = NULL; /* the caller's */
    return EG_OK;
}

eg_status eg_net_new(const eg_net_spec *spec, eg_net **out)
{
    return eg_net_new_grafted(spec, NULL, out);
}

eg_status eg_net_new_grafted(const eg_net_spec *spec, const eg_graft *graft, eg_net **out)
{
    *out = NULL;
    const eg_model *model = eg_model_find(spec->model);
    if (!model)
        return EG_ENOENT;
    if (spec->channels < 1 || spec->height < 1 || spec->width < 1 || spec->classes < 1 ||
        spec->side < 0)
        return eg_fail(EG_ESHAPE, "%s: an input of %lldx%lldx%lld for %lld classes",
                       model->component.name, (long long)spec->channels,
                       (long long)spec->height, (long long)spec->width,
                       (long long)spec->classes);
    eg_net *net = calloc(1, sizeof *net);
    if (!net)
        return eg_fail(EG_ENOMEM, "no memory for a net");
    net->model = model;
    net->graft = graft ? *graft : (eg_graft){0};
    net->spec = *spec;
    net->spec.model = model->component.name;
    net->input[0] = spec->channels, net->input[1] = spec->height, net->input[2] = spec->width;
    eg_status s = net_fill(net);
    if (s == EG_OK)
        *out = net;
    else
        eg_net_free(net);
    return s;
}

void eg_net_free(eg_net *net)
{
    if (!net)
        return;
    eg_params_free(net->params);
    free(net->options);
    free(net);
}

/* Whether a tensor is the one of this name, of n characters, or of the layer. */
static bool net_is_of(const char *tensor, const char *name, size_t n)
{
    return strncmp(tensor, name, n) == 0 && (tensor[n] == 0 || tensor[n] == '.');
}

/* Takes the tensors that a list names out of those that are to be frozen. */
static eg_status net_keep_named(const eg_net *net, const char *names, bool *which)
{
    static const char between[] = "[], ";
    for (const char *at = names + strspn(names, between); *at; at += strspn(at, between)) {
        size_t n = strcspn(at, between);
        bool found = false;
        for (size_t i = 0; i < net->head; i++)
            if (net_is_of(eg_params_at(net->params, i)->name, at, n))
                found = true, which[i] = false;
        if (!found)
            return eg_fail(EG_ENOENT, "model.train: the network has no tensor or layer '%.*s'",
                           (int)n, at);
        at += n;
    }
    return EG_OK;
}

eg_status eg_net_freeze(eg_net *net, const char *train)
{
    bool *which; /* [n] */
    if (strcmp(train, "all") == 0 || !*train)
        return EG_OK;
    EG_TRY(eg_alloc(eg_params_n(net->params) + 1, sizeof *which, &which));
    for (size_t i = 0; i < net->head; i++)
        which[i] = true;
    eg_status s = strcmp(train, "head") == 0 ? EG_OK : net_keep_named(net, train, which);
    net->still = true;
    for (size_t i = 0; i < net->head; i++)
        net->still &= which[i] || !eg_params_at(net->params, i)->trained;
    for (size_t i = 0; i < net->head; i++) /* statistics of layers that go on move with them */
        which[i] &= net->still || eg_params_at(net->params, i)->trained;
    if (s == EG_OK)
        s = eg_params_freeze(net->params, which);
    net->frozen = s == EG_OK;
    free(which);
    return s;
}

bool eg_net_is_frozen(const eg_net *net)
{
    return net->frozen;
}

bool eg_net_is_still(const eg_net *net)
{
    return net->still;
}

void eg_net_begin(eg_net *net)
{
    net->begun = true;
    net->spec.channels = net->n_features;
    net->spec.height = net->spec.width = 1;
}

const int64_t *eg_net_input(const eg_net *net)
{
    return net->input;
}

const eg_params *eg_net_params(const eg_net *net)
{
    return net->params;
}

const eg_model *eg_net_model(const eg_net *net)
{
    return net->model;
}

const void *eg_net_options(const eg_net *net)
{
    return net->options;
}

void eg_net_heads(const eg_net *net, size_t *head, size_t *side)
{
    *head = net->head;
    *side = net->side;
}

int64_t eg_net_n_features(const eg_net *net)
{
    return net->n_features;
}

const eg_net_spec *eg_net_spec_of(const eg_net *net)
{
    return &net->spec;
}

eg_node *eg_net_features(const eg_net *net, eg_graph *g, eg_node *x)
{
    bool training = eg_graph_training(g);
    if (net->begun)
        return eg_flatten(g, x);
    if (net->still)
        eg_graph_set_training(g, false);
    eg_node *features = net->graft.of ? net->graft.features(net->graft.options, net, g, x)
                                      : eg_net_own_features(net, g, x);
    eg_graph_set_training(g, training);
    return features;
}

const eg_graft *eg_net_graft(const eg_net *net)
{
    return &net->graft;
}

eg_node *eg_net_own_features(const eg_net *net, eg_graph *g, eg_node *x)
{
    return net->model->features(net->options, g, net->params, x);
}

static eg_node *net_no_transformer(const eg_net *net, eg_graph *g)
{
    return eg_poison(g, EG_ENOTSUP, "%s is no transformer with tokens to put others beside",
                     net->model->component.name);
}

eg_node *eg_net_tokens(const eg_net *net, eg_graph *g, eg_node *x)
{
    return net->model->tokens ? net->model->tokens(net->options, g, net->params, x)
                              : net_no_transformer(net, g);
}

eg_node *eg_net_encode(const eg_net *net, eg_graph *g, eg_node *tokens,
                       eg_node *const *prefixes)
{
    return net->model->encode
               ? net->model->encode(net->options, g, net->params, tokens, prefixes)
               : net_no_transformer(net, g);
}

eg_node *eg_net_pooled(const eg_net *net, eg_graph *g, eg_node *tokens)
{
    return net->model->pooled ? net->model->pooled(net->options, g, tokens)
                              : net_no_transformer(net, g);
}

int64_t eg_net_depth(const eg_net *net)
{
    return net->model->depth ? net->model->depth(net->options) : 0;
}

eg_node *eg_net_param(const eg_net *net, eg_graph *g, const char *name, eg_shape shape,
                      eg_init init)
{
    return eg_param(g, net->params, name, shape, init);
}

eg_node *eg_net_head(const eg_net *net, eg_graph *g, eg_node *features)
{
    return net->model->head(net->options, g, net->params, features, net->spec.classes);
}

eg_node *eg_net_side(const eg_net *net, eg_graph *g, eg_node *features)
{
    const eg_model *m = net->model;
    return m->side ? m->side(net->options, g, net->params, features, net->spec.side)
                   : eg_linear_layer(g, net->params, "side", features, net->spec.side);
}

eg_node *eg_net_forward(const eg_net *net, eg_graph *g, eg_node *x)
{
    return eg_net_head(net, g, eg_net_features(net, g, x));
}

void eg_net_backward(const eg_net *net, eg_graph *g, eg_node *loss)
{
    eg_backward(g, loss, net->params);
}
