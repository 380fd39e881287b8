/* fed_a_gem.c - buffer-based gradient projection (Dai et al., Fed-A-GEM).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: every batch gradient g that conflicts with the reference r is projected,
 * g <- g - (g.r / r.r) r when g.r < 0; r stays the same for the round's batches. After the
 * server has a new model, the client sends the gradient there of `samples` rows of its memory.
 * Server: r is the plain mean of these. No task boundaries are needed.
 *
 * The paper projects at g.r <= 0, its release at g.r < 0: at 0 both leave g as it is. Where
 * they do differ is what the memory is offered; see `variant`.
 *
 * Ablations: what else may become of g (`refinement`), at which angles (`when`), how often
 * (`rate`), how old r may be (`refresh`), and whose models count (`aggregation`).
 */
#include <engram/method.h>

#include "exchange/mean.h"
#include "method/project.h"

#include <math.h>
#include <stdlib.h>

enum { FED_A_GEM_PROJECT, FED_A_GEM_AVERAGE, FED_A_GEM_ROTATE, FED_A_GEM_PROJECT_SCALE };

typedef struct fed_a_gem {
    int variant; /* of "paper|release" */
    int64_t samples, refresh;
    int refinement, when; /* when: of "conflict|always" */
    double rate;
    int aggregation; /* of "mean|cosine" */
    /* client */
    const float *reference; /* borrowed from the download; NULL in the first round */
    double norm;            /* its square */
    /* server */
    eg_mean mean;
    float *global; /* r, once there is one */
} fed_a_gem;

// clang-format off
static const eg_opt fed_a_gem_opts[] = {
    EG_OPT_CHOICE(fed_a_gem, variant, 0,
                  "paper: memory.insert says what the memory is offered; release: each sample once "
                  "a task, as memory.insert: once", "paper|release"),
    EG_OPT_INT(fed_a_gem, samples, 32, 1, 1e6, "rows of the memory in a reference gradient"),
    EG_OPT_INT(fed_a_gem, refresh, 1, 1, 1e6,
               "rounds from one reference to the next, counted as server.interval counts"),
    EG_OPT_CHOICE(fed_a_gem, refinement, FED_A_GEM_PROJECT,
                  "what becomes of a gradient g with the reference r: its part at a right angle to "
                  "r; (g + r) / 2; that sum with g's length; the projection with g's length",
                  "project|average|rotate|project-scale"),
    EG_OPT_CHOICE(fed_a_gem, when, 0, "refined are: gradients past 90 degrees from r, or all",
                  "conflict|always"),
    EG_OPT_REAL(fed_a_gem, rate, 1, 0, 1, "chance that one of these is refined"),
    EG_OPT_CHOICE(fed_a_gem, aggregation, 0,
                  "clients' weights as the server has them, or times how well the client's update "
                  "descends along r: max(0, cosine)", "mean|cosine"),
    EG_OPT_END,
};
// clang-format on

/* Where its draws of EG_FOR_REPLAY begin: apart from those of other parts, and of each other.
 */
static const uint64_t fed_a_gem_rows_block = 4ull << 60, fed_a_gem_rate_block = 6ull << 60;

static const char fed_a_gem_name[] = "fed_a_gem.reference";

static eg_status fed_a_gem_download(void *self, eg_client *c, const eg_bundle *from)
{
    fed_a_gem *a = self;
    size_t n;
    a->reference = eg_bundle_find(from, fed_a_gem_name, &n);
    if (a->reference && n != c->n_params)
        return eg_fail(EG_ESHAPE, "the reference has %zu values, not %zu", n, c->n_params);
    if (a->reference)
        a->norm = eg_dot(a->reference, a->reference, n);
    return EG_OK;
}

static bool fed_a_gem_remembers_once(const void *self)
{
    const fed_a_gem *a = self;
    return a->variant == 1;
}

/* Whether this batch's gradient is among those refined. */
static bool fed_a_gem_is_drawn(const fed_a_gem *a, const eg_client *c)
{
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = fed_a_gem_rate_block + c->step;
    return a->rate >= 1 || eg_rng_unit(&rng) < a->rate;
}

static void fed_a_gem_scale(float *g, size_t n, double by)
{
    for (size_t i = 0; i < n; i++)
        g[i] *= (float)by;
}

/* Scales g to a squared length. What is left of g by rounding alone has no direction: it stays.
 */
static void fed_a_gem_stretch(float *g, size_t n, double squared)
{
    double now = eg_dot(g, g, n);
    if (now > 1e-12 * squared)
        fed_a_gem_scale(g, n, sqrt(squared / now));
}

static void fed_a_gem_refine(const fed_a_gem *a, float *g, size_t n, double g_r)
{
    const float *r = a->reference;
    bool keeps_length =
        a->refinement == FED_A_GEM_ROTATE || a->refinement == FED_A_GEM_PROJECT_SCALE;
    double g_g = keeps_length ? eg_dot(g, g, n) : 0;
    if (a->refinement == FED_A_GEM_PROJECT || a->refinement == FED_A_GEM_PROJECT_SCALE)
        eg_project_off(g, r, n, g_r, a->norm);
    else
        eg_kernels_get()->axpy(g, 1, r, n);
    if (a->refinement == FED_A_GEM_AVERAGE)
        fed_a_gem_scale(g, n, 0.5);
    if (keeps_length)
        fed_a_gem_stretch(g, n, g_g);
}

static eg_status fed_a_gem_grad(void *self, eg_client *c)
{
    const fed_a_gem *a = self;
    if (!a->reference || a->norm <= 0)
        return EG_OK;
    double g_r = eg_dot(c->grad, a->reference, c->n_params);
    if ((g_r < 0 || a->when == 1) && fed_a_gem_is_drawn(a, c))
        fed_a_gem_refine(a, c->grad, c->n_params, g_r);
    return EG_OK;
}

/* Both halves count rounds alike, so a client knows by itself that nothing is asked of it. */
static bool fed_a_gem_is_due(const fed_a_gem *a, int64_t round)
{
    return (round + 1) % a->refresh == 0;
}

static bool fed_a_gem_wants_phase(void *self, eg_server *s)
{
    return fed_a_gem_is_due(self, s->round);
}

/* The gradient of the memory at the new global model. */
static eg_status fed_a_gem_phase(void *self, eg_client *c, eg_bundle *to)
{
    const fed_a_gem *a = self;
    int64_t n = eg_memory_filled(c->memory);
    const float *gradient;
    float *x, *labels;
    n = n < a->samples ? n : a->samples;
    if (n == 0 || !fed_a_gem_is_due(a, c->round))
        return EG_OK;
    EG_TRY(eg_client_rows(c, n, &x, &labels));
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = fed_a_gem_rows_block;
    eg_memory_draw(c->memory, &rng, &(eg_memory_rows){.n = n, .x = x, .labels = labels});
    EG_TRY(eg_client_gradient_beside(c, &gradient));
    return eg_bundle_add_flat(to, fed_a_gem_name, gradient, c->n_params);
}

static eg_status fed_a_gem_begin(void *self, eg_server *s)
{
    fed_a_gem *a = self;
    return eg_mean_init(&a->mean, s->n_params);
}

/* max(0, cos) of the angle between the client's update and descent along r. The update is
 * w_client - w, and r is a gradient, so a client that makes the memories' loss smaller has
 * update.r < 0: the cosine is that with -r. */
static double fed_a_gem_weight(void *self, eg_server *s, int64_t client, const eg_bundle *from)
{
    const fed_a_gem *a = self;
    const float *w = eg_bundle_find(from, "param", NULL);
    double u_r = 0, u_u = 0, r_r = 0;
    (void)client;
    if (a->aggregation == 0 || !a->global || !w)
        return 1;
    for (size_t i = 0; i < s->n_params; i++) {
        double u = (double)w[i] - (double)s->param[i], r = (double)a->global[i];
        u_r += u * r, u_u += u * u, r_r += r * r;
    }
    return u_r < 0 ? -u_r / (sqrt(u_u) * sqrt(r_r)) : 0;
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

/* To clients and into checkpoints. */
static eg_status fed_a_gem_send(void *self, eg_server *s, eg_bundle *to)
{
    const fed_a_gem *a = self;
    return a->global ? eg_bundle_add_flat(to, fed_a_gem_name, a->global, s->n_params) : EG_OK;
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
    .remembers_once = fed_a_gem_remembers_once,
    .download = fed_a_gem_download,
    .grad = fed_a_gem_grad,
    .phase = fed_a_gem_phase,
    .begin = fed_a_gem_begin,
    .send_all = fed_a_gem_send,
    .weight = fed_a_gem_weight,
    .wants_phase = fed_a_gem_wants_phase,
    .phase_collect = fed_a_gem_collect,
    .phase_end = fed_a_gem_end,
    .save = fed_a_gem_send,
    .load = fed_a_gem_load,
    .fini = fed_a_gem_fini,
};
