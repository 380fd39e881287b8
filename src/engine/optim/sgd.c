/* sgd.c - stochastic gradient descent: v = momentum v + (g + weight_decay w); w = w - lr v.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nesterov's form looks one step ahead, as PyTorch writes it: w = w - lr (g + weight_decay w +
 * momentum v) with the new v.
 */
#include <engram/optim.h>

#include "engine/graph/kernel.h"

typedef struct sgd {
    double lr, momentum, weight_decay;
    bool nesterov;
} sgd;

static const eg_opt sgd_opts[] = {
    EG_OPT_REAL(sgd, lr, 0.01, 0, 1e3, "step size"),
    EG_OPT_REAL(sgd, momentum, 0, 0, 1, "share of the last step that is kept"),
    EG_OPT_REAL(sgd, weight_decay, 0, 0, 1e3, "pull of every weight towards zero"),
    EG_OPT_BOOL(sgd, nesterov, false, "the gradient is taken one step of momentum ahead"),
    EG_OPT_END,
};

static eg_status sgd_check(const void *self)
{
    const sgd *s = self;
    return s->nesterov && s->momentum == 0
               ? eg_fail(EG_EINVAL, "nesterov needs a momentum above 0")
               : EG_OK;
}

static void sgd_step(const void *self, float *w, float *const *slots, const float *g, size_t n,
                     int64_t t)
{
    const sgd *s = self;
    (void)t;
    float lr = (float)s->lr, momentum = (float)s->momentum, decay = (float)s->weight_decay;
    if (s->nesterov)
        eg_kernels_get()->nesterov(w, slots[0], g, lr, momentum, decay, n);
    else
        eg_kernels_get()->sgd(w, slots[0], g, lr, momentum, decay, n);
}

const eg_optim eg_optim_sgd = {
    .component = {"sgd", "stochastic gradient descent with momentum", sizeof(sgd), sgd_opts},
    .check = sgd_check,
    .n_slots = 1,
    .step = sgd_step,
    .apart = true,
};
