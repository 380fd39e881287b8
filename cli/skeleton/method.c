/* mine.c - a method of one's own: say here what it does, and whose it is.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each hook below may go; engram/method.h and engram/client.h have all others: memories, rows
 * that are replayed, terms of the loss, vectors in every upload, exchanges and the server's
 * half.
 */
#include <engram/plugin.h>

/* Options first, then whatever the client half keeps during a turn. */
typedef struct mine {
    double pull;
} mine;

static const eg_opt mine_opts[] = {
    EG_OPT_REAL(mine, pull, 0.01, 0, 1000, "strength of the pull towards the global model"),
    EG_OPT_END,
};

/* After the gradient of each batch, before the optimiser: the loss gains
 * pull/2 |param - global|^2. param, global, grad: [n_params] */
static eg_status mine_grad(void *self, eg_client *c)
{
    const mine *o = self;
    for (size_t i = 0; i < c->n_params; i++)
        c->grad[i] += (float)o->pull * (c->param[i] - c->global[i]);
    return EG_OK;
}

static const eg_method method = {
    .component = {"mine", "federated averaging with a pull towards the global model",
                  sizeof(mine), mine_opts},
    .client = {.grad = mine_grad},
};

static const eg_method *const methods[] = {&method, NULL};
EG_PLUGIN(.methods = methods);
