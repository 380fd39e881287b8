/* mfcl_server.c - MFCL's generator learns what the old model is sure of.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/mfcl.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>

enum { MFCL_BLUR = 5 };

eg_drawer_spec eg_mfcl_drawer(const eg_data_free *is, const eg_net *net)
{
    const eg_net_spec *spec = eg_net_spec_of(net);
    return (eg_drawer_spec){.noise = is->noise,
                            .width = is->width,
                            .channels = spec->channels,
                            .height = spec->height,
                            .width_of_image = spec->width,
                            .end = EG_DRAWER_WHITE};
}

void eg_mfcl_kernel(float *kernel)
{
    double sum = 0, value[MFCL_BLUR * MFCL_BLUR];
    for (int i = 0; i < MFCL_BLUR * MFCL_BLUR; i++) {
        int down = i / MFCL_BLUR - MFCL_BLUR / 2, right = i % MFCL_BLUR - MFCL_BLUR / 2;
        double y = down / 2.0, x = right / 2.0;
        sum += value[i] = exp(-(x * x + y * y));
    }
    for (int i = 0; i < MFCL_BLUR * MFCL_BLUR; i++)
        kernel[i] = (float)(value[i] / sum);
}

/* Two places more at either end of an axis, by reflection at the first and the last. */
static eg_node *mfcl_reflect(eg_graph *g, eg_node *x, int axis, int64_t size)
{
    eg_node *parts[MFCL_BLUR] = {eg_slice(g, x, axis, 2, 1), eg_slice(g, x, axis, 1, 1), x,
                                 eg_slice(g, x, axis, size - 2, 1),
                                 eg_slice(g, x, axis, size - 3, 1)};
    return eg_concat(g, MFCL_BLUR, parts, axis);
}

/* The mean squared difference between images and what they are when blurred. */
static eg_node *mfcl_roughness(eg_graph *g, eg_node *x)
{
    eg_shape s = eg_node_shape(x);
    eg_node *kernel = eg_input(g, "kernel", eg_dims(1, 1, MFCL_BLUR, MFCL_BLUR));
    if (eg_graph_status(g) != EG_OK)
        return x;
    int64_t h = s.dim[2], w = s.dim[3];
    eg_node *maps = eg_reshape(g, x, eg_dims(s.dim[0] * s.dim[1], 1, h, w));
    eg_node *wide = mfcl_reflect(g, mfcl_reflect(g, maps, 2, h), 3, w);
    return eg_mse(g, maps, eg_conv2d(g, wide, kernel, NULL, (eg_window){.stride = 1}));
}

void eg_mfcl_record(void *context, eg_graph *g, int64_t n)
{
    const eg_mfcl_step *s = context;
    int64_t classes = eg_net_spec_of(s->model)->classes;
    eg_node *open = eg_input(g, "open", eg_dims(1, classes));
    eg_node *least = eg_input(g, "least", eg_scalar());
    eg_graph_set_training(g, true);
    eg_node *x = eg_drawer_images(s->drawer, g, eg_input(g, "noise", eg_dims(n, s->is->noise)));
    eg_graph_set_training(g, false);
    size_t from = eg_graph_next(g);
    eg_node *outputs = eg_net_forward(s->model, g, x);
    eg_node *gap = eg_statistics_gap(g, from, EG_GAP_DIVERGENCE);
    eg_node *told = eg_add(g, outputs, open);
    eg_node *cold = eg_add(g, eg_affine(g, outputs, 1 / s->is->sharpness, 0), open);
    eg_node *answer = eg_equal(g, told, eg_max(g, told, EG_AXIS(1)));
    eg_node *loss = eg_cross_entropy(g, cold, eg_stop_gradient(g, answer), NULL);
    eg_node *p = eg_mean(g, eg_softmax(g, told), EG_AXIS(0)); /* 0 at closed classes */
    eg_node *sum = eg_sum(g, eg_mul(g, p, eg_log(g, eg_affine(g, p, 1, 1e-12))), EG_ALL_AXES);
    eg_node *even = eg_affine(g, eg_mul(g, sum, least), 1, 1);
    loss = eg_add(g, loss, eg_affine(g, even, s->is->even, 0));
    loss = eg_add(g, loss, eg_affine(g, gap, s->is->statistics, 0));
    loss = eg_add(g, loss, eg_affine(g, mfcl_roughness(g, x), s->is->smooth, 0));
    eg_output(g, "loss", loss);
    eg_backward(g, loss, s->drawer->table);
}

/* Steps until a loss is not finite, which leaves the generator as it was before. */
static eg_status mfcl_steps(const eg_data_free_task *t, eg_learner *own, eg_plan *plan,
                            double *loss)
{
    eg_open_classes(t->met, t->classes, eg_plan_input(plan, "open"));
    eg_mfcl_kernel(eg_plan_input(plan, "kernel"));
    *eg_plan_input(plan, "least") = t->n_met > 1 ? (float)(1 / log((double)t->n_met)) : 0;
    for (int64_t step = 0; step < t->is->steps; step++) {
        eg_rng rng = eg_piece_stream(t->piece, step, EG_DATA_FREE_NOISE);
        float *noise = eg_plan_input(plan, "noise");
        for (int64_t i = 0; i < t->is->batch * t->is->noise; i++)
            noise[i] = (float)eg_rng_normal(&rng);
        EG_TRY(eg_plan_run(plan));
        *loss = (double)*eg_plan_output(plan, "loss");
        if (!isfinite(*loss))
            return EG_OK;
        eg_optimizer_step(own->optimizer, own->param, own->grad);
    }
    return EG_OK;
}

static eg_status mfcl_learn(const eg_data_free_task *t, eg_drawer *d, double *loss)
{
    eg_mfcl_step step = {.is = t->is, .drawer = d, .model = t->piece->net};
    eg_program *program;
    eg_plan *plan;
    EG_TRY(eg_program_new(eg_mfcl_record, &step, 1, &program));
    eg_status s = eg_program_read(program, eg_net_params(step.model), &t->at);
    if (s == EG_OK)
        s = eg_program_bind(program, d->table, d->own->param, d->own->grad, d->own->state);
    if (s == EG_OK)
        s = eg_program_plan(program, t->is->batch, &plan);
    if (s == EG_OK)
        s = mfcl_steps(t, d->own, plan, loss);
    eg_program_free(program);
    return s;
}

/* The generator as the last task left it, or a new one. */
static eg_status mfcl_open(const eg_data_free_task *t, eg_drawer *d, const char *name)
{
    eg_drawer_spec spec = eg_mfcl_drawer(t->is, t->piece->net);
    char options[64];
    bool found;
    EG_TRY(eg_drawer_open(d, &spec));
    snprintf(options, sizeof options, "lr=%.17g", t->is->lr);
    EG_TRY(eg_learner_optimize(d->own, "adam", options));
    EG_TRY(eg_learner_recall(d->own, name, t->piece->from, &found));
    if (!found)
        eg_params_init(d->table, t->piece->seed, d->own->param, d->own->state);
    return EG_OK;
}

eg_status eg_mfcl_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    const char *part = piece->part;
    eg_data_free_name with = eg_data_free_named(part, "drawn.with");
    eg_data_free_task t;
    eg_drawer d = {0};
    double loss = 0;
    EG_TRY(eg_data_free_ask(options, piece, &t));
    eg_status s = mfcl_open(&t, &d, with.text);
    if (s == EG_OK)
        s = mfcl_learn(&t, &d, &loss);
    if (s == EG_OK && isfinite(loss)) {
        s = eg_learner_keep(d.own, with.text, to);
        if (s == EG_OK)
            s = eg_bundle_add_flat(to, eg_data_free_named(part, "drawn.open").text, t.met,
                                   (size_t)t.classes);
        if (s == EG_OK)
            s = eg_bundle_scalar(to, eg_data_free_named(part, "drawn.model").text, 1);
        if (s == EG_OK)
            s = eg_bundle_scalar(to, eg_data_free_named(part, "loss").text, loss);
    }
    eg_drawer_close(&d);
    return s;
}
