/* outputs.c - records the network's outputs, and tells them which tasks rows may be of.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/outputs.h"

#include <engram/op.h>

#include <string.h>

bool eg_outputs_own(const eg_agreement *a)
{
    return a->outputs < EG_MAX_PARTS;
}

eg_node *eg_outputs_record(const eg_worker *w, eg_graph *g, eg_node *features,
                           const char *tasks)
{
    if (!eg_outputs_own(w->agreed))
        return eg_net_head(w->net, g, features);
    eg_node *open =
        eg_worker_input(g, tasks, eg_dims(eg_node_shape(features).dim[0], w->feed->n_tasks));
    return eg_chain_outputs(&w->chain, w->net, g, features, open);
}

eg_node *eg_client_outputs(eg_client *c, eg_graph *g, eg_node *x)
{
    return eg_client_outputs_of(c, g, eg_net_features(c->worker->net, g, x));
}

eg_node *eg_client_outputs_of(eg_client *c, eg_graph *g, eg_node *features)
{
    eg_worker *w = c->worker;
    if (!eg_outputs_own(w->agreed))
        return eg_net_head(w->net, g, features);
    int64_t n_tasks = w->feed->n_tasks;
    eg_node *met = eg_worker_input(g, EG_OUTPUTS_MET, eg_dims(n_tasks));
    eg_node *none = eg_constant(g, eg_dims(eg_node_shape(features).dim[0], n_tasks), 0);
    return eg_chain_outputs(&w->chain, w->net, g, features, eg_add(g, none, met));
}

void eg_outputs_clear(const eg_worker *w, float *grad)
{
    if (eg_net_spec_of(w->net)->side)
        memset(grad, 0, w->client.n_params * sizeof *grad);
}

/* The tasks of the client's stages up to this one: open [n_tasks]. */
static void outputs_open_met(const eg_client *c, int64_t n_tasks, float *open)
{
    memset(open, 0, (size_t)n_tasks * sizeof *open);
    for (int64_t stage = 0; stage <= c->view.stage; stage++) {
        int64_t n;
        const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n);
        for (int64_t k = 0; k < n; k++)
            open[spans[k].task] = 1;
    }
}

/* Copies the first of n rows [n_tasks] into the others. */
static void outputs_repeat(float *open, int64_t n, int64_t n_tasks)
{
    for (int64_t i = 1; i < n; i++)
        memcpy(open + i * n_tasks, open, (size_t)n_tasks * sizeof *open);
}

void eg_outputs_tell(eg_worker *w, eg_plan *plan, const eg_sample *samples, int64_t n,
                     int64_t rows)
{
    int64_t n_tasks = w->feed->n_tasks;
    float *open = eg_plan_input(plan, EG_OUTPUTS_OPEN); /* [rows, n_tasks] */
    float *met = eg_plan_input(plan, EG_OUTPUTS_MET);   /* [n_tasks] */
    if (met)
        outputs_open_met(&w->client, n_tasks, met);
    if (!open)
        return;
    memset(open, 0, (size_t)(n * n_tasks) * sizeof *open);
    for (int64_t i = 0; i < n; i++)
        if (samples[i].task == EG_OWN_ROW)
            outputs_open_met(&w->client, n_tasks, open + i * n_tasks);
        else
            open[i * n_tasks + samples[i].task] = 1;
    if (rows > n) {
        outputs_open_met(&w->client, n_tasks, open + n * n_tasks);
        outputs_repeat(open + n * n_tasks, rows - n, n_tasks);
    }
}

void eg_outputs_ask(eg_worker *w, eg_plan *plan, const eg_exam *exam, int64_t rows)
{
    int64_t n_tasks = w->feed->n_tasks;
    float *open = eg_plan_input(plan, EG_OUTPUTS_OPEN); /* [rows, n_tasks] */
    float *told = eg_plan_input(plan, EG_OUTPUTS_TOLD);
    if (!open)
        return;
    for (int64_t t = 0; t < n_tasks; t++) { /* before the first round nothing is learned */
        open[t] =
            exam->period == 0 || eg_scenario_learned(w->feed->scenario, t) <= exam->period;
        told[t] = t == exam->task;
    }
    outputs_repeat(open, rows, n_tasks);
    outputs_repeat(told, rows, n_tasks);
}
