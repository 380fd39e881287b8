/* teacher.c - recalls a frozen model, asks it, and records what it teaches.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/teacher.h"

#include <engram/op.h>

static const float teacher_closed = -1e9f; /* e to this is 0 */

eg_status eg_teacher_recall(eg_client *c, const char *name, eg_learner **out)
{
    const eg_bundle *kept;
    bool found = false;
    EG_TRY(eg_client_recall(c, name, &kept));
    EG_TRY(eg_worker_learner(c->worker, name, eg_net_params(c->net), out));
    if (kept)
        EG_TRY(eg_learner_recall(*out, name, kept, &found));
    *out = found ? *out : NULL;
    return EG_OK;
}

eg_status eg_teacher_tell(eg_client *c, const float *param, const float *state,
                          const char *logits, const char *features)
{
    const eg_weights at = {param, state};
    const eg_look look = {.logits = logits ? eg_plan_input(c->plan, logits) : NULL,
                          .features = features ? eg_plan_input(c->plan, features) : NULL};
    return eg_client_look(c, &at, &(eg_rows){.n = c->batch, .x = c->x, .labels = c->labels},
                          &look);
}

eg_node *eg_teacher_loss(eg_graph *g, eg_node *told, eg_node *own, double temperature,
                         eg_node *open)
{
    eg_node *cold_told = eg_affine(g, told, 1 / temperature, 0);
    eg_node *cold_own = eg_affine(g, own, 1 / temperature, 0);
    if (open) {
        cold_told = eg_add(g, cold_told, open);
        cold_own = eg_add(g, cold_own, open);
    }
    return eg_cross_entropy(g, cold_own, eg_softmax(g, cold_told), NULL);
}

void eg_teacher_open_old(const eg_client *c, float *open)
{
    int64_t fan = eg_train_fan(c->train), n_spans, n;
    const int32_t *classes;
    for (int64_t k = 0; k < c->n_classes; k++)
        open[k] = teacher_closed;
    for (int64_t stage = 0; stage < c->view.stage; stage++) {
        const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n_spans);
        for (int64_t s = 0; s < n_spans; s++) {
            n = eg_scenario_classes(c->scenario, EG_SERVER, spans[s].task, &classes);
            for (int64_t k = 0; k < n * fan; k++)
                open[classes[k / fan] * fan + k % fan] = 0;
        }
    }
}
