/* client.c - what a part may ask of the client it is in: rows, gradients, a look at samples.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/classes.h"
#include "client/outputs.h"

#include <engram/op.h>

#include <string.h>

eg_status eg_client_add_sample(eg_client *c, int64_t task, int64_t id)
{
    size_t cap = (size_t)c->cap_samples;
    EG_TRY(eg_grow(&c->samples, (size_t)c->n_samples, &cap, sizeof *c->samples));
    c->cap_samples = (int64_t)cap;
    c->samples[c->n_samples++] = (eg_sample){task, id};
    return EG_OK;
}

eg_status eg_client_rows(eg_client *c, int64_t n, float **x, float **labels)
{
    EG_TRY(eg_program_plan(c->worker->plain, n, &c->worker->rows));
    *x = eg_plan_input(c->worker->rows, "x");
    *labels = eg_plan_input(c->worker->rows, "labels");
    c->worker->n_rows = n;
    eg_outputs_tell(c->worker, c->worker->rows, NULL, 0, n);
    return EG_OK;
}

/* Runs the plan of eg_client_rows; the first n rows are these samples. */
static eg_status client_run_rows(eg_client *c, const eg_sample *samples, int64_t n)
{
    eg_worker *w = c->worker;
    eg_rng dropout = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_DROPOUT);
    eg_worker_mask(w, w->rows, samples, n, w->n_rows);
    eg_plan_seed(w->rows, &dropout, c->step | w->apart);
    return eg_plan_run(w->rows);
}

eg_status eg_client_gradient_beside(eg_client *c, const float **out)
{
    *out = c->worker->beside;
    return client_run_rows(c, NULL, 0);
}

eg_status eg_client_gradient(eg_client *c, const eg_sample *samples, int64_t n)
{
    float *x, *labels;
    EG_TRY(eg_client_rows(c, n, &x, &labels));
    eg_client_feed(c, samples, n, x, labels);
    eg_outputs_tell(c->worker, c->worker->rows, samples, n, n);
    EG_TRY(client_run_rows(c, samples, n));
    memcpy(c->grad, c->worker->beside, c->n_params * sizeof *c->grad);
    return EG_OK;
}

eg_status eg_client_eval_gradient(eg_client *c, const eg_sample *samples, int64_t n)
{
    eg_plan *plan;
    EG_TRY(eg_program_plan(c->worker->eval, n, &plan));
    eg_client_feed(c, samples, n, eg_plan_input(plan, "x"), eg_plan_input(plan, "labels"));
    eg_worker_mask(c->worker, plan, samples, n, n);
    eg_outputs_tell(c->worker, plan, samples, n, n);
    eg_outputs_clear(c->worker);
    return eg_plan_run(plan);
}

void eg_client_feed(eg_client *c, const eg_sample *samples, int64_t n, float *x, float *labels)
{
    eg_feed_train(c->worker->feed, samples, n, NULL, x, labels);
}

/* Records the outputs of a look; the gradient's norms cost a backward pass. */
static void client_record_look(eg_worker *w, eg_graph *g, int64_t batch, bool norms)
{
    const eg_feed *f = w->feed;
    int64_t classes = w->client.n_classes;
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
    eg_node *truth = eg_one_hot(g, eg_input(g, "labels", eg_dims(batch)), classes);
    eg_node *features = eg_net_features(w->net, g, x);
    eg_node *logits = eg_outputs_record(w, g, features, EG_OUTPUTS_OPEN);
    eg_node *losses = eg_cross_entropies(g, eg_worker_masked(w, g, logits), truth);
    eg_output(g, "features", features);
    eg_output(g, "logits", logits);
    eg_output(g, "losses", losses);
    if (norms) /* the net's own table; recording hands out what is in it already */
        eg_output(g, "norms",
                  eg_sample_norms(g, losses, (eg_params *)(uintptr_t)eg_net_params(w->net)));
}

static void client_record_outputs(void *context, eg_graph *g, int64_t batch)
{
    client_record_look(context, g, batch, false);
}

static void client_record_norms(void *context, eg_graph *g, int64_t batch)
{
    client_record_look(context, g, batch, true);
}

/* The plain loss and its gradient in eval form. */
static void client_record_eval(void *context, eg_graph *g, int64_t batch)
{
    const eg_worker *w = context;
    const eg_feed *f = w->feed;
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
    eg_node *labels = eg_input(g, "labels", eg_dims(batch));
    eg_node *features = eg_net_features(w->net, g, x);
    eg_node *logits =
        eg_worker_masked(w, g, eg_outputs_record(w, g, features, EG_OUTPUTS_OPEN));
    eg_net_backward(w->net, g, eg_cross_entropy(g, logits, labels, NULL));
}

eg_status eg_client_open_looks(eg_worker *w)
{
    static const eg_recorder records[] = {client_record_outputs, client_record_norms};
    EG_TRY(eg_program_new(client_record_eval, w, 4, &w->eval));
    EG_TRY(eg_program_bind(w->eval, eg_net_params(w->net), w->param, w->grad, w->state));
    for (int i = 0; i < 2; i++) {
        EG_TRY(eg_program_new(records[i], w, 4, &w->looks[i]));
        EG_TRY(eg_program_bind(w->looks[i], eg_net_params(w->net), w->param, NULL, w->state));
    }
    return EG_OK;
}

/* Copies rows of an output, if it is wanted. */
static void client_take(eg_plan *plan, const char *name, int64_t rows, int64_t width, float *to)
{
    if (to)
        memcpy(to, eg_plan_output(plan, name), (size_t)(rows * width) * sizeof *to);
}

eg_status eg_client_look(eg_client *c, const eg_sample *samples, int64_t n, const eg_look *out)
{
    int64_t size = c->worker->e->train.batch, d = eg_net_n_features(c->net);
    for (int64_t at = 0; at < n; at += size) {
        int64_t rows = n - at < size ? n - at : size;
        eg_plan *plan;
        EG_TRY(eg_program_plan(c->worker->looks[out->norms != NULL], rows, &plan));
        eg_client_feed(c, samples + at, rows, eg_plan_input(plan, "x"),
                       eg_plan_input(plan, "labels"));
        eg_worker_mask(c->worker, plan, samples + at, rows, rows);
        eg_outputs_tell(c->worker, plan, samples + at, rows, rows);
        EG_TRY(eg_plan_run(plan));
        client_take(plan, "norms", rows, 1, out->norms ? out->norms + at : NULL);
        client_take(plan, "losses", rows, 1, out->losses ? out->losses + at : NULL);
        client_take(plan, "logits", rows, c->n_classes,
                    out->logits ? out->logits + at * c->n_classes : NULL);
        client_take(plan, "features", rows, d, out->features ? out->features + at * d : NULL);
    }
    return EG_OK;
}
