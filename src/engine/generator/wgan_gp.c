/* wgan_gp.c - a small generator and its critic, kept honest by a penalty on the critic's slope
 * (Gulrajani et al., 2017); the bias-free pair that pFedGRP has for every class.
 * SPDX-License-Identifier: Apache-2.0
 *
 * pFedGRP says "default loss and settings", which would be that paper's Adam: 1e-4, decays 0
 * and 0.9. The defaults here are 2e-4 and 0.5, which draw better in as few steps as a client
 * has (docs/results/generators.md); all results on record were made with these.
 */
#include "engine/generator/stream.h"
#include <engram/layers.h>

#include <math.h>
#include <stdio.h>

enum { WGAN_NOISE = 100, WGAN_MAX_SCALES = 3 };

typedef struct wgan_gp {
    int64_t width; /* channels of the largest maps, once opened */
    int64_t batch, critic_steps;
    double lr, beta1, beta2, penalty;
    /* What follows from the image. */
    int64_t n_scales;       /* strided layers of each network */
    int64_t kernel, stride; /* of the one that touches the image */
    int64_t padding;
    eg_params *critic;
} wgan_gp;

static const eg_opt wgan_gp_opts[] = {
    EG_OPT_INT(
        wgan_gp, width, 0, 0, 1024,
        "channels of the largest maps; 0: 16 for grey images, 64 for colour, 128 for 64x64"),
    EG_OPT_INT(wgan_gp, batch, 32, 2, 4096, "images of a step"),
    EG_OPT_INT(wgan_gp, critic_steps, 5, 1, 100, "critic's steps for each of the generator"),
    EG_OPT_REAL(wgan_gp, lr, 2e-4, 0, 1, "step size of both Adams"),
    EG_OPT_REAL(wgan_gp, beta1, 0.5, 0, 0.999, "Adam's first decay"),
    EG_OPT_REAL(wgan_gp, beta2, 0.9, 0, 0.9999, "Adam's second decay"),
    EG_OPT_REAL(wgan_gp, penalty, 10, 0, 1e4, "weight of the penalty on the critic's slope"),
    EG_OPT_END,
};

/* Sides that can be drawn: how many strided layers, and the one that touches the image. */
static const struct {
    int64_t side, n_scales, kernel, stride, padding;
} wgan_gp_sides[] = {
    {8, 1, 4, 2, 1}, {16, 2, 4, 2, 1}, {28, 3, 4, 2, 3}, {32, 3, 4, 2, 1}, {64, 3, 6, 4, 1},
};

static eg_status wgan_gp_open(void *self, eg_generator *m)
{
    wgan_gp *w = self;
    for (size_t i = 0; i < sizeof wgan_gp_sides / sizeof *wgan_gp_sides; i++)
        if (m->height == m->width && m->height == wgan_gp_sides[i].side) {
            w->n_scales = wgan_gp_sides[i].n_scales;
            w->kernel = wgan_gp_sides[i].kernel;
            w->stride = wgan_gp_sides[i].stride;
            w->padding = wgan_gp_sides[i].padding;
        }
    if (!w->n_scales)
        return eg_fail(EG_ESHAPE, "draws squares of 8, 16, 28, 32 or 64 pixels, not %lldx%lld",
                       (long long)m->height, (long long)m->width);
    if (!w->width)
        w->width = m->height == 64 ? 128 : m->channels == 1 ? 16 : 64;
    m->n_noise = WGAN_NOISE;
    return EG_OK;
}

static void wgan_gp_fini(void *self)
{
    eg_params_free(((wgan_gp *)self)->critic);
}

static eg_node *wgan_gp_images(const void *self, const eg_generator *m, eg_graph *g,
                               eg_node *noise, eg_node *labels)
{
    const wgan_gp *w = self;
    (void)labels;
    int64_t n = eg_node_shape(noise).dim[0], out = w->width << (w->n_scales - 1);
    eg_node *h = eg_reshape(g, noise, eg_dims(n, WGAN_NOISE, 1, 1));
    eg_conv_layer_spec conv = {.out = out, .kernel = 4, .stride = 1};
    for (int64_t i = 0; i <= w->n_scales; i++) {
        h = eg_conv_transpose_layer(g, m->drawing, eg_layer_number("up", i).text, h, &conv);
        if (i == w->n_scales)
            break;
        h = eg_relu(g, eg_batch_norm_layer(g, m->drawing, eg_layer_number("norm", i).text, h));
        bool last = i + 1 == w->n_scales;
        conv = (eg_conv_layer_spec){.out = last ? m->channels : (out >>= 1),
                                    .kernel = last ? w->kernel : 4,
                                    .stride = last ? w->stride : 2,
                                    .padding = last ? w->padding : 1};
    }
    return eg_tanh(g, h);
}

/* What the critic makes of images: [n, 1, 1, 1], high for real ones. */
static eg_node *wgan_gp_critic(const wgan_gp *w, eg_graph *g, eg_node *x)
{
    eg_conv_layer_spec conv = {
        .out = w->width, .kernel = w->kernel, .stride = w->stride, .padding = w->padding};
    for (int64_t i = 0; i < w->n_scales; i++) {
        x = eg_conv_layer(g, w->critic, eg_layer_number("down", i).text, x, &conv);
        if (i > 0)
            x = eg_instance_norm_layer(g, w->critic, eg_layer_number("norm", i).text, x, true);
        x = eg_leaky_relu(g, x, 0.2);
        conv =
            (eg_conv_layer_spec){.out = conv.out * 2, .kernel = 4, .stride = 2, .padding = 1};
    }
    conv = (eg_conv_layer_spec){.out = 1, .kernel = 4, .stride = 1};
    return eg_conv_layer(g, w->critic, "judge", x, &conv);
}

/* Images between real and drawn ones, share [n] of the way: [n, c, h, w]. */
static eg_node *wgan_gp_between(eg_graph *g, eg_node *real, eg_node *fake, eg_node *share)
{
    int64_t n = eg_node_shape(share).dim[0];
    eg_node *part = eg_reshape(g, share, eg_dims(n, 1, 1, 1));
    return eg_add(g, fake, eg_mul(g, part, eg_sub(g, real, fake)));
}

/* (|d critic / d x| - 1)^2, the norm over the whole image, mean over images. */
static eg_node *wgan_gp_penalty(const wgan_gp *w, eg_graph *g, eg_node *x)
{
    eg_node *slope;
    eg_gradients(g, wgan_gp_critic(w, g, x), 1, &x, &slope);
    eg_node *squares = eg_sum(g, eg_mul(g, slope, slope), EG_AXIS(1) | EG_AXIS(2) | EG_AXIS(3));
    eg_node *off = eg_affine(g, eg_sqrt(g, eg_affine(g, squares, 1, 1e-12)), 1, -1);
    return eg_mean(g, eg_mul(g, off, off), EG_ALL_AXES);
}

static void wgan_gp_record_critic(void *context, eg_graph *g, int64_t n)
{
    const eg_generator *m = context;
    const wgan_gp *w = m->self;
    eg_node *real = eg_input(g, "real", eg_dims(n, m->channels, m->height, m->width));
    eg_node *noise = eg_input(g, "noise", eg_dims(n, WGAN_NOISE));
    eg_node *fake = eg_stop_gradient(g, wgan_gp_images(w, m, g, noise, NULL));
    eg_node *between = wgan_gp_between(g, real, fake, eg_input(g, "share", eg_dims(n)));
    eg_node *both = wgan_gp_critic(w, g, eg_concat(g, 2, (eg_node *[]){real, fake}, 0));
    eg_node *gap = eg_sub(g, eg_mean(g, eg_slice(g, both, 0, n, n), EG_ALL_AXES),
                          eg_mean(g, eg_slice(g, both, 0, 0, n), EG_ALL_AXES));
    eg_node *loss = eg_add(g, gap, eg_affine(g, wgan_gp_penalty(w, g, between), w->penalty, 0));
    eg_output(g, "loss", loss);
    eg_backward(g, loss, w->critic);
}

/* The critic's table follows from recording it once. */
static eg_status wgan_gp_prepare(void *self, eg_generator *m)
{
    wgan_gp *w = self;
    char options[128];
    eg_graph *g;
    EG_TRY(eg_params_new(&w->critic));
    EG_TRY(eg_graph_new(&g));
    wgan_gp_critic(w, g, eg_input(g, "x", eg_dims(2, m->channels, m->height, m->width)));
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    EG_TRY(s);
    EG_TRY(eg_generator_add(m, "critic", w->critic));
    snprintf(options, sizeof options, "lr=%.17g beta1=%.17g beta2=%.17g", w->lr, w->beta1,
             w->beta2);
    for (size_t i = 0; i < m->n_learners; i++)
        EG_TRY(eg_learner_optimize(m->learners[i], "adam", options));
    return EG_OK;
}

static eg_status wgan_gp_critic_step(eg_generator *m, eg_stream *stream, const eg_images *on,
                                     double *loss)
{
    const wgan_gp *w = m->self;
    const eg_learner *drawing = m->learners[0];
    eg_learner *critic = m->learners[1];
    eg_program *p;
    eg_plan *plan;
    EG_TRY(eg_generator_program(m, "critic", wgan_gp_record_critic, m, &p));
    EG_TRY(eg_program_bind(p, drawing->table, drawing->param, NULL, drawing->state));
    EG_TRY(eg_program_bind(p, critic->table, critic->param, critic->grad, critic->state));
    EG_TRY(eg_program_plan(p, w->batch, &plan));
    eg_stream_next(stream, on, m->pixels, w->batch, eg_plan_input(plan, "real"), NULL);
    eg_noise_fill(stream->rng, w->batch * m->n_noise, eg_plan_input(plan, "noise"));
    for (int64_t i = 0; i < w->batch; i++)
        eg_plan_input(plan, "share")[i] = (float)eg_rng_unit(stream->rng);
    EG_TRY(eg_plan_run(plan));
    *loss = (double)*eg_plan_output(plan, "loss");
    if (!isfinite(*loss))
        return eg_fail(EG_EINVAL, "the critic's loss is not finite");
    eg_optimizer_step(critic->optimizer, critic->param, critic->grad);
    return EG_OK;
}

/* The generator wants the critic to take its drawings for real. */
static eg_node *wgan_gp_fool(void *context, eg_graph *g, eg_node *images, eg_node *labels)
{
    (void)labels;
    eg_node *judged = wgan_gp_critic(context, g, images);
    return eg_affine(g, eg_mean(g, judged, EG_ALL_AXES), -1, 0);
}

static eg_status wgan_gp_generator_step(eg_generator *m, eg_rng *rng, double *loss)
{
    wgan_gp *w = m->self;
    const eg_learner *critic = m->learners[1];
    const eg_lesson lesson = {.key = "fool",
                              .loss = wgan_gp_fool,
                              .context = w,
                              .table = critic->table,
                              .param = critic->param,
                              .state = critic->state};
    return eg_generator_teach(m, &lesson, NULL, w->batch, rng, loss);
}

static eg_status wgan_gp_steps(eg_generator *m, eg_stream *stream, const eg_images *on,
                               int64_t steps, double losses[EG_MAX_LEARNERS])
{
    const wgan_gp *w = m->self;
    int64_t n_drawn = 0;
    double loss;
    losses[0] = losses[1] = 0;
    for (int64_t i = 0; i < steps; i++) {
        EG_TRY(wgan_gp_critic_step(m, stream, on, &loss));
        losses[1] += loss / (double)steps;
        if (eg_optimizer_steps(m->learners[1]->optimizer) % w->critic_steps)
            continue;
        EG_TRY(wgan_gp_generator_step(m, stream->rng, &loss));
        losses[0] += (loss - losses[0]) / (double)++n_drawn;
    }
    return EG_OK;
}

static eg_status wgan_gp_train(void *self, eg_generator *m, const eg_images *on, int64_t steps,
                               eg_rng *rng, double losses[EG_MAX_LEARNERS])
{
    eg_stream stream;
    (void)self;
    EG_TRY(eg_stream_open(&stream, on->n, rng));
    eg_status s = wgan_gp_steps(m, &stream, on, steps, losses);
    eg_stream_close(&stream);
    return s;
}

static int64_t wgan_gp_batch(const void *self)
{
    return ((const wgan_gp *)self)->batch;
}

const eg_generator_kind eg_generator_wgan_gp = {
    .component = {"wgan_gp", "a Wasserstein pair with a penalty on the critic's slope",
                  sizeof(wgan_gp), wgan_gp_opts},
    .open = wgan_gp_open,
    .fini = wgan_gp_fini,
    .images = wgan_gp_images,
    .prepare = wgan_gp_prepare,
    .train = wgan_gp_train,
    .batch = wgan_gp_batch,
};
