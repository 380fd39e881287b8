/* ewc.c - elastic weight consolidation (Kirkpatrick et al., 2017, arXiv:1612.00796), online.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains lambda/2 sum_i F_i (w_i - a_i)^2. When a task ends for the client, a
 * becomes the model it has then and F <- gamma F + the diagonal Fisher there of its own samples
 * of that task (method/fisher.h). Gamma 1 sums over the tasks as the paper does, but around the
 * newest anchor only (Schwarz et al., 2018, arXiv:1805.06370). Server: the usual mean.
 *
 * A client learns of the end when its next task begins, so the anchor is the model it receives
 * then, not what it trained itself: the global model is the federation's answer to the task, it
 * is the same point for all, and the mean of the clients' penalties is then the penalty with
 * the mean of their Fishers, as if their samples were pooled. Anchors at the clients' own
 * weights would pull them apart. A client that was away meanwhile anchors at a later model,
 * that may have moved on. Clients that keep their own models (no global one) anchor at these.
 */
#include <engram/method.h>

#include "base/base.h"
#include "method/fisher.h"

#include <stdlib.h>
#include <string.h>

typedef struct ewc {
    double lambda, gamma;
    int64_t samples;
    const float *fisher, *anchor; /* [n_params] each; NULL before the first task ends */
    float *own;                   /* [2, n_params]: both, if they are of this turn */
} ewc;

static const eg_opt ewc_opts[] = {
    EG_OPT_REAL(ewc, lambda, 100, 0, 1e9, "strength; lr * lambda * F must stay below 2"),
    EG_OPT_REAL(ewc, gamma, 1, 0, 1, "what remains of the older tasks' Fisher at a task's end"),
    EG_OPT_INT(ewc, samples, 0, 0, 1e9, "samples of a task its Fisher is taken of; 0: all"),
    EG_OPT_END,
};

static const char ewc_fisher[] = "ewc.fisher", ewc_anchor[] = "ewc.anchor";

static eg_status ewc_recall(void *self, eg_client *c, const eg_bundle *from)
{
    ewc *e = self;
    size_t n, m;
    e->fisher = eg_bundle_find(from, ewc_fisher, &n); /* borrowed for the turn */
    e->anchor = eg_bundle_find(from, ewc_anchor, &m);
    if (e->fisher && (n != c->n_params || m != c->n_params))
        return eg_fail(EG_ESHAPE, "a Fisher of %zu values, not %zu", n, c->n_params);
    return EG_OK;
}

static eg_status ewc_task_end(void *self, eg_client *c)
{
    ewc *e = self;
    int64_t n_spans;
    if (e->lambda <= 0)
        return EG_OK;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, c->view.left, &n_spans);
    EG_TRY(eg_alloc(2 * c->n_params, sizeof *e->own, &e->own));
    EG_TRY(eg_fisher(c, spans, n_spans, e->samples, e->own));
    for (size_t i = 0; e->fisher && i < c->n_params; i++)
        e->own[i] += (float)e->gamma * e->fisher[i];
    memcpy(e->own + c->n_params, c->param, c->n_params * sizeof *e->own);
    e->fisher = e->own;
    e->anchor = e->own + c->n_params;
    return EG_OK;
}

static eg_status ewc_grad(void *self, eg_client *c)
{
    const ewc *e = self;
    const float lambda = (float)e->lambda;
    if (!e->fisher || lambda <= 0)
        return EG_OK;
    for (size_t i = 0; i < c->n_params; i++)
        c->grad[i] += lambda * e->fisher[i] * (c->param[i] - e->anchor[i]);
    return EG_OK;
}

static eg_status ewc_keep(void *self, eg_client *c, eg_bundle *to)
{
    const ewc *e = self;
    if (!e->fisher)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, ewc_fisher, e->fisher, c->n_params));
    return eg_bundle_add_flat(to, ewc_anchor, e->anchor, c->n_params);
}

static void ewc_fini(void *self)
{
    ewc *e = self;
    free(e->own);
}

const eg_method eg_method_ewc = {
    .name = "ewc",
    .help = "holds what a client's earlier tasks need, by their Fisher information",
    .size = sizeof(ewc),
    .opts = ewc_opts,
    .needs = EG_OFFERS_BOUNDARIES,
    .grad = ewc_grad,
    .task_end = ewc_task_end,
    .keep = ewc_keep,
    .recall = ewc_recall,
    .fini = ewc_fini,
};
