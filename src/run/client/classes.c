/* classes.c - classes met so far, and the mask that keeps the others out of the loss.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/classes.h"

#include <engram/op.h>

#include <string.h>

static void classes_mark_task(const eg_scenario *s, int64_t who, int64_t task, uint8_t *met)
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
            classes_mark_task(s, who, t, met);
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
        classes_mark_task(w->feed->scenario, c->id, c->view.spans[k].task, w->met);
}

static eg_node *classes_temper(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    double t = w->e->train.temperature;
    return t < 1 || t > 1 ? eg_affine(g, logits, 1 / t, 0) : logits;
}

eg_node *eg_worker_judged(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    if (w->e->train.classes != EG_CLASSES_ALL && eg_graph_status(g) == EG_OK)
        logits = eg_add(g, logits, eg_worker_input(g, "mask", eg_node_shape(logits)));
    return classes_temper(w, g, logits);
}

eg_node *eg_client_counted(eg_client *c, eg_graph *g, eg_node *logits)
{
    eg_worker *w = c->worker;
    if (w->e->train.classes == EG_CLASSES_ALL)
        return classes_temper(w, g, logits);
    eg_node *counted = eg_worker_input(g, "counted", eg_dims(c->n_classes));
    return classes_temper(w, g, eg_add(g, logits, counted));
}

/* Sets what is added to all outputs of a class. row: [n_classes] */
static void classes_put(const eg_worker *w, float *row, int64_t class, float value)
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
        classes_put(w, counted, k, w->met[k] ? 0 : EG_MASKED);
    for (int64_t i = 0; mask && i < rows; i++, mask += outputs) {
        const int32_t *own;
        bool of_task = by_task && i < n && samples[i].task != EG_OWN_ROW;
        for (int64_t k = 0; k < classes; k++)
            classes_put(w, mask, k, w->met[k] && !of_task ? 0 : EG_MASKED);
        if (of_task) {
            int64_t n_own =
                eg_scenario_classes(w->feed->scenario, w->client.id, samples[i].task, &own);
            for (int64_t k = 0; k < n_own; k++)
                classes_put(w, mask, own[k], 0);
        }
        if (labels[i] >= 0 && labels[i] < (float)outputs) /* the right class always counts */
            classes_put(w, mask, (int64_t)labels[i] / w->feed->fan, 0);
    }
}
