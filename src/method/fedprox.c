/* fedprox.c - holds each client near the global model (Li et al., 2020, arXiv:1812.06127).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains mu/2 |w - w_global|^2. Server: the usual mean.
 */
#include <engram/method.h>

typedef struct fedprox {
    double mu;
} fedprox;

static const eg_opt fedprox_opts[] = {
    EG_OPT_REAL(fedprox, mu, 0.01, 0, 1e3, "strength of the pull"),
    EG_OPT_END,
};

static eg_status fedprox_grad(void *self, eg_client *c)
{
    const fedprox *p = self;
    for (size_t i = 0; p->mu > 0 && c->global && i < c->n_params; i++)
        c->grad[i] += (float)p->mu * (c->param[i] - c->global[i]);
    return EG_OK;
}

const eg_method eg_method_fedprox = {
    .component = {"fedprox", "federated averaging with a proximal term", sizeof(fedprox),
                  fedprox_opts},
    .client = {.grad = fedprox_grad},
};
