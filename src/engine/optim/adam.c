/* adam.c - Adam (Kingma and Ba, 2015) with L2 decay added to the gradient, as PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/optim/adam.h"

static const eg_opt adam_opts[] = {ADAM_OPTS(0)};

static void adam_run(const void *self, float *w, float *const *slots, const float *g, size_t n,
                     int64_t t)
{
    const adam *a = self;
    eg_adam_step s = adam_constants(a, t);
    s.decay = (float)a->weight_decay;
    eg_kernels_get()->adam(w, slots[0], slots[1], g, &s, n);
}

const eg_optim eg_optim_adam = {
    .component = {"adam", "Adam; decay is part of the gradient", sizeof(adam), adam_opts},
    .n_slots = 2,
    .step = adam_run,
    .apart = true,
};
