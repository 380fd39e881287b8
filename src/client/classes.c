/* classes.c - classes met so far, and the mask that keeps the others out of the loss.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/classes.h"

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
    memcpy(w->met, w->turn->met, (size_t)c->n_classes);
    for (int64_t k = 0; k < c->view.n_spans; k++)
        classes_mark_task(w->feed->scenario, c->id, c->view.spans[k].task, w->met);
}

eg_node *eg_worker_masked(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    if (w->e->train.classes == EG_CLASSES_ALL || eg_graph_status(g) != EG_OK)
        return logits;
    return eg_add(g, logits, eg_input(g, "mask", eg_node_shape(logits)));
}

eg_node *eg_client_counted(eg_client *c, eg_graph *g, eg_node *logits)
{
    eg_worker *w = c->worker;
    if (w->e->train.classes == EG_CLASSES_ALL)
        return logits;
    if (!w->counted)
        w->counted = eg_input(g, "counted", eg_dims(c->n_classes));
    return eg_add(g, logits, w->counted);
}

void eg_worker_mask(eg_worker *w, eg_plan *plan, const eg_sample *samples, int64_t n,
                    int64_t rows)
{
    int64_t classes = w->client.n_classes;
    bool by_task = w->e->train.classes == EG_CLASSES_TASK;
    float *mask = eg_plan_input(plan, "mask");       /* [rows, classes] */
    float *counted = eg_plan_input(plan, "counted"); /* [classes] */
    const float *labels = eg_plan_input(plan, "labels");
    for (int64_t k = 0; counted && k < classes; k++)
        counted[k] = w->met[k] ? 0 : EG_MASKED;
    for (int64_t i = 0; mask && i < rows; i++, mask += classes) {
        const int32_t *own;
        for (int64_t k = 0; k < classes; k++)
            mask[k] = w->met[k] && !(by_task && i < n) ? 0 : EG_MASKED;
        if (by_task && i < n) {
            int64_t n_own =
                eg_scenario_classes(w->feed->scenario, w->client.id, samples[i].task, &own);
            for (int64_t k = 0; k < n_own; k++)
                mask[own[k]] = 0;
        }
        if (labels[i] >= 0 && labels[i] < (float)classes)
            mask[(int64_t)labels[i]] = 0; /* the right answer always counts */
    }
}
