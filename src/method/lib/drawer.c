/* drawer.c - records the drawing network, and what batch norms say of drawings.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/drawer.h"

#include "base/base.h"
#include "engine/graph/graph.h"
#include "engine/op/op.h"

#include <engram/layers.h>

#include <stdio.h>
#include <string.h>

static const double drawer_gap_eps = 1e-5; /* added to variances that are divided by */

/* Batch norm with this eps, with or without scale and shift. */
static eg_node *drawer_norm(const eg_drawer *d, eg_graph *g, const char *name, eg_node *x,
                            double eps, bool scales)
{
    static const eg_init zero = {.kind = EG_INIT_CONSTANT},
                         one = {.kind = EG_INIT_CONSTANT, .a = 1};
    char tensor[64];
    if (eg_is_poison(x))
        return x;
    eg_shape c = eg_dims(x->shape.dim[1]);
    eg_node *weight = eg_constant(g, c, 1), *bias = eg_constant(g, c, 0);
    if (scales) {
        snprintf(tensor, sizeof tensor, "%s.weight", name);
        weight = eg_param(g, d->table, tensor, c, one);
        snprintf(tensor, sizeof tensor, "%s.bias", name);
        bias = eg_param(g, d->table, tensor, c, zero);
    }
    snprintf(tensor, sizeof tensor, "%s.running_mean", name);
    eg_node *mean = eg_state(g, d->table, tensor, c, zero);
    snprintf(tensor, sizeof tensor, "%s.running_var", name);
    eg_node *var = eg_state(g, d->table, tensor, c, one);
    if (!eg_graph_training(g))
        return eg_batch_norm_eval(g, x, mean, var, weight, bias, eps);
    return eg_batch_norm(g, x, eg_channel_stats(g, x, mean, var, 0.1), weight, bias, eps);
}

eg_node *eg_drawer_images(const eg_drawer *d, eg_graph *g, eg_node *noise)
{
    const eg_drawer_spec *is = &d->is;
    bool white = is->end == EG_DRAWER_WHITE;
    int64_t n = eg_node_shape(noise).dim[0], first = 2 * is->width;
    int64_t h = is->height / 4, w = is->width_of_image / 4;
    double eps = white ? 0.8 : 1e-5;
    eg_node *x = eg_linear_layer(g, d->table, "fc", noise, first * h * w);
    x = drawer_norm(d, g, "norm0", eg_reshape(g, x, eg_dims(n, first, h, w)), 1e-5, true);
    eg_conv_layer_spec conv = {.kernel = 3, .stride = 1, .padding = 1, .bias = white};
    for (int64_t i = 1; i <= 2; i++) {
        conv.out = i == 1 ? first : is->width;
        x = eg_conv_layer(g, d->table, eg_layer_number("conv", i).text, eg_upsample(g, x, 2),
                          &conv);
        x = drawer_norm(d, g, eg_layer_number("norm", i).text, x, eps, true);
        x = eg_leaky_relu(g, x, 0.2);
    }
    conv.out = is->channels, conv.bias = true;
    x = eg_conv_layer(g, d->table, "conv3", x, &conv);
    return white ? drawer_norm(d, g, "norm3", eg_tanh(g, x), 1e-5, false)
                 : eg_affine(g, eg_sigmoid(g, x), 2, -1);
}

static eg_status drawer_fill_table(eg_drawer *d)
{
    eg_graph *g;
    EG_TRY(eg_params_new(&d->table));
    EG_TRY(eg_graph_new(&g));
    eg_drawer_images(d, g, eg_input(g, "noise", eg_dims(2, d->is.noise)));
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    return s == EG_OK ? eg_learner_new(d->table, &d->own) : s;
}

eg_status eg_drawer_open(eg_drawer *d, const eg_drawer_spec *spec)
{
    *d = (eg_drawer){.is = *spec};
    if (spec->height % 4 || spec->width_of_image % 4 || spec->height < 4)
        return eg_fail(EG_ESHAPE,
                       "its generator draws images whose sides 4 divides, not %lldx%lld",
                       (long long)spec->height, (long long)spec->width_of_image);
    eg_status s = drawer_fill_table(d);
    if (s != EG_OK)
        eg_drawer_close(d);
    return s;
}

void eg_drawer_close(eg_drawer *d)
{
    eg_program_free(d->program);
    eg_learner_free(d->own);
    eg_params_free(d->table);
    *d = (eg_drawer){0};
}

static void drawer_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_drawer *d = context;
    eg_graph_set_training(g, false);
    eg_node *noise = eg_input(g, "noise", eg_dims(batch, d->is.noise));
    eg_output(g, "x", eg_drawer_images(d, g, noise));
}

eg_status eg_drawer_draw(eg_drawer *d, int64_t n, const float *noise, float *x)
{
    size_t pixels = (size_t)(d->is.channels * d->is.height * d->is.width_of_image);
    eg_plan *plan;
    if (!d->program)
        EG_TRY(eg_program_new(drawer_record, d, 2, &d->program));
    EG_TRY(eg_program_read(d->program, d->table, &(eg_weights){d->own->param, d->own->state}));
    EG_TRY(eg_program_plan(d->program, n, &plan));
    memcpy(eg_plan_input(plan, "noise"), noise, (size_t)(n * d->is.noise) * sizeof *noise);
    EG_TRY(eg_plan_run(plan));
    memcpy(x, eg_plan_output(plan, "x"), (size_t)n * pixels * sizeof *x);
    return EG_OK;
}

size_t eg_graph_next(const eg_graph *g)
{
    return g->n_nodes;
}

/* Mean and biased variance of every channel, as graph that can be differentiated. */
static void gap_statistics(eg_graph *g, eg_node *x, eg_node **mean, eg_node **var)
{
    int64_t places = eg_shape_size(x->shape) / x->shape.dim[1];
    double count = (double)places;
    *mean = eg_affine(g, eg_channel_sum(g, x), 1 / count, 0);
    eg_node *one = eg_constant(g, (*mean)->shape, 1);
    eg_node *off = eg_channel_affine(g, x, one, eg_affine(g, *mean, -1, 0));
    *var = eg_affine(g, eg_channel_sum(g, eg_mul(g, off, off)), 1 / count, 0);
}

/* |a - b|, whose gradient is finite where they are equal. */
static eg_node *gap_norm(eg_graph *g, eg_node *a, eg_node *b)
{
    eg_node *off = eg_sub(g, a, b);
    eg_node *squares = eg_sum(g, eg_mul(g, off, off), EG_ALL_AXES);
    return eg_sqrt(g, eg_affine(g, squares, 1, 1e-12));
}

static eg_node *gap_divergence(eg_graph *g, eg_node *mean, eg_node *var, eg_node *own_mean,
                               eg_node *own_var)
{
    eg_node *v = eg_affine(g, var, 1, drawer_gap_eps);
    eg_node *w = eg_affine(g, own_var, 1, drawer_gap_eps);
    eg_node *off = eg_sub(g, own_mean, mean);
    eg_node *rest = eg_div(g, eg_add(g, w, eg_mul(g, off, off)), v);
    eg_node *logs = eg_sub(g, eg_log(g, v), eg_log(g, w));
    return eg_mean(g, eg_affine(g, eg_add(g, logs, rest), 0.5, -0.5), EG_ALL_AXES);
}

eg_node *eg_statistics_gap(eg_graph *g, size_t from, eg_gap gap)
{
    eg_node *sum = NULL;
    size_t there = g->n_nodes, n = 0;
    for (size_t i = from; i < there; i++) {
        const eg_node *norm = g->nodes[i];
        eg_node *mean, *var, *one;
        if (norm->op != &eg_op_batch_norm_eval)
            continue;
        gap_statistics(g, norm->in[0], &mean, &var);
        one = gap == EG_GAP_NORMS
                  ? eg_add(g, gap_norm(g, mean, norm->in[1]), gap_norm(g, var, norm->in[2]))
                  : gap_divergence(g, mean, var, norm->in[1], norm->in[2]);
        sum = sum ? eg_add(g, sum, eg_reshape(g, one, eg_node_shape(sum))) : one;
        n++;
    }
    if (!sum)
        return eg_constant(g, eg_dims(1), 0);
    return eg_affine(g, sum, gap == EG_GAP_NORMS ? 1 : 1 / (double)n, 0);
}
