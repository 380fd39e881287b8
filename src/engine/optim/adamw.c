/* adamw.c - Adam with decay apart from the gradient (Loshchilov and Hutter, 2019).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/optim/adam.h"

static const eg_opt adamw_opts[] = {ADAM_OPTS(0.01)};

static void adamw_run(const void *self, float *w, float *const *slots, const float *g, size_t n,
                      int64_t t)
{
    const adam *a = self;
    eg_adam_step s = adam_constants(a, t);
    s.decay = (float)(a->lr * a->weight_decay);
    eg_kernels_get()->adamw(w, slots[0], slots[1], g, &s, n);
}

const eg_optim eg_optim_adamw = {
    .component = {"adamw", "Adam; decay scales the weights apart", sizeof(adam), adamw_opts},
    .n_slots = 2,
    .step = adamw_run,
    .apart = true,
};
