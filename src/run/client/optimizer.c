/* optimizer.c - the optimiser of a client's training, and what it keeps of it between rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/worker.h"

eg_status eg_worker_open_optimizer(eg_worker *w)
{
    const eg_optimizer_opts *o = &w->e->optimizer;
    return eg_optimizer_make(o->kind, o->options, w->model->n_params, &w->model->optimizer);
}

/* A state that is not finite is not kept: the client would never come back from it. */
eg_status eg_worker_keep_optimizer(eg_worker *w)
{
    const eg_learner *m = w->model;
    eg_bundle *b;
    if (w->e->train.optimizer_state == 0)
        return EG_OK;
    EG_TRY(eg_bundle_new(&b));
    eg_status s = EG_OK;
    bool finite = true;
    for (int i = 0; eg_optimizer_slot(m->optimizer, i); i++)
        finite &= eg_all_finite(eg_optimizer_slot(m->optimizer, i), m->n_params);
    if (finite)
        s = eg_learner_keep_optimizer(m, "optimizer", b);
    EG_TRY(eg_bundle_filled(b, s));
    return eg_client_keep(&w->client, "optimizer", b);
}

eg_status eg_worker_begin_optimizer(eg_worker *w)
{
    const eg_bundle *kept;
    eg_optimizer_reset(w->model->optimizer);
    eg_optimizer_set_rate(w->model->optimizer, w->client.lr);
    if (w->e->train.optimizer_state == 0)
        return EG_OK;
    EG_TRY(eg_client_recall(&w->client, "optimizer", &kept));
    return kept && eg_bundle_n(kept) ? eg_learner_recall_optimizer(w->model, "optimizer", kept)
                                     : EG_OK;
}
