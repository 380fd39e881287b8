/* worker_optimizer.c - a worker's optimiser, and what a client keeps of it between rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/worker.h"

#include <math.h>
#include <stdio.h>

enum { WORKER_MAX_SLOTS = 8 };

eg_status eg_worker_open_optimizer(eg_worker *w)
{
    static const char *const names[] = {"sgd", "adam", "adamw"};
    const eg_train_opts *t = &w->e->train;
    size_t n = eg_params_length(eg_net_params(w->net));
    char value[64];
    EG_TRY(eg_optimizer_new(names[t->optimizer], n, &w->optimizer));
    snprintf(value, sizeof value, "%.17g", t->lr);
    EG_TRY(eg_optimizer_set(w->optimizer, "lr", value));
    snprintf(value, sizeof value, "%.17g", t->weight_decay);
    EG_TRY(eg_optimizer_set(w->optimizer, "weight_decay", value));
    snprintf(value, sizeof value, "%.17g", t->momentum);
    return t->optimizer == 0 ? eg_optimizer_set(w->optimizer, "momentum", value) : EG_OK;
}

bool eg_worker_is_finite(const float *values, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}

/* A state that is not finite is not kept: the client would never come back from it. */
eg_status eg_worker_keep_optimizer(const eg_worker *w, eg_bundle *to)
{
    size_t n = w->client.n_params;
    char name[32];
    if (w->e->train.optimizer_state == 0)
        return EG_OK;
    for (int i = 0; eg_optimizer_slot(w->optimizer, i); i++)
        if (!eg_worker_is_finite(eg_optimizer_slot(w->optimizer, i), n))
            return EG_OK;
    EG_TRY(eg_bundle_scalar(to, "optimizer.steps", (double)eg_optimizer_steps(w->optimizer)));
    for (int i = 0; eg_optimizer_slot(w->optimizer, i); i++) {
        snprintf(name, sizeof name, "optimizer.slot%d", i);
        EG_TRY(eg_bundle_add_flat(to, name, eg_optimizer_slot(w->optimizer, i), n));
    }
    return EG_OK;
}

eg_status eg_worker_begin_optimizer(eg_worker *w, const eg_bundle *kept)
{
    const float *slots[WORKER_MAX_SLOTS] = {0};
    double steps;
    eg_optimizer_reset(w->optimizer);
    if (w->e->train.optimizer_state == 0 || !kept ||
        !eg_bundle_scalar_of(kept, "optimizer.steps", &steps))
        return EG_OK;
    for (int i = 0; eg_optimizer_slot(w->optimizer, i); i++) {
        char name[32];
        size_t n;
        EG_ASSERT(i < WORKER_MAX_SLOTS);
        snprintf(name, sizeof name, "optimizer.slot%d", i);
        slots[i] = eg_bundle_find(kept, name, &n);
        if (!slots[i] || n != w->client.n_params)
            return eg_fail(EG_EFORMAT, "the kept state of the optimiser has another size");
    }
    eg_optimizer_restore(w->optimizer, slots, (int64_t)steps);
    return EG_OK;
}
