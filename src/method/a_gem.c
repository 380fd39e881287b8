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

#include "method/lib/project.h"

typedef struct a_gem {
    int64_t samples;
} a_gem;

static const eg_opt a_gem_opts[] = {
    EG_OPT_INT(a_gem, samples, 32, 1, 1e6, "rows of the memory in a reference gradient"),
    EG_OPT_END,
};

static eg_status a_gem_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->memory = true;
    return EG_OK;
}

enum { A_GEM_ROWS }; /* its draw */

static eg_status a_gem_grad(void *self, eg_client *c)
{
    const a_gem *a = self;
    const float *r; /* [n_params]; NULL while the memory is empty */
    size_t n = c->n_params;
    EG_TRY(eg_client_replay_gradient(c, a->samples, A_GEM_ROWS, &r));
    if (!r)
        return EG_OK;
    double g_r = eg_dot(c->grad, r, n);
    if (g_r < 0)
        eg_project_off(c->grad, r, n, g_r, eg_dot(r, r, n));
    return EG_OK;
}

const eg_method eg_method_a_gem = {
    .component = {"a_gem",
                  "projects gradients that conflict with the client's own memory gradient",
                  sizeof(a_gem), a_gem_opts},
    .setup = a_gem_setup,
    .client = {.grad = a_gem_grad},
};
