/* bench_job.c - a network made ready to be measured.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/experiment.h>
#include <engram/op.h>
#include <engram/target.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What a network is held to that looks for boxes; four of them are on each image. */
enum { BENCH_BOXES = 4 };

static eg_status bench_aim(const eg_net_spec *spec, eg_aim *out)
{
    const eg_model *m = eg_model_find(spec->model);
    eg_region *r = &out->region;
    void *options;
    *out = (eg_aim){.kind = eg_target_find("detection"), .width = BENCH_BOXES * EG_BOX_SIZE};
    EG_TRY(eg_component_new(&m->component, &options));
    eg_status s =
        eg_opts_set_text(m->component.opts, options, spec->options ? spec->options : "");
    if (s == EG_OK && m->settle)
        s = m->settle(options);
    if (s == EG_OK) {
        m->region(options, spec->height, spec->width, 1, r);
        r->classes = spec->classes / (r->anchors * r->rows * r->columns) - 5;
        out->classes = r->classes, out->outputs = spec->classes;
    }
    free(options);
    return s;
}

/* The loss of a training step. */
static eg_status bench_loss(eg_graph *g, const eg_net_spec *spec, eg_node *outputs,
                            eg_node **loss)
{
    int64_t batch = eg_node_shape(outputs).dim[0];
    eg_aim aim;
    if (!eg_model_find(spec->model)->region) {
        *loss = eg_cross_entropy(g, outputs, eg_input(g, "labels", eg_dims(batch)), NULL);
        return EG_OK;
    }
    EG_TRY(bench_aim(spec, &aim));
    *loss = aim.kind->loss(&aim, g, outputs, eg_input(g, "boxes", eg_dims(batch, aim.width)));
    return EG_OK;
}

static eg_status bench_job_compile(bench_job *j, bool train)
{
    const eg_net_spec *spec = eg_net_spec_of(j->net);
    EG_TRY(eg_graph_new(&j->graph));
    eg_graph *g = j->graph;
    eg_graph_set_training(g, train);
    eg_node *x = eg_input(g, "x", eg_dims(j->batch, spec->channels, spec->height, spec->width));
    eg_node *logits = eg_net_forward(j->net, g, x);
    if (train) {
        eg_node *loss;
        EG_TRY(bench_loss(g, spec, logits, &loss));
        eg_output(g, "loss", loss);
        eg_net_backward(j->net, g, loss);
    } else {
        eg_output(g, "logits", logits);
    }
    return eg_compile(g, &j->plan);
}

static void bench_job_fill(bench_job *j, bool train)
{
    const eg_net_spec *spec = eg_net_spec_of(j->net);
    eg_rng r = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    float *x = eg_plan_input(j->plan, "x");
    for (int64_t i = 0; i < j->batch * spec->channels * spec->height * spec->width; i++)
        x[i] = (float)eg_rng_normal(&r);
    float *labels = eg_plan_input(j->plan, "labels"), *boxes = eg_plan_input(j->plan, "boxes");
    for (int64_t i = 0; train && labels && i < j->batch; i++)
        labels[i] = (float)eg_rng_below(&r, (uint64_t)spec->classes);
    for (int64_t i = 0; train && boxes && i < j->batch * BENCH_BOXES; i++) {
        eg_box b = {.label = (float)eg_rng_below(&r, 5)};
        b.w = (float)eg_rng_uniform(&r, 0.05, 0.35),
        b.h = (float)eg_rng_uniform(&r, 0.05, 0.35);
        b.x = b.w / 2 + (1 - b.w) * (float)eg_rng_unit(&r);
        b.y = b.h / 2 + (1 - b.h) * (float)eg_rng_unit(&r);
        memcpy(boxes + i * EG_BOX_SIZE, &b, sizeof b);
    }
}

/* The network of an experiment file, made for its data. */
static eg_status bench_net_of_file(const char *path, eg_net **net)
{
    eg_experiment *e;
    EG_TRY(eg_experiment_load(path, NULL, 0, NULL, &e));
    eg_status s = eg_experiment_net(e, NULL, NULL, net);
    eg_experiment_free(e);
    return s;
}

/* Networks that look for boxes of five classes: on frames of 160x96 whole and at a quarter of
 * its width; on those it was published with. */
static const struct {
    const char *name;
    int64_t width, frame_height, frame_width;
} bench_finders[] = {{"tiny-yolo", 16, 96, 160},
                     {"tiny-yolo-thin", 4, 96, 160},
                     {"tiny-yolo-416", 16, 416, 416}};

static eg_status bench_finder(size_t i, eg_net **net)
{
    enum { CELL = 32, EACH = 5 * (5 + 5) };
    int64_t height = bench_finders[i].frame_height, width = bench_finders[i].frame_width;
    char options[200];
    snprintf(options, sizeof options,
             "width=%lld anchors=[0.04, 0.06, 0.08, 0.12, 0.12, 0.2, 0.2, 0.3, 0.4, 0.5]",
             (long long)bench_finders[i].width);
    const eg_net_spec spec = {.model = "tiny-yolo",
                              .channels = 3,
                              .height = height,
                              .width = width,
                              .classes = EACH * (height / CELL) * (width / CELL),
                              .options = options};
    return eg_net_new(&spec, net);
}

/* Networks that are a model's by its options, as tools/torch_models.py names them. */
static const struct {
    const char *name;
    eg_net_spec is;
} bench_named[] = {
    {"vit-tiny-32",
     {.model = "vit",
      .channels = 3,
      .height = 32,
      .width = 32,
      .classes = 10,
      .options = "preset=vit-tiny-32"}},
    {"deit-tiny",
     {.model = "vit",
      .channels = 3,
      .height = 224,
      .width = 224,
      .classes = 1000,
      .options = "preset=deit-tiny"}},
};

static const eg_net_spec *bench_find(const char *name)
{
    for (size_t i = 0; i < sizeof bench_named / sizeof *bench_named; i++)
        if (strcmp(name, bench_named[i].name) == 0)
            return &bench_named[i].is;
    return NULL;
}

bool bench_job_knows(const char *model)
{
    for (size_t i = 0; i < sizeof bench_finders / sizeof *bench_finders; i++)
        if (strcmp(model, bench_finders[i].name) == 0)
            return true;
    return bench_find(model) || eg_model_find(model) || access(model, F_OK) == 0;
}

static eg_status bench_net(const char *model, eg_net **net)
{
    for (size_t i = 0; i < sizeof bench_finders / sizeof *bench_finders; i++)
        if (strcmp(model, bench_finders[i].name) == 0)
            return bench_finder(i, net);
    const eg_net_spec *named = bench_find(model);
    if (named)
        return eg_net_new(named, net);
    if (!eg_model_find(model))
        return bench_net_of_file(model, net);
    bool colour = strncmp(model, "resnet", 6) == 0;
    const eg_net_spec spec = {.model = model,
                              .channels = colour ? 3 : 1,
                              .height = colour ? 32 : 28,
                              .width = colour ? 32 : 28,
                              .classes = 10};
    return eg_net_new(&spec, net);
}

eg_status bench_job_open(bench_job *j, const char *model, int64_t batch, bool train)
{
    memset(j, 0, sizeof *j);
    j->batch = batch;
    EG_TRY(bench_net(model, &j->net));
    const eg_params *p = eg_net_params(j->net);
    EG_TRY(eg_params_alloc(p, &j->value));
    EG_TRY(eg_params_alloc(p, &j->grad));
    EG_TRY(eg_state_alloc(p, &j->state));
    eg_params_init(p, 1, j->value, j->state);
    EG_TRY(bench_job_compile(j, train));
    EG_TRY(eg_plan_bind(j->plan, p, j->value, j->grad, j->state));
    bench_job_fill(j, train);
    return train ? eg_optimizer_new("sgd", eg_params_length(p), &j->optimizer) : EG_OK;
}

void bench_job_close(bench_job *j)
{
    eg_optimizer_free(j->optimizer);
    eg_plan_free(j->plan);
    eg_graph_free(j->graph);
    eg_net_free(j->net);
    free(j->value);
    free(j->grad);
    free(j->state);
}

eg_status bench_job_step(void *job)
{
    bench_job *j = job;
    eg_rng stream = eg_rng_at(1, 0, 0, EG_FOR_DROPOUT);
    eg_plan_seed(j->plan, &stream, j->step++);
    EG_TRY(eg_plan_run(j->plan));
    if (j->optimizer)
        eg_optimizer_step(j->optimizer, j->value, j->grad);
    return EG_OK;
}

double bench_clock(void)
{
    if (eg_threads() > 1)
        return eg_seconds();
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
