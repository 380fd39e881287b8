/* acgan.c - a generator that draws the class it is told, trained against the model `acgan`
 * (Odena et al., 2017); the networks and optimisers are those of FedCIL's published code.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/acgan.h"

#include "base/base.h"
#include "engine/generator/stream.h"
#include "engine/model/acgan.h"

#include <stdio.h>
#include <stdlib.h>

enum { ACGAN_NOISE = 100 };

typedef struct acgan {
    int64_t width, batch;
    int form, variant;
    double lr, beta1, beta2, weight_decay;
    /* What follows from the image. */
    int64_t n_doublings;
    eg_net *critic;
} acgan;

static const eg_opt acgan_opts[] = {
    EG_OPT_INT(acgan, width, 64, 4, 1024,
               "channels of the largest maps; three quarters in form cifar"),
    EG_OPT_CHOICE(acgan, form, EG_ACGAN_MNIST, "layers as published for MNIST or for CIFAR-10",
                  EG_ACGAN_FORMS),
    EG_OPT_CHOICE(acgan, variant, 0, "of the critic and its loss", EG_ACGAN_VARIANTS),
    EG_OPT_INT(acgan, batch, 32, 2, 4096, "images of a step"),
    EG_OPT_REAL(acgan, lr, 1e-4, 0, 1, "step size of both Adams"),
    EG_OPT_REAL(acgan, beta1, 0.5, 0, 0.999, "Adam's first decay"),
    EG_OPT_REAL(acgan, beta2, 0.99, 0, 0.9999, "Adam's second decay"),
    EG_OPT_REAL(acgan, weight_decay, 1e-5, 0, 1, "Adam's weight decay"),
    EG_OPT_END,
};

static eg_status acgan_open(void *self, eg_generator *m)
{
    acgan *a = self;
    a->n_doublings = eg_acgan_doublings(m->height, m->width);
    if (!a->n_doublings)
        return eg_fail(EG_ESHAPE, "draws " EG_ACGAN_SIDES ", not %lldx%lld",
                       (long long)m->height, (long long)m->width);
    m->n_noise = ACGAN_NOISE;
    return EG_OK;
}

static void acgan_fini(void *self)
{
    eg_net_free(((acgan *)self)->critic);
}

/* Maps of 4x4 from a linear layer, doubled to the image's side, then smoothed. */
static eg_node *acgan_mnist(const acgan *a, const eg_generator *m, eg_graph *g, eg_node *z)
{
    int64_t n = eg_node_shape(z).dim[0], out = a->width << a->n_doublings;
    const eg_linear_layer_spec fc = {.out = out * 16, .bias = true, .init = &eg_acgan_init};
    eg_conv_layer_spec conv = {
        .kernel = 4, .stride = 2, .padding = 1, .bias = true, .init = &eg_acgan_init};
    eg_node *h = eg_linear_layer_of(g, m->drawing, "fc", z, &fc);
    h = eg_reshape(g, h, eg_dims(n, out, 4, 4));
    h = eg_relu(g, eg_batch_norm_layer(g, m->drawing, "bn0", h));
    for (int64_t i = 1; i <= a->n_doublings; i++) {
        conv.out = out >> i;
        h = eg_conv_transpose_layer(g, m->drawing, eg_layer_number("up", i).text, h, &conv);
        h = eg_relu(g, eg_batch_norm_layer(g, m->drawing, eg_layer_number("bn", i).text, h));
    }
    conv.out = m->channels, conv.kernel = 3, conv.stride = 1;
    return eg_conv_transpose_layer(g, m->drawing, "image", h, &conv);
}

/* One place from a linear layer with the usual first values, then 4x4, then doublings; no
 * biases but the first. */
static eg_node *acgan_cifar(const acgan *a, const eg_generator *m, eg_graph *g, eg_node *z)
{
    int64_t n = eg_node_shape(z).dim[0], out = a->width * 3 / 4 << a->n_doublings;
    const eg_linear_layer_spec fc = {.out = out, .bias = true};
    eg_node *h = eg_linear_layer_of(g, m->drawing, "fc", z, &fc);
    h = eg_reshape(g, h, eg_dims(n, out, 1, 1));
    for (int64_t i = 0; i <= a->n_doublings; i++) {
        bool first = i == 0, last = i == a->n_doublings;
        const eg_conv_layer_spec conv = {.out = last ? m->channels : out >> (i + 1),
                                         .kernel = 4,
                                         .stride = first ? 1 : 2,
                                         .padding = first ? 0 : 1,
                                         .init = &eg_acgan_init};
        h = eg_conv_transpose_layer(g, m->drawing, eg_layer_number("up", i).text, h, &conv);
        if (!last)
            h = eg_relu(g,
                        eg_batch_norm_layer_from(g, m->drawing, eg_layer_number("bn", i).text,
                                                 h, &eg_acgan_norm_init));
    }
    return h;
}

/* The one-hot label, then the noise. */
static eg_node *acgan_images(const void *self, const eg_generator *m, eg_graph *g,
                             eg_node *noise, eg_node *labels)
{
    const acgan *a = self;
    eg_node *z = eg_concat(g, 2, (eg_node *[]){eg_one_hot(g, labels, m->classes), noise}, 1);
    return eg_tanh(g, a->form == EG_ACGAN_CIFAR ? acgan_cifar(a, m, g, z)
                                                : acgan_mnist(a, m, g, z));
}

static eg_status acgan_prepare(void *self, eg_generator *m)
{
    acgan *a = self;
    char options[160];
    snprintf(options, sizeof options, "width=%lld form=%s variant=%s", (long long)a->width,
             a->form == EG_ACGAN_CIFAR ? "cifar" : "mnist", a->variant ? "reacgan" : "acgan");
    const eg_net_spec critic = {.model = "acgan",
                                .options = options,
                                .channels = m->channels,
                                .height = m->height,
                                .width = m->width,
                                .classes = m->classes,
                                .side = 1};
    EG_TRY(eg_net_new(&critic, &a->critic));
    EG_TRY(eg_generator_add(m, "critic", eg_net_params(a->critic)));
    snprintf(options, sizeof options, "lr=%.17g beta1=%.17g beta2=%.17g weight_decay=%.17g",
             a->lr, a->beta1, a->beta2, a->weight_decay);
    for (size_t i = 0; i < m->n_learners; i++)
        EG_TRY(eg_learner_optimize(m->learners[i], "adam", options));
    return EG_OK;
}

static eg_status acgan_steps(eg_generator *m, eg_stream *stream, const eg_images *on,
                             int64_t steps, eg_acgan_step *step, float *x, float *labels,
                             double losses[EG_MAX_LEARNERS])
{
    for (int64_t i = 0; i < steps; i++) {
        double loss[EG_MAX_LEARNERS];
        eg_stream_next(stream, on, m->pixels, step->now.n, x, labels);
        EG_TRY(eg_acgan_learn(m, step, stream->rng, loss));
        for (size_t k = 0; k < EG_MAX_LEARNERS; k++)
            losses[k] += loss[k] / (double)steps;
    }
    return EG_OK;
}

/* The classes that images have, each once, in rising order. */
static int64_t acgan_labels(const eg_images *on, int64_t classes, float *out)
{
    int64_t n = 0;
    for (int64_t c = 0; c < classes; c++)
        for (int64_t i = 0; i < on->n; i++)
            if (on->labels[i] == (float)c) {
                out[n++] = (float)c;
                break;
            }
    return n;
}

static eg_status acgan_train(void *self, eg_generator *m, const eg_images *on, int64_t steps,
                             eg_rng *rng, double losses[EG_MAX_LEARNERS])
{
    const acgan *a = self;
    float *x = NULL, *labels = NULL; /* a batch, then the classes there are */
    eg_stream stream = {0};
    losses[0] = losses[1] = 0;
    eg_status s = eg_alloc((size_t)(a->batch * m->pixels), sizeof *x, &x);
    if (s == EG_OK)
        s = eg_alloc((size_t)(a->batch + m->classes), sizeof *labels, &labels);
    if (s == EG_OK)
        s = eg_stream_open(&stream, on->n, rng);
    if (s == EG_OK) {
        eg_acgan_step step = {.critic = a->critic,
                              .learner = m->learners[1],
                              .now = {a->batch, x, labels},
                              .labels = labels + a->batch};
        step.n_labels = acgan_labels(on, m->classes, labels + a->batch);
        s = acgan_steps(m, &stream, on, steps, &step, x, labels, losses);
    }
    eg_stream_close(&stream);
    free(x);
    free(labels);
    return s;
}

static int64_t acgan_batch(const void *self)
{
    return ((const acgan *)self)->batch;
}

const eg_generator_kind eg_generator_acgan = {
    .component = {"acgan", "draws the class it is told, trained against the model acgan",
                  sizeof(acgan), acgan_opts},
    .labelled = true,
    .open = acgan_open,
    .fini = acgan_fini,
    .images = acgan_images,
    .prepare = acgan_prepare,
    .train = acgan_train,
    .batch = acgan_batch,
};
