/* training.h - a network being trained on generated examples: what tests of whole steps share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions return a status instead of asserting, so that they may run on any thread.
 */
#ifndef EG_TRAINING_H
#define EG_TRAINING_H

#include <engram/model.h>
#include <engram/op.h>
#include <engram/optim.h>

#include <stdlib.h>
#include <string.h>

/* A small network of a model for texts, NULL for one for images. */
static inline const char *training_texts(const char *model)
{
    const eg_model *m = eg_model_find(model);
    if (!m || !m->texts)
        return NULL;
    return strcmp(model, "bert") == 0
               ? "pieces=40 width=16 depth=2 heads=2 hidden=24 positions=40"
               : "pieces=40 width=16 out=64 heads=2 hidden=24";
}

/* A model for images of ten classes: in colour for ResNets, of this side unless the model takes
 * powers of two alone. */
static inline eg_net_spec training_images(const char *model, int64_t side)
{
    const char *texts = training_texts(model);
    if (texts)
        return (eg_net_spec){.model = model,
                             .options = texts,
                             .channels = 1,
                             .height = 1,
                             .width = side,
                             .classes = 10};
    if (strcmp(model, "tiny_yolo") == 0) /* one cell, whose numbers pass for classes */
        return (eg_net_spec){.model = model,
                             .options = "width=1",
                             .channels = 3,
                             .height = 32,
                             .width = 32,
                             .classes = 10};
    if (strcmp(model, "acgan") == 0)
        side = 16;
    return (eg_net_spec){.model = model,
                         .channels = strncmp(model, "resnet", 6) == 0 ? 3 : 1,
                         .height = side,
                         .width = side,
                         .classes = 10};
}

typedef struct training {
    eg_net *net;
    eg_graph *graph;
    eg_plan *plan;           /* inputs x and labels, outputs loss and logits */
    eg_optimizer *optimizer; /* NULL: forward only */
    float *value, *grad, *state;
    size_t length, state_length; /* of value and grad; of state */
    eg_rng masks;                /* the stream of dropout */
    uint64_t step;
} training;

/* What a training is made for. */
typedef struct training_spec {
    eg_net_spec net;
    int64_t batch;
    const char *optimizer, *rate;
    uint64_t seed; /* of weights, examples and dropout */
} training_spec;

/* Records the loss of a batch for net into g, with gradients when it is in its training form.
 */
static inline void training_record(const eg_net *net, eg_graph *g, int64_t batch)
{
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_node *x = eg_input(g, "x", eg_dims(batch, s->channels, s->height, s->width));
    eg_node *logits = eg_net_forward(net, g, x);
    eg_node *loss = eg_cross_entropy(g, logits, eg_input(g, "labels", eg_dims(batch)), NULL);
    eg_output(g, "loss", loss);
    eg_output(g, "logits", logits);
    if (eg_graph_training(g))
        eg_net_backward(net, g, loss);
}

/* Fills x with noise and labels with i mod classes: nothing to learn but the examples. */
static inline void training_fill(eg_plan *plan, const eg_net *net, int64_t batch, uint64_t seed)
{
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_rng r = eg_rng_at(seed, 0, 0, EG_FOR_TEST);
    float *x = eg_plan_input(plan, "x"), *labels = eg_plan_input(plan, "labels");
    bool texts = training_texts(s->model) != NULL;
    for (int64_t i = 0; i < batch * s->channels * s->height * s->width; i++)
        x[i] = texts ? (i % s->width < 3 + i / s->width ? (float)eg_rng_below(&r, 40) : -1)
                     : (float)eg_rng_normal(&r);
    for (int64_t i = 0; i < batch; i++)
        labels[i] = (float)(i % s->classes);
}

/* Whatever it returns, training_close releases what there is. */
static inline eg_status training_open(training *t, const training_spec *spec)
{
    *t = (training){.masks = eg_rng_at(spec->seed, 0, 0, EG_FOR_DROPOUT)};
    EG_TRY(eg_net_new(&spec->net, &t->net));
    const eg_params *p = eg_net_params(t->net);
    t->length = eg_params_length(p);
    t->state_length = eg_state_length(p);
    EG_TRY(eg_params_alloc(p, &t->value));
    EG_TRY(eg_params_alloc(p, &t->grad));
    EG_TRY(eg_state_alloc(p, &t->state));
    eg_params_init(p, spec->seed, t->value, t->state);
    EG_TRY(eg_graph_new(&t->graph));
    training_record(t->net, t->graph, spec->batch);
    EG_TRY(eg_compile(t->graph, &t->plan));
    EG_TRY(eg_plan_bind(t->plan, p, t->value, t->grad, t->state));
    training_fill(t->plan, t->net, spec->batch, spec->seed);
    EG_TRY(eg_optimizer_new(spec->optimizer, t->length, &t->optimizer));
    return eg_optimizer_set(t->optimizer, "lr", spec->rate);
}

static inline void training_close(training *t)
{
    eg_optimizer_free(t->optimizer);
    eg_plan_free(t->plan);
    eg_graph_free(t->graph);
    eg_net_free(t->net);
    free(t->value);
    free(t->grad);
    free(t->state);
}

/* Forward, backward, update. */
static inline eg_status training_step(training *t)
{
    eg_plan_seed(t->plan, &t->masks, t->step++);
    EG_TRY(eg_plan_run(t->plan));
    eg_optimizer_step(t->optimizer, t->value, t->grad);
    return EG_OK;
}

#endif
