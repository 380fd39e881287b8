/* trainer.c - a network's training step and its eval form, on samples by number.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/trainer.h>

#include <engram/metric.h>
#include <engram/op.h>
#include <engram/optim.h>
#include <engram/program.h>

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { TRAINER_PLANS = 2, TRAINER_LOOK = 200 };

struct eg_trainer {
    eg_trainer_spec spec;
    eg_program *learn, *look;
    eg_optimizer *optimizer;
    float *value, *grad, *state;
    float labels[TRAINER_LOOK]; /* of a batch that is looked at */
    uint64_t step;
};

static eg_node *trainer_input(const eg_trainer *t, eg_graph *g, int64_t batch)
{
    const eg_net_spec *s = eg_net_spec_of(t->spec.net);
    return eg_input(g, "x", eg_dims(batch, s->channels, s->height, s->width));
}

static void trainer_record_learning(void *context, eg_graph *g, int64_t batch)
{
    const eg_trainer *t = context;
    double temperature = t->spec.temperature;
    eg_node *logits = eg_net_forward(t->spec.net, g, trainer_input(t, g, batch));
    if (temperature < 1 || temperature > 1)
        logits = eg_affine(g, logits, 1 / temperature, 0);
    eg_node *loss = eg_cross_entropy(g, logits, eg_input(g, "labels", eg_dims(batch)), NULL);
    eg_output(g, "loss", loss);
    eg_net_backward(t->spec.net, g, loss);
}

static void trainer_record_look(void *context, eg_graph *g, int64_t batch)
{
    const eg_trainer *t = context;
    eg_graph_set_training(g, false);
    eg_node *features = eg_net_features(t->spec.net, g, trainer_input(t, g, batch));
    eg_output(g, "features", features);
    eg_output(g, "logits", eg_net_head(t->spec.net, g, features));
}

static eg_status trainer_fill(eg_trainer *t)
{
    const eg_params *p = eg_net_params(t->spec.net);
    EG_TRY(eg_params_alloc(p, &t->value));
    EG_TRY(eg_params_alloc(p, &t->grad));
    EG_TRY(eg_state_alloc(p, &t->state));
    eg_params_init(p, t->spec.seed, t->value, t->state);
    EG_TRY(eg_optimizer_new(t->spec.optimizer, eg_params_length(p), &t->optimizer));
    EG_TRY(eg_program_new(trainer_record_learning, t, TRAINER_PLANS, &t->learn));
    EG_TRY(eg_program_new(trainer_record_look, t, TRAINER_PLANS, &t->look));
    EG_TRY(eg_program_bind(t->learn, p, t->value, t->grad, t->state));
    return eg_program_bind(t->look, p, t->value, NULL, t->state);
}

eg_status eg_trainer_new(const eg_trainer_spec *spec, eg_trainer **out)
{
    eg_trainer *t;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *t, &t));
    t->spec = *spec;
    eg_status s = trainer_fill(t);
    if (s == EG_OK)
        *out = t;
    else
        eg_trainer_free(t);
    return s;
}

void eg_trainer_free(eg_trainer *t)
{
    if (!t)
        return;
    eg_program_free(t->learn);
    eg_program_free(t->look);
    eg_optimizer_free(t->optimizer);
    free(t->value);
    free(t->grad);
    free(t->state);
    free(t);
}

eg_status eg_trainer_set(eg_trainer *t, const char *option, const char *value)
{
    return eg_optimizer_set(t->optimizer, option, value);
}

float *eg_trainer_values(eg_trainer *t)
{
    return t->value;
}

float *eg_trainer_state(eg_trainer *t)
{
    return t->state;
}

eg_status eg_trainer_step(eg_trainer *t, const eg_trainer_samples *from, int64_t first,
                          int64_t count, double *loss)
{
    eg_rng dropout = eg_rng_at(t->spec.seed, 0, 0, EG_FOR_DROPOUT);
    eg_plan *plan;
    EG_TRY(eg_program_plan(t->learn, count, &plan));
    EG_TRY(from->fill(from->context, first, count, eg_plan_input(plan, "x"),
                      eg_plan_input(plan, "labels")));
    eg_plan_seed(plan, &dropout, t->step++);
    EG_TRY(eg_plan_run(plan));
    if (loss)
        *loss = (double)*eg_plan_output(plan, "loss");
    eg_optimizer_step(t->optimizer, t->value, t->grad);
    return EG_OK;
}

/* Runs the eval form on the samples from first on, as many as a batch takes: *count. */
static eg_status trainer_look(eg_trainer *t, const eg_trainer_samples *at, int64_t first,
                              int64_t *count, eg_plan **plan)
{
    int64_t left = at->n - first;
    *count = left < TRAINER_LOOK ? left : TRAINER_LOOK;
    EG_TRY(eg_program_plan(t->look, *count, plan));
    EG_TRY(at->fill(at->context, first, *count, eg_plan_input(*plan, "x"), t->labels));
    return eg_plan_run(*plan);
}

eg_status eg_trainer_test(eg_trainer *t, const eg_trainer_samples *on, double *accuracy)
{
    int64_t right = 0, outputs = eg_net_spec_of(t->spec.net)->classes, n;
    for (int64_t first = 0; first < on->n; first += n) {
        eg_plan *plan;
        EG_TRY(trainer_look(t, on, first, &n, &plan));
        const float *logits = eg_plan_output(plan, "logits"); /* [n, outputs] */
        for (int64_t i = 0; i < n; i++)
            right +=
                eg_predict(logits + i * outputs, outputs, NULL, 0) == (int32_t)t->labels[i];
    }
    *accuracy = on->n > 0 ? (double)right / (double)on->n : 0;
    return EG_OK;
}

eg_status eg_trainer_features(eg_trainer *t, const eg_trainer_samples *of, float *out)
{
    int64_t d = eg_net_n_features(t->spec.net), n;
    for (int64_t first = 0; first < of->n; first += n) {
        eg_plan *plan;
        EG_TRY(trainer_look(t, of, first, &n, &plan));
        memcpy(out + first * d, eg_plan_output(plan, "features"),
               (size_t)(n * d) * sizeof *out);
    }
    return EG_OK;
}
