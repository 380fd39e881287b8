/* fed_a_gem.c - buffer-based gradient projection (Dai et al., Fed-A-GEM).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: every batch gradient g that conflicts with the reference r is projected,
 * g <- g - (g.r / r.r) r when g.r < 0; r stays the same for the round's batches. After the
 * server has a new model, the client sends the gradient there of `samples` rows of its memory.
 * Server: r is the plain mean of these. No task boundaries are needed.
 */
#include <engram/method.h>

#include "exchange/mean.h"
#include "tensor/kernel.h"

#include <stdlib.h>

typedef struct fed_a_gem {
    int64_t samples;
    /* client */
    const float *reference; /* borrowed from the download; NULL in the first round */
    double norm;            /* its square */
    /* server */
    eg_mean mean;
    float *global; /* r, once there is one */
} fed_a_gem;

static const eg_opt fed_a_gem_opts[] = {
    EG_OPT_INT(fed_a_gem, samples, 32, 1, 1e6, "rows of the memory in a reference gradient"),
    EG_OPT_END,
};

static const char fed_a_gem_name[] = "fed_a_gem.reference";

static eg_status fed_a_gem_download(void *self, eg_client *c, const eg_bundle *from)
{
    fed_a_gem *a = self;
    size_t n;
    a->reference = eg_bundle_find(from, fed_a_gem_name, &n);
    if (a->reference && n != c->n_params)
        return eg_fail(EG_ESHAPE, "the reference has %zu values, not %zu", n, c->n_params);
    if (a->reference)
        eg_kernels_get()->dot(&a->norm, a->reference, a->reference, n);
    return EG_OK;
}

static eg_status fed_a_gem_grad(void *self, eg_client *c)
{
    const fed_a_gem *a = self;
    double dot;
    if (!a->reference || a->norm <= 0)
        return EG_OK;
    eg_kernels_get()->dot(&dot, c->grad, a->reference, c->n_params);
    if (dot < 0)
        eg_kernels_get()->axpy(c->grad, (float)(-dot / a->norm), a->reference, c->n_params);
    return EG_OK;
}

/* The gradient of the memory at the new global model. */
static eg_status fed_a_gem_phase(void *self, eg_client *c, eg_bundle *to)
{
    const fed_a_gem *a = self;
    int64_t n = eg_memory_filled(c->memory);
    float *x, *labels;
    n = n < a->samples ? n : a->samples;
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_client_rows(c, n, &x, &labels));
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = 1ull << 62; /* apart from the batches' draws */
    eg_memory_draw(c->memory, &rng, &(eg_memory_rows){.n = n, .x = x, .labels = labels});
    EG_TRY(eg_client_gradient(c));
    return eg_bundle_add_flat(to, fed_a_gem_name, c->grad, c->n_params);
}

static eg_status fed_a_gem_begin(void *self, eg_server *s)
{
    fed_a_gem *a = self;
    return eg_mean_init(&a->mean, s->n_params);
}

static eg_status fed_a_gem_collect(void *self, eg_server *s, int64_t client,
                                   const eg_bundle *from)
{
    fed_a_gem *a = self;
    size_t n;
    (void)client;
    const float *gradient = eg_bundle_find(from, fed_a_gem_name, &n);
    return gradient && n == s->n_params ? eg_mean_add(&a->mean, gradient, 1) : EG_OK;
}

static eg_status fed_a_gem_end(void *self, eg_server *s)
{
    fed_a_gem *a = self;
    if (a->mean.weight > 0) {
        if (!a->global)
            EG_TRY(eg_alloc(s->n_params, sizeof *a->global, &a->global));
        EG_TRY(eg_mean_get(&a->mean, a->global));
    }
    eg_mean_reset(&a->mean);
    return EG_OK;
}

static eg_status fed_a_gem_send(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    const fed_a_gem *a = self;
    (void)client;
    return a->global ? eg_bundle_add_flat(to, fed_a_gem_name, a->global, s->n_params) : EG_OK;
}

static eg_status fed_a_gem_save(void *self, eg_server *s, eg_bundle *to)
{
    return fed_a_gem_send(self, s, EG_SERVER, to);
}

static eg_status fed_a_gem_load(void *self, eg_server *s, const eg_bundle *from)
{
    fed_a_gem *a = self;
    size_t n;
    const float *reference = eg_bundle_find(from, fed_a_gem_name, &n);
    if (!reference)
        return EG_OK;
    if (n != s->n_params)
        return eg_fail(EG_EFORMAT, "the checkpoint's reference has another size");
    EG_TRY(eg_mean_add(&a->mean, reference, 1));
    return fed_a_gem_end(self, s);
}

static void fed_a_gem_fini(void *self)
{
    fed_a_gem *a = self;
    eg_mean_fini(&a->mean);
    free(a->global);
}

const eg_method eg_method_fed_a_gem = {
    .name = "fed_a_gem",
    .help = "projects gradients that conflict with the clients' mean memory gradient",
    .size = sizeof(fed_a_gem),
    .opts = fed_a_gem_opts,
    .needs_memory = true,
    .download = fed_a_gem_download,
    .grad = fed_a_gem_grad,
    .phase = fed_a_gem_phase,
    .begin = fed_a_gem_begin,
    .send = fed_a_gem_send,
    .phase_collect = fed_a_gem_collect,
    .phase_end = fed_a_gem_end,
    .save = fed_a_gem_save,
    .load = fed_a_gem_load,
    .fini = fed_a_gem_fini,
};
