/* bench_job.c - a network made ready to be measured.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/experiment.h>
#include <engram/op.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static eg_status bench_job_compile(bench_job *j, bool train)
{
    const eg_net_spec *spec = eg_net_spec_of(j->net);
    EG_TRY(eg_graph_new(&j->graph));
    eg_graph *g = j->graph;
    eg_graph_set_training(g, train);
    eg_node *x = eg_input(g, "x", eg_dims(j->batch, spec->channels, spec->height, spec->width));
    eg_node *logits = eg_net_forward(j->net, g, x);
    if (train) {
        eg_node *loss =
            eg_cross_entropy(g, logits, eg_input(g, "labels", eg_dims(j->batch)), NULL);
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
    for (int64_t i = 0; train && i < j->batch; i++)
        eg_plan_input(j->plan, "labels")[i] = (float)eg_rng_below(&r, (uint64_t)spec->classes);
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

static eg_status bench_net(const char *model, eg_net **net)
{
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
