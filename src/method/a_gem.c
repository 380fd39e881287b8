/* a_gem.c - averaged episodic memory (Chaudhry et al., 2019, arXiv:1812.00420), on clients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: at every batch r is the gradient of the mean cross entropy of `samples` rows of the
 * client's own memory, at the weights of that moment; a batch gradient g that conflicts with it
 * is projected, g <- g - (g.r / r.r) r when g.r < 0. Server: the usual mean.
 *
 * The memory's rows go through the network in training form, so batch norm's running statistics
 * move once more at every batch, and dropout is on: so it was when the published figures came
 * about.
 */
#include <engram/method.h>

#include "method/project.h"

typedef struct a_gem {
    int64_t samples;
} a_gem;

static const eg_opt a_gem_opts[] = {
    EG_OPT_INT(a_gem, samples, 32, 1, 1e6, "rows of the memory in a reference gradient"),
    EG_OPT_END,
};

/* Where its draws of EG_FOR_REPLAY begin: apart from those of other parts. */
static const uint64_t a_gem_block = 5ull << 60;

/* The memory's gradient, *reference [n_params]; NULL when the memory is empty. */
static eg_status a_gem_look_back(const a_gem *a, eg_client *c, const float **reference)
{
    int64_t n = eg_memory_filled(c->memory);
    float *x, *labels;
    *reference = NULL;
    n = n < a->samples ? n : a->samples;
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_client_rows(c, n, &x, &labels));
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = a_gem_block + (c->step << 32);
    eg_memory_draw(c->memory, &rng, &(eg_memory_rows){.n = n, .x = x, .labels = labels});
    return eg_client_gradient_beside(c, reference);
}

static eg_status a_gem_grad(void *self, eg_client *c)
{
    const float *r;
    size_t n = c->n_params;
    EG_TRY(a_gem_look_back(self, c, &r));
    double g_r = r ? eg_dot(c->grad, r, n) : 0;
    if (g_r >= 0)
        return EG_OK;
    double r_r = eg_dot(r, r, n);
    if (r_r > 0)
        eg_project_off(c->grad, r, n, g_r, r_r);
    return EG_OK;
}

const eg_method eg_method_a_gem = {
    .name = "a_gem",
    .help = "projects gradients that conflict with the client's own memory gradient",
    .size = sizeof(a_gem),
    .opts = a_gem_opts,
    .needs_memory = true,
    .grad = a_gem_grad,
};
