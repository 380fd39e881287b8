/* sgd.c - stochastic gradient descent: v = momentum v + (g + weight_decay w); w = w - lr v.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/optim.h>

#include "tensor/kernel.h"

typedef struct sgd {
    double lr, momentum, weight_decay;
} sgd;

static const eg_opt sgd_opts[] = {
    EG_OPT_REAL(sgd, lr, 0.01, 0, 1e3, "step size"),
    EG_OPT_REAL(sgd, momentum, 0, 0, 1, "share of the last step that is kept"),
    EG_OPT_REAL(sgd, weight_decay, 0, 0, 1e3, "pull of every weight towards zero"),
    EG_OPT_END,
};

static void sgd_step(const void *self, float *w, float *const *slots, const float *g, size_t n,
                     int64_t t)
{
    const sgd *s = self;
    (void)t;
    eg_kernels_get()->sgd(w, slots[0], g, (float)s->lr, (float)s->momentum,
                          (float)s->weight_decay, n);
}

const eg_optim eg_optim_sgd = {
    .component = {"sgd", "stochastic gradient descent with momentum", sizeof(sgd), sgd_opts},
    .n_slots = 1,
    .step = sgd_step,
};
