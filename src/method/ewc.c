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

#include "method/lib/fisher.h"

typedef struct ewc {
    double lambda, gamma;
    int64_t samples;
} ewc;

typedef struct ewc_client {
    ewc is;
    const float *fisher, *anchor; /* [n_params] each; NULL before the first task ends */
} ewc_client;

static const eg_opt ewc_opts[] = {
    EG_OPT_REAL(ewc, lambda, 100, 0, 1e9, "strength; lr * lambda * F must stay below 2"),
    EG_OPT_REAL(ewc, gamma, 1, 0, 1, "what remains of the older tasks' Fisher at a task's end"),
    EG_OPT_INT(ewc, samples, 0, 0, 1e9, "samples of a task its Fisher is taken of; 0: all"),
    EG_OPT_END,
};

static const char ewc_fisher[] = "ewc.fisher", ewc_anchor[] = "ewc.anchor";

static eg_status ewc_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->offers = EG_OFFERS_BOUNDARIES;
    return EG_OK;
}

static eg_status ewc_recall(ewc_client *e, eg_client *c)
{
    const eg_bundle *kept;
    EG_TRY(eg_client_recall(c, "ewc", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, ewc_fisher, c->n_params, &e->fisher));
    return eg_bundle_need(kept, ewc_anchor, c->n_params, &e->anchor);
}

static eg_status ewc_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)exchange, (void)from;
    return ewc_recall(self, c);
}

/* Fills the record: the new Fisher and the new anchor. */
static eg_status ewc_consolidate(const ewc_client *e, eg_client *c, eg_bundle *record)
{
    float *fisher;
    int64_t n_spans;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, c->view.left, &n_spans);
    EG_TRY(eg_bundle_room(record, ewc_fisher, eg_dims((int64_t)c->n_params), &fisher));
    EG_TRY(eg_fisher(c, spans, n_spans, e->is.samples, fisher));
    for (size_t i = 0; e->fisher && i < c->n_params; i++)
        fisher[i] += (float)e->is.gamma * e->fisher[i];
    return eg_bundle_add_flat(record, ewc_anchor, c->param, c->n_params);
}

static eg_status ewc_task(void *self, eg_client *c)
{
    ewc_client *e = self;
    eg_bundle *record;
    if (e->is.lambda <= 0 || c->view.left < 0)
        return EG_OK;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, ewc_consolidate(e, c, record)));
    EG_TRY(eg_client_keep(c, "ewc", record));
    return ewc_recall(e, c);
}

static eg_status ewc_grad(void *self, eg_client *c)
{
    const ewc_client *e = self;
    const float lambda = (float)e->is.lambda;
    if (!e->fisher || lambda <= 0)
        return EG_OK;
    for (size_t i = 0; i < c->n_params; i++)
        c->grad[i] += lambda * e->fisher[i] * (c->param[i] - e->anchor[i]);
    return EG_OK;
}

const eg_method eg_method_ewc = {
    .component = {"ewc",
                  "holds what a client's earlier tasks need, by their Fisher information",
                  sizeof(ewc), ewc_opts},
    .setup = ewc_setup,
    .client = {.size = sizeof(ewc_client),
               .download = ewc_download,
               .task = ewc_task,
               .grad = ewc_grad},
};
