/* inversion.c - gradients of gradients lead back to the image.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/inversion.h"

#include "base/base.h"
#include "method/lib/lbfgs.h"

#include <engram/layers.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVERSION_MAPS = 12, INVERSION_TENSORS = 8 };

/* The outputs [n, classes] for images. */
static eg_node *inversion_forward(const eg_inversion *v, eg_graph *g, eg_node *x)
{
    static const eg_layer_init halves = {{.kind = EG_INIT_UNIFORM, .a = 0.5},
                                         {.kind = EG_INIT_UNIFORM, .a = 0.5}};
    for (int64_t i = 0; i < 3; i++) {
        const eg_conv_layer_spec conv = {.out = INVERSION_MAPS,
                                         .kernel = 5,
                                         .stride = i < 2 ? 2 : 1,
                                         .padding = 2,
                                         .bias = true,
                                         .init = &halves};
        x = eg_sigmoid(g,
                       eg_conv_layer(g, v->table, eg_layer_number("conv", i).text, x, &conv));
    }
    return eg_linear_layer_of(
        g, v->table, "fc", eg_flatten(g, x),
        &(eg_linear_layer_spec){.out = v->classes, .bias = true, .init = &halves});
}

static eg_node *inversion_loss(const eg_inversion *v, eg_graph *g, eg_node *x)
{
    eg_node *label = eg_input(g, "label", eg_dims(1));
    return eg_cross_entropy(g, inversion_forward(v, g, x), label, NULL);
}

static void inversion_record_gives(void *context, eg_graph *g, int64_t n)
{
    const eg_inversion *v = context;
    (void)n;
    eg_node *x = eg_input(g, "x", eg_dims(1, v->channels, v->height, v->width));
    eg_backward(g, inversion_loss(v, g, x), v->table);
}

/* The squared distance of the image's gradient to a wanted one. */
static void inversion_record_matches(void *context, eg_graph *g, int64_t n)
{
    const eg_inversion *v = context;
    const eg_init zero = {.kind = EG_INIT_CONSTANT};
    eg_node *wrt[INVERSION_TENSORS], *grad[INVERSION_TENSORS], *sum = NULL;
    size_t tensors = eg_params_n(v->table);
    (void)n;
    eg_node *x = eg_param(g, v->image, "x", eg_dims(1, v->channels, v->height, v->width), zero);
    eg_node *loss = inversion_loss(v, g, x);
    for (size_t i = 0; i < tensors; i++) {
        const eg_param_info *t = eg_params_at(v->table, i);
        wrt[i] = eg_param(g, v->table, t->name, t->shape, t->init);
    }
    eg_gradients(g, loss, tensors, wrt, grad);
    for (size_t i = 0; i < tensors; i++) {
        const eg_param_info *t = eg_params_at(v->table, i);
        eg_node *off = eg_sub(g, grad[i], eg_input(g, t->name, t->shape));
        eg_node *squares = eg_sum(g, eg_mul(g, off, off), EG_ALL_AXES);
        sum = sum ? eg_add(g, sum, squares) : squares;
    }
    eg_output(g, "gap", sum);
    eg_backward(g, sum, v->image);
}

/* Both tables follow from recording once. */
static eg_status inversion_fill_tables(eg_inversion *v)
{
    eg_graph *g;
    EG_TRY(eg_params_new(&v->table));
    EG_TRY(eg_params_new(&v->image));
    EG_TRY(eg_graph_new(&g));
    inversion_loss(v, g, eg_input(g, "x", eg_dims(1, v->channels, v->height, v->width)));
    eg_param(g, v->image, "x", eg_dims(1, v->channels, v->height, v->width),
             (eg_init){.kind = EG_INIT_CONSTANT});
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    EG_ASSERT(s != EG_OK || eg_params_n(v->table) == INVERSION_TENSORS);
    return s;
}

static eg_status inversion_make(eg_inversion *v, uint64_t seed)
{
    EG_TRY(inversion_fill_tables(v));
    EG_TRY(eg_learner_new(v->table, &v->net));
    EG_TRY(eg_learner_new(v->image, &v->drawn));
    eg_params_init(v->table, seed, v->net->param, v->net->state);
    EG_TRY(eg_program_new(inversion_record_gives, v, 1, &v->gives));
    EG_TRY(eg_program_bind(v->gives, v->table, v->net->param, v->net->grad, v->net->state));
    EG_TRY(eg_program_new(inversion_record_matches, v, 1, &v->matches));
    EG_TRY(eg_program_read(v->matches, v->table, &(eg_weights){v->net->param, v->net->state}));
    return eg_program_bind(v->matches, v->image, v->drawn->param, v->drawn->grad,
                           v->drawn->state);
}

eg_status eg_inversion_open(eg_inversion *v, const eg_net *like, uint64_t seed)
{
    const eg_net_spec *spec = eg_net_spec_of(like);
    *v = (eg_inversion){.channels = spec->channels,
                        .height = spec->height,
                        .width = spec->width,
                        .classes = spec->classes};
    eg_status s = inversion_make(v, seed);
    if (s != EG_OK)
        eg_inversion_close(v);
    return s;
}

void eg_inversion_close(eg_inversion *v)
{
    eg_program_free(v->gives);
    eg_program_free(v->matches);
    eg_learner_free(v->net);
    eg_learner_free(v->drawn);
    eg_params_free(v->table);
    eg_params_free(v->image);
    *v = (eg_inversion){0};
}

size_t eg_inversion_size(const eg_inversion *v)
{
    return v->net->n_params;
}

eg_status eg_inversion_give(eg_inversion *v, const float *x, int64_t label, float *gradient)
{
    size_t pixels = (size_t)(v->channels * v->height * v->width);
    eg_plan *plan;
    EG_TRY(eg_program_plan(v->gives, 1, &plan));
    memcpy(eg_plan_input(plan, "x"), x, pixels * sizeof *x);
    *eg_plan_input(plan, "label") = (float)label;
    EG_TRY(eg_plan_run(plan));
    memcpy(gradient, v->net->grad, v->net->n_params * sizeof *gradient);
    return EG_OK;
}

int64_t eg_inversion_label(const eg_inversion *v, const float *gradient)
{
    const eg_param_info *fc = eg_params_at(v->table, INVERSION_TENSORS - 2); /* [classes, d] */
    size_t d = fc->size / (size_t)v->classes;
    double least = INFINITY;
    int64_t label = 0;
    for (int64_t y = 0; y < v->classes; y++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++)
            sum += (double)gradient[fc->offset + (size_t)y * d + j];
        if (sum < least) {
            least = sum;
            label = y;
        }
    }
    return label;
}

static void inversion_want(const eg_inversion *v, const eg_inversion_search *is, eg_plan *plan)
{
    *eg_plan_input(plan, "label") = (float)is->label;
    for (size_t i = 0; i < eg_params_n(v->table); i++) {
        const eg_param_info *t = eg_params_at(v->table, i);
        memcpy(eg_plan_input(plan, t->name), is->gradient + t->offset,
               t->size * sizeof *is->gradient);
    }
}

/* Steps, the last images of which are kept, until one moves nothing: then it is kept as often
 * as is wanted. */
static eg_status inversion_steps(eg_inversion *v, const eg_inversion_search *is, eg_plan *plan,
                                 eg_lbfgs *l, float *x, double *gap)
{
    size_t pixels = (size_t)(v->channels * v->height * v->width);
    bool moves = true;
    for (int64_t i = 0; i < is->steps; i++) {
        if (moves) {
            EG_TRY(eg_plan_run(plan));
            *gap = (double)*eg_plan_output(plan, "gap");
            moves = isfinite(*gap) && eg_lbfgs_step(l, v->drawn->param, v->drawn->grad, is->lr);
        }
        int64_t kept = i - (is->steps - is->keep);
        if (kept >= 0)
            memcpy(x + (size_t)kept * pixels, v->drawn->param, pixels * sizeof *x);
    }
    return EG_OK;
}

eg_status eg_inversion_find(eg_inversion *v, const eg_inversion_search *is, eg_rng *rng,
                            float *x, int64_t *n, double *gap)
{
    size_t pixels = (size_t)(v->channels * v->height * v->width);
    eg_lbfgs l = {0};
    eg_plan *plan;
    EG_ASSERT(is->keep >= 1 && is->keep <= is->steps);
    EG_TRY(eg_program_plan(v->matches, 1, &plan));
    inversion_want(v, is, plan);
    for (size_t i = 0; i < pixels; i++)
        v->drawn->param[i] = (float)eg_rng_normal(rng);
    eg_status s = eg_lbfgs_init(&l, v->drawn->n_params);
    if (s == EG_OK)
        s = inversion_steps(v, is, plan, &l, x, gap);
    eg_lbfgs_fini(&l);
    *n = s == EG_OK && isfinite(*gap) && eg_all_finite(x, (size_t)is->keep * pixels) ? is->keep
                                                                                     : 0;
    return s;
}
