/* engram/model.h - networks: one file each, recorded into a graph, with PyTorch's tensor names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A net is a model with its options, its input and output sizes, and its table of tensors. It
 * holds no values; it does not change once made, so that threads may share it.
 */
#ifndef EG_MODEL_H
#define EG_MODEL_H

#include <engram/component.h>
#include <engram/graph.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Where the entries of a list were read, for errors: "demo.yaml:12:9". */
typedef struct eg_mark {
    int line, column;
} eg_mark;
typedef struct eg_marks {
    const char *file;
    size_t n;
    const eg_mark *at;
} eg_marks;

struct eg_region;

/* What a model is; src/engine/model has one file each. */
typedef struct eg_model {
    eg_component component;
    /* NULL, or called when options were set: checks what no single row can, and brings them
     * into one form. */
    eg_status (*settle)(void *self);
    /* NULL, or told where the entries of its list were read, while a net is made. */
    void (*locate)(void *self, const eg_marks *marks);
    /* NULL, or what the network is that looks for boxes on images of this height and width:
     * anchors of 0 are to be settled by the data. */
    void (*region)(const void *self, int64_t height, int64_t width, int64_t classes,
                   struct eg_region *out);
    /* Records features [n, d] for x [n, c, h, w]. Tensors are handed out in call order. */
    eg_node *(*features)(const void *self, eg_graph *g, eg_params *p, eg_node *x);
    /* Records logits [n, classes] of them: a linear layer, with first values of its choice. */
    eg_node *(*head)(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                     int64_t classes);
    /* NULL, or the same for a second head, "side"; else its first values are PyTorch's. */
    eg_node *(*side)(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                     int64_t outputs);
    /* NULL, or of a transformer: the tokens [n, t, w] of x, and what its blocks make of tokens,
     * the last norm included; prefixes [depth], NULL or NULL members: none, are keys and values
     * [n, tokens, 2 w] that a block reads beside its own. */
    eg_node *(*tokens)(const void *self, eg_graph *g, eg_params *p, eg_node *x);
    eg_node *(*encode)(const void *self, eg_graph *g, eg_params *p, eg_node *tokens,
                       eg_node *const *prefixes);
    eg_node *(*pooled)(const void *self, eg_graph *g, eg_node *tokens); /* features of these */
    int64_t (*depth)(const void *self);
    /* NULL, or makes a tensor's first values of a file's tensor of another shape. False: it
     * cannot. */
    bool (*fit)(const void *self, const char *name, const eg_fit *fit);
    /* NULL, or how the names of a file's tensors begin that it passes over; NULL at the end. */
    const char *const *passes;
    bool alone; /* a row's features do not depend on the rows beside it, to the bit */
    bool texts; /* x are numbers of pieces (eg_table.ids), not pixels */
} eg_model;

extern const eg_model *const eg_models[]; /* NULL at the end */
extern const eg_family eg_model_family;
const eg_model *eg_model_find(const char *word); /* as eg_family_find */

/* Adds a network of one's own, as eg_family_add does. EG_EINVAL also if it has no features or
 * no head. */
eg_status eg_model_add(const eg_model *m);

/* Sets every "name=value" of a text, blanks between, in options that eg_opts_init filled. A
 * value in brackets may have blanks itself: "layers=[conv 8 k3, relu] init=he". */
eg_status eg_model_set(const eg_model *m, void *options, const char *text);

/* Writes options as eg_model_set takes them. EG_EINVAL: they need more room. */
eg_status eg_model_print(const eg_model *m, const void *options, size_t room, char *out);

typedef struct eg_net eg_net;

/* What a net is made for. All of it is the caller's, who needs it until the net is made. */
typedef struct eg_net_spec {
    const char *model;
    int64_t channels, height, width, classes;
    const char *options; /* NULL, or a text for eg_model_set: "depth=0 width=64" */
    int64_t side;    /* outputs of a second head on the features, "side"; 0: there is none */
    const void *set; /* NULL: the options' defaults; or the model's options as they are set, to
                        which the text adds */
    const eg_marks *marks; /* NULL, or where a list of layers was read: errors tell the place */
} eg_net_spec;

eg_status eg_net_new(const eg_net_spec *spec, eg_net **out);

/* What records features in place of a model's own: prompts before its tokens, factors beside
 * its weights. Tensors that it asks for (eg_net_param) are the net's like all others; their
 * names begin with the component's name and a dot, and no file of weights has to have them. */
typedef struct eg_graft {
    const eg_component *of;
    const void *options; /* set, as long as the net */
    eg_node *(*features)(const void *options, const eg_net *net, eg_graph *g, eg_node *x);
} eg_graft;
/* graft: NULL, or copied; its options are not. */
eg_status eg_net_new_grafted(const eg_net_spec *spec, const eg_graft *graft, eg_net **out);
const eg_graft *eg_net_graft(const eg_net *net); /* its `of` is NULL: there is none */
void eg_net_free(eg_net *net);                   /* NULL is fine */

/* --- What a graft records with. The model's own features; of a transformer its tokens
 * [n, t, w], what its blocks make of tokens, the features of these, and how many blocks there
 * are (eg_model). */
eg_node *eg_net_own_features(const eg_net *net, eg_graph *g, eg_node *x);
eg_node *eg_net_tokens(const eg_net *net, eg_graph *g, eg_node *x);
eg_node *eg_net_encode(const eg_net *net, eg_graph *g, eg_node *tokens,
                       eg_node *const *prefixes);
eg_node *eg_net_pooled(const eg_net *net, eg_graph *g, eg_node *tokens); /* features of them */
int64_t eg_net_depth(const eg_net *net); /* 0: it is no transformer */
eg_node *eg_net_param(const eg_net *net, eg_graph *g, const char *name, eg_shape shape,
                      eg_init init);

/* Freezes tensors of the features, once, before the net is used: "all" freezes none, "head"
 * all; else a list of names, "[layer4, fc1.weight]", says which tensors or layers stay trained.
 * The heads always do. Features of which nothing is trained are in their eval form for good,
 * with their statistics frozen too. EG_ENOENT: there is no tensor or layer of a name. */
eg_status eg_net_freeze(eg_net *net, const char *train);
bool eg_net_is_frozen(const eg_net *net); /* some of it */

bool eg_net_is_still(const eg_net *net); /* all of its features */

/* From now on x [n, d, 1, 1] are features that were computed before: eg_net_features passes
 * them on, and eg_net_spec_of has their shape. What is saved is the whole net. */
void eg_net_begin(eg_net *net);

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

/* Safetensors with the net's tensors, and notes that say what net it is (network, options,
 * input, classes, side) and which engram wrote it (version, commit), before those that are
 * given. */
eg_status eg_net_save(const eg_net *net, const char *path, const float *value,
                      const float *state, const eg_stored_note *notes, size_t n_notes);
/* The same with tensors more that stand beside the net's (EG_BESIDE). */
eg_status eg_net_save_beside(const eg_net *net, const char *path, const float *value,
                             const float *state, const eg_stored *beside, size_t n_beside,
                             const eg_stored_note *notes, size_t n_notes);

/* Reads such notes and makes the net. EG_EFORMAT: the file does not say what it is of. */
eg_status eg_net_of_notes(const eg_tensors *file, eg_net **out);
/* The same for a net with a graft, which the notes "graft" and "graft_options" name. */
eg_status eg_net_of_notes_grafted(const eg_tensors *file, const eg_graft *graft, eg_net **out);

/* First values from a file: every tensor as eg_params_load takes it, the head's as `head` says;
 * those of a second head keep the values they have. EG_ESHAPE says so if the head alone does
 * not fit. */
eg_status eg_net_start(const eg_net *net, const char *path, eg_take head, float *value,
                       float *state);
/* The same; tensors of the file that the network lacks are left out, and named in `left`, up to
 * `room` bytes: "'a', 'b', ...", "" if there are none. */
eg_status eg_net_start_loosely(const eg_net *net, const char *path, eg_take head, float *value,
                               float *state, size_t room, char *left);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
