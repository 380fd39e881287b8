/* outputs.c - records the network's outputs, tells them which tasks rows may be of, and keeps
 * those of classes not met out of the loss.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/outputs.h"

#include <engram/op.h>

#include <string.h>

bool eg_outputs_own(const eg_agreement *a)
{
    return a->outputs < EG_MAX_PARTS;
}

void eg_outputs_declare(const eg_worker *w, eg_graph *g, int64_t batch)
{
    if (!eg_net_graft(w->net)->of || eg_graph_status(g) != EG_OK)
        return;
    eg_worker_input(g, EG_OUTPUTS_OPEN, eg_dims(batch, w->feed->n_tasks));
    eg_worker_input(g, EG_OUTPUTS_MET, eg_dims(w->feed->n_tasks));
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

/* Copies the first of n rows [n_tasks] into the others; NULL: there are none. */
static void outputs_repeat(float *open, int64_t n, int64_t n_tasks)
{
    for (int64_t i = 1; open && i < n; i++)
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
    float *met = eg_plan_input(plan, EG_OUTPUTS_MET); /* [n_tasks] */
    for (int64_t t = 0; t < n_tasks; t++) { /* before the first round nothing is learned */
        bool learned =
            exam->period == 0 || eg_scenario_learned(w->feed->scenario, t) <= exam->period;
        if (open)
            open[t] = learned;
        if (met)
            met[t] = learned;
        if (told)
            told[t] = t == exam->task;
    }
    outputs_repeat(open, rows, n_tasks);
    outputs_repeat(told, rows, n_tasks);
}

static void outputs_mark_task(const eg_scenario *s, int64_t who, int64_t task, uint8_t *met)
{
    const int32_t *classes;
    int64_t n = eg_scenario_classes(s, who, task, &classes);
    for (int64_t k = 0; k < n; k++)
        met[classes[k]] = 1;
}

void eg_classes_mark(const eg_scenario *s, const eg_cursor *c, int64_t who, uint8_t *met)
{
    for (int64_t t = 0; t < eg_scenario_n_tasks(s); t++)
        if (eg_cursor_seen(c, who, t))
            outputs_mark_task(s, who, t, met);
}

int64_t eg_classes_list(const eg_scenario *s, const uint8_t *met, int32_t *list)
{
    int64_t n = 0;
    for (int32_t k = 0; k < eg_scenario_n_classes(s); k++)
        if (met[k])
            list[n++] = k;
    return n;
}

void eg_worker_meet(eg_worker *w)
{
    const eg_client *c = &w->client;
    if (w->e->train.classes == EG_CLASSES_ALL)
        return;
    EG_ASSERT(w->turn->met != NULL);
    memcpy(w->met, w->turn->met, (size_t)eg_scenario_n_classes(w->feed->scenario));
    for (int64_t k = 0; k < c->view.n_spans; k++)
        outputs_mark_task(w->feed->scenario, c->id, c->view.spans[k].task, w->met);
}

static eg_node *outputs_temper(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    double t = w->e->train.temperature;
    return t < 1 || t > 1 ? eg_affine(g, logits, 1 / t, 0) : logits;
}

eg_node *eg_worker_judged(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    if (w->e->train.classes != EG_CLASSES_ALL && eg_graph_status(g) == EG_OK)
        logits = eg_add(g, logits, eg_worker_input(g, "mask", eg_node_shape(logits)));
    return outputs_temper(w, g, logits);
}

eg_node *eg_client_counted(eg_client *c, eg_graph *g, eg_node *logits)
{
    eg_worker *w = c->worker;
    if (w->e->train.classes == EG_CLASSES_ALL)
        return outputs_temper(w, g, logits);
    eg_node *counted = eg_worker_input(g, "counted", eg_dims(c->n_classes));
    return outputs_temper(w, g, eg_add(g, logits, counted));
}

eg_node *eg_client_loss(eg_client *c, eg_graph *g, eg_node *outputs, eg_node *targets)
{
    return c->aim->kind->loss(c->aim, g, outputs, targets);
}

/* Sets what is added to all outputs of a class. row: [n_classes] */
static void outputs_put(const eg_worker *w, float *row, int64_t class, float value)
{
    for (int64_t k = class * w->feed->fan; k < (class + 1) * w->feed->fan; k++)
        row[k] = value;
}

void eg_worker_mask(eg_worker *w, eg_plan *plan, const eg_sample *samples, int64_t n,
                    int64_t rows)
{
    int64_t outputs = w->client.n_classes, classes = outputs / w->feed->fan;
    bool by_task = w->e->train.classes == EG_CLASSES_TASK;
    float *mask = eg_plan_input(plan, "mask");       /* [rows, outputs] */
    float *counted = eg_plan_input(plan, "counted"); /* [outputs] */
    const float *labels = eg_plan_input(plan, "labels");
    for (int64_t k = 0; counted && k < classes; k++)
        outputs_put(w, counted, k, w->met[k] ? 0 : EG_MASKED);
    for (int64_t i = 0; mask && i < rows; i++, mask += outputs) {
        const int32_t *own;
        bool of_task = by_task && i < n && samples[i].task != EG_OWN_ROW;
        for (int64_t k = 0; k < classes; k++)
            outputs_put(w, mask, k, w->met[k] && !of_task ? 0 : EG_MASKED);
        if (of_task) {
            int64_t n_own =
                eg_scenario_classes(w->feed->scenario, w->client.id, samples[i].task, &own);
            for (int64_t k = 0; k < n_own; k++)
                outputs_put(w, mask, own[k], 0);
        }
        if (labels[i] >= 0 && labels[i] < (float)outputs) /* the right class always counts */
            outputs_put(w, mask, (int64_t)labels[i] / w->feed->fan, 0);
    }
}
