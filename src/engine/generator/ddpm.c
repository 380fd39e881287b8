/* ddpm.c - images out of noise, a little clearer with every step (Ho et al., 2020): a network
 * learns to tell the noise in x_t = sqrt(a_t) x + sqrt(1 - a_t) noise, a_t = prod (1 - beta);
 * drawings go the way back in few steps without new noise (DDIM; Song et al., 2021).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first learner is the mean of the second's weights over its last steps, and draws.
 */
#include "base/base.h"
#include "base/real.h"
#include "engine/generator/stream.h"
#include "engine/generator/unet.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DDPM_DRAW_ROWS = 32, DDPM_MAX_BLOCKS = 16 };

typedef struct ddpm {
    int64_t width, blocks, steps, sample_steps, batch;
    double lr, average;
    eg_opt_list multipliers;
    /* What follows from these. */
    eg_unet net;
    double *clear; /* [steps]: a_t, the share of the image in x_t */
} ddpm;

static const eg_opt ddpm_opts[] = {
    EG_OPT_INT(ddpm, width, 32, 2, 1024, "channels of the largest maps"),
    EG_OPT_LIST(ddpm, multipliers, EG_UNET_LEVELS, "1,2,2", 1, 64,
                "channels of each level over the width; maps halve from level to level"),
    EG_OPT_INT(ddpm, blocks, 1, 1, DDPM_MAX_BLOCKS, "residual blocks of a level"),
    EG_OPT_INT(ddpm, steps, 1000, 2, 100000, "steps from an image to noise"),
    EG_OPT_INT(ddpm, sample_steps, 50, 0, 100000, "steps of a drawing; 0: all"),
    EG_OPT_INT(ddpm, batch, 32, 1, 4096, "images of a step"),
    EG_OPT_REAL(ddpm, lr, 2e-4, 0, 1, "step size of Adam"),
    EG_OPT_REAL(ddpm, average, 0.995, 0, 0.99999,
                "what the averaged weights, which draw, keep in a step; less in the first"),
    EG_OPT_END,
};

/* The levels of the network, which the image must bear. */
static eg_status ddpm_levels(ddpm *d, const eg_generator *m)
{
    d->net = (eg_unet){.width = d->width, .n_levels = d->multipliers.n, .blocks = d->blocks};
    for (int64_t i = 0; i < d->multipliers.n; i++) {
        d->net.multipliers[i] = (int64_t)d->multipliers.value[i];
        if ((double)d->net.multipliers[i] != d->multipliers.value[i])
            return eg_fail(EG_EINVAL, "multipliers: %g is no whole number",
                           d->multipliers.value[i]);
    }
    int64_t smallest = (int64_t)1 << (d->multipliers.n - 1);
    if (m->height % smallest || m->width % smallest)
        return eg_fail(EG_ESHAPE,
                       "draws images whose sides are multiples of %lld, not %lldx%lld",
                       (long long)smallest, (long long)m->height, (long long)m->width);
    return EG_OK;
}

static eg_status ddpm_open(void *self, eg_generator *m)
{
    ddpm *d = self;
    const double first = 1e-4, last = 0.02;
    if (d->width % 2)
        return eg_fail(EG_EINVAL, "width: %lld is odd", (long long)d->width);
    if (d->sample_steps > d->steps)
        return eg_fail(EG_EINVAL, "sample_steps: %lld are more than the %lld steps there are",
                       (long long)d->sample_steps, (long long)d->steps);
    EG_TRY(ddpm_levels(d, m));
    EG_TRY(eg_alloc((size_t)d->steps, sizeof *d->clear, &d->clear));
    double clear = 1;
    for (int64_t t = 0; t < d->steps; t++)
        d->clear[t] = clear *=
            1 - (first + (last - first) * (double)t / (double)(d->steps - 1));
    m->n_noise = m->pixels;
    return EG_OK;
}

static void ddpm_fini(void *self)
{
    free(((ddpm *)self)->clear);
}

/* The network on x [n, c, h, w] at times [n, width]. */
static eg_node *ddpm_noise(const eg_generator *m, eg_graph *g, int64_t n)
{
    const ddpm *d = m->self;
    eg_node *x = eg_input(g, "noisy", eg_dims(n, m->channels, m->height, m->width));
    return eg_unet_noise(&d->net, g, m->drawing, x, eg_input(g, "time", eg_dims(n, d->width)));
}

/* The table alone: a drawing is many runs of the network (ddpm_draw). */
static eg_node *ddpm_images(const void *self, const eg_generator *m, eg_graph *g,
                            eg_node *noise, eg_node *labels)
{
    (void)self, (void)labels;
    return ddpm_noise(m, g, eg_node_shape(noise).dim[0]);
}

static void ddpm_record_training(void *context, eg_graph *g, int64_t n)
{
    const eg_generator *m = context;
    eg_node *noise = eg_input(g, "noise", eg_dims(n, m->channels, m->height, m->width));
    eg_node *loss = eg_mse(g, ddpm_noise(m, g, n), noise);
    eg_output(g, "loss", loss);
    eg_backward(g, loss, m->drawing);
}

static void ddpm_record_drawing(void *context, eg_graph *g, int64_t n)
{
    eg_graph_set_training(g, false);
    eg_output(g, "noise", ddpm_noise(context, g, n));
}

static eg_status ddpm_prepare(void *self, eg_generator *m)
{
    const ddpm *d = self;
    char options[64];
    EG_TRY(eg_generator_add(m, "trained", m->drawing));
    snprintf(options, sizeof options, "lr=%.17g", d->lr);
    return eg_learner_optimize(m->learners[1], "adam", options);
}

/* A time as waves of many lengths: [width]. */
static void ddpm_embed(const ddpm *d, int64_t t, float *out)
{
    int64_t half = d->width / 2;
    for (int64_t i = 0; i < half; i++) {
        double angle = (double)t * eg_real_pow(10000, -(double)i / (double)half);
        out[i] = (float)eg_real_sin(angle);
        out[half + i] = (float)eg_real_cos(angle);
    }
}

/* A batch at random times: what goes into the network, and the noise it should find. */
static void ddpm_fill(const eg_generator *m, eg_plan *plan, eg_rng *rng)
{
    const ddpm *d = m->self;
    float *noisy = eg_plan_input(plan, "noisy"), *noise = eg_plan_input(plan, "noise");
    float *time = eg_plan_input(plan, "time");
    eg_noise_fill(rng, d->batch * m->pixels, noise);
    for (int64_t i = 0; i < d->batch; i++) {
        int64_t t = (int64_t)eg_rng_below(rng, (uint64_t)d->steps);
        float keep = (float)sqrt(d->clear[t]), blur = (float)sqrt(1 - d->clear[t]);
        for (int64_t k = i * m->pixels; k < (i + 1) * m->pixels; k++)
            noisy[k] = keep * noisy[k] + blur * noise[k];
        ddpm_embed(d, t, time + i * d->width);
    }
}

/* Moves the averaged weights; in the first steps further, since there is little to keep. */
static void ddpm_average(const ddpm *d, const eg_generator *m)
{
    float *mean = m->learners[0]->param;
    const float *now = m->learners[1]->param;
    double t = (double)eg_optimizer_steps(m->learners[1]->optimizer);
    float keep = t > 1 ? (float)fmin(d->average, (1 + t) / (10 + t)) : 0;
    for (size_t i = 0; i < m->learners[0]->n_params; i++)
        mean[i] = now[i] + keep * (mean[i] - now[i]);
}

static eg_status ddpm_steps(eg_generator *m, eg_stream *stream, const eg_images *on,
                            int64_t steps, double *mean)
{
    const ddpm *d = m->self;
    eg_learner *l = m->learners[1];
    eg_program *p;
    eg_plan *plan;
    EG_TRY(eg_generator_program(m, "denoise", ddpm_record_training, m, &p));
    EG_TRY(eg_program_bind(p, l->table, l->param, l->grad, l->state));
    EG_TRY(eg_program_plan(p, d->batch, &plan));
    for (int64_t i = 0; i < steps; i++) {
        eg_stream_next(stream, on, m->pixels, d->batch, eg_plan_input(plan, "noisy"), NULL);
        ddpm_fill(m, plan, stream->rng);
        EG_TRY(eg_plan_run(plan));
        double loss = (double)*eg_plan_output(plan, "loss");
        if (!isfinite(loss))
            return eg_fail(EG_EINVAL, "the loss is not finite");
        *mean += loss / (double)steps;
        eg_optimizer_step(l->optimizer, l->param, l->grad);
        ddpm_average(d, m);
    }
    return EG_OK;
}

static eg_status ddpm_train(void *self, eg_generator *m, const eg_images *on, int64_t steps,
                            eg_rng *rng, double losses[EG_MAX_LEARNERS])
{
    eg_stream stream;
    (void)self;
    losses[0] = losses[1] = 0;
    EG_TRY(eg_stream_open(&stream, on->n, rng));
    eg_status s = ddpm_steps(m, &stream, on, steps, &losses[1]);
    losses[0] = losses[1]; /* the averaged weights have no loss of their own */
    eg_stream_close(&stream);
    return s;
}

/* One step of DDIM on n values: the image that x and the noise found in it stand for, as far as
 * pixels reach, with so much of that noise as there is at the next time. */
static void ddpm_clear_up(double clear, double next, int64_t n, const float *noise, float *x)
{
    float keep = (float)sqrt(clear), blur = (float)sqrt(1 - clear);
    float keep_next = (float)sqrt(next), blur_next = (float)sqrt(1 - next);
    for (int64_t i = 0; i < n; i++) {
        float image = fminf(1, fmaxf(-1, (x[i] - blur * noise[i]) / keep));
        x[i] = keep_next * image + blur_next * ((x[i] - keep * image) / blur);
    }
}

/* Draws the rows of one plan, whose input begins as noise. */
static eg_status ddpm_draw_rows(const ddpm *d, const eg_generator *m, eg_plan *plan)
{
    float *x = eg_plan_input(plan, "noisy"), *time = eg_plan_input(plan, "time");
    int64_t n = d->sample_steps ? d->sample_steps : d->steps;
    for (int64_t k = n - 1; k >= 0; k--) { /* the last of n equal parts of the way, then back */
        int64_t t = (k + 1) * d->steps / n - 1;
        double next = k > 0 ? d->clear[k * d->steps / n - 1] : 1;
        for (int64_t i = 0; i < DDPM_DRAW_ROWS; i++)
            ddpm_embed(d, t, time + i * d->width);
        EG_TRY(eg_plan_run(plan));
        ddpm_clear_up(d->clear[t], next, DDPM_DRAW_ROWS * m->pixels,
                      eg_plan_output(plan, "noise"), x);
    }
    return EG_OK;
}

static eg_status ddpm_draw(void *self, eg_generator *m, const float *labels, int64_t n,
                           eg_rng *rng, float *x)
{
    const eg_learner *l = m->learners[0];
    eg_program *p;
    eg_plan *plan;
    (void)labels;
    EG_TRY(eg_generator_program(m, "draw", ddpm_record_drawing, m, &p));
    EG_TRY(eg_program_bind(p, l->table, l->param, NULL, l->state));
    EG_TRY(eg_program_plan(p, DDPM_DRAW_ROWS, &plan));
    for (int64_t at = 0; at < n; at += DDPM_DRAW_ROWS) {
        int64_t rows = n - at < DDPM_DRAW_ROWS ? n - at : DDPM_DRAW_ROWS;
        float *noisy = eg_plan_input(plan, "noisy");
        memset(noisy, 0, (size_t)(DDPM_DRAW_ROWS * m->pixels) * sizeof *noisy);
        eg_noise_fill(rng, rows * m->pixels, noisy);
        EG_TRY(ddpm_draw_rows(self, m, plan));
        memcpy(x + at * m->pixels, noisy, (size_t)(rows * m->pixels) * sizeof *x);
    }
    return EG_OK;
}

static int64_t ddpm_batch(const void *self)
{
    return ((const ddpm *)self)->batch;
}

const eg_generator_kind eg_generator_ddpm = {
    .component = {"ddpm", "noise made clear step by step by a U-Net", sizeof(ddpm), ddpm_opts},
    .open = ddpm_open,
    .fini = ddpm_fini,
    .images = ddpm_images,
    .prepare = ddpm_prepare,
    .draw = ddpm_draw,
    .train = ddpm_train,
    .batch = ddpm_batch,
};
