/* fed_a_gem.c - buffer-based gradient projection (Dai et al., Fed-A-GEM).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: every batch gradient g that conflicts with the reference r is projected,
 * g <- g - (g.r / r.r) r when g.r < 0; r stays the same for the round's batches. After the
 * server has a new model, the client sends the gradient there of `samples` rows of its memory,
 * also when it had no data to train on. Server: r is the plain mean of these. No task
 * boundaries are needed.
 *
 * The paper projects at g.r <= 0, its release at g.r < 0: at 0 both leave g as it is. Where
 * they do differ is what the memory is offered; see `variant`.
 *
 * Ablations: what else may become of g (`refinement`), at which angles (`when`), how often
 * (`rate`), how old r may be (`refresh`), and whose models count (`aggregation`).
 */
#include <engram/method.h>

#include "base/base.h"
#include "base/real.h"
#include "method/lib/project.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FED_A_GEM_PROJECT, FED_A_GEM_AVERAGE, FED_A_GEM_ROTATE, FED_A_GEM_PROJECT_SCALE };
enum { FED_A_GEM_MEAN, FED_A_GEM_COSINE, FED_A_GEM_SOFTMAX };

typedef struct fed_a_gem {
    int variant; /* of "paper|release" */
    int64_t samples, refresh;
    int refinement, when; /* when: of "conflict|always" */
    double rate;
    int aggregation; /* of "mean|cosine|softmax" */
} fed_a_gem;

typedef struct fed_a_gem_client {
    fed_a_gem is;
    const float *reference; /* borrowed from the download; NULL in the first round */
    double norm;            /* its square */
    int64_t n, n_refined;   /* gradients of this turn that met it, and those refined */
} fed_a_gem_client;

typedef struct fed_a_gem_server {
    fed_a_gem is;
    float *reference; /* [n_params]; NULL until there is one */
} fed_a_gem_server;

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
    EG_OPT_CHOICE(fed_a_gem, aggregation, FED_A_GEM_MEAN,
                  "clients' weights as the server has them, or times how well the client's update "
                  "descends along r: max(0, cosine), or exp(cosine), which leaves nobody out",
                  "mean|cosine|softmax"),
    EG_OPT_END,
};
// clang-format on

enum { FED_A_GEM_REFERENCE = 1 };          /* its exchange */
enum { FED_A_GEM_ROWS, FED_A_GEM_CHANCE }; /* its draws */

static const char fed_a_gem_name[] = "fed_a_gem.reference";

static eg_status fed_a_gem_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const fed_a_gem *a = options;
    (void)in;
    out->sums = a->aggregation == FED_A_GEM_MEAN; /* else it weighs each client's update */
    out->late = out->sums;
    out->memory = true;
    out->insert_once = a->variant == 1;
    /* A client whose stream is over still has a memory, and the paper asks all of them. */
    out->exchanges[0] = (eg_exchange){.name = "reference", .sum = true, .everyone = true};
    return EG_OK;
}

static eg_status fed_a_gem_sums(const void *options, const eg_net *net, int exchange,
                                eg_bundle *out)
{
    float *values;
    (void)options;
    return exchange == FED_A_GEM_REFERENCE
               ? eg_bundle_room(out, fed_a_gem_name,
                                eg_dims((int64_t)eg_params_length(eg_net_params(net))), &values)
               : EG_OK;
}

static eg_status fed_a_gem_download(void *self, eg_client *c, int exchange,
                                    const eg_bundle *from)
{
    fed_a_gem_client *a = self;
    size_t n;
    (void)exchange;
    a->reference = eg_bundle_find(from, fed_a_gem_name, &n);
    if (a->reference && n != c->n_params)
        return eg_fail(EG_ESHAPE, "the reference has %zu values, not %zu", n, c->n_params);
    if (a->reference)
        a->norm = eg_dot(a->reference, a->reference, n);
    return EG_OK;
}

/* Whether this batch's gradient is among those refined. */
static bool fed_a_gem_is_drawn(const fed_a_gem *a, const eg_client *c)
{
    eg_rng rng = eg_client_stream(c, FED_A_GEM_CHANCE);
    return eg_rng_unit(&rng) < a->rate; /* which is below 1 */
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

static void fed_a_gem_refine(const fed_a_gem_client *a, float *g, size_t n, double g_r)
{
    const float *r = a->reference;
    int how = a->is.refinement;
    bool keeps_length = how == FED_A_GEM_ROTATE || how == FED_A_GEM_PROJECT_SCALE;
    double g_g = keeps_length ? eg_dot(g, g, n) : 0;
    if (how == FED_A_GEM_PROJECT || how == FED_A_GEM_PROJECT_SCALE)
        eg_project_off(g, r, n, g_r, a->norm);
    else
        eg_add_scaled(g, 1, r, n);
    if (how == FED_A_GEM_AVERAGE)
        fed_a_gem_scale(g, n, 0.5);
    if (keeps_length)
        fed_a_gem_stretch(g, n, g_g);
}

static eg_status fed_a_gem_grad(void *self, eg_client *c)
{
    fed_a_gem_client *a = self;
    if (!a->reference || a->norm <= 0)
        return EG_OK;
    double g_r = eg_dot(c->grad, a->reference, c->n_params);
    a->n++;
    if ((g_r >= 0 && a->is.when == 0) || !fed_a_gem_is_drawn(&a->is, c))
        return EG_OK;
    fed_a_gem_refine(a, c->grad, c->n_params, g_r);
    a->n_refined++;
    return EG_OK;
}

/* Where there was a reference. */
static eg_status fed_a_gem_trained(void *self, eg_client *c)
{
    const fed_a_gem_client *a = self;
    return a->n > 0
               ? eg_client_note(c, "fed_a_gem.refined", (double)a->n_refined / (double)a->n)
               : EG_OK;
}

/* The gradient of the memory at the new global model. */
static eg_status fed_a_gem_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const fed_a_gem *a = self;
    const float *gradient;
    if (exchange != FED_A_GEM_REFERENCE)
        return EG_OK;
    EG_TRY(eg_client_replay_gradient(c, a->samples, FED_A_GEM_ROWS, &gradient));
    return gradient ? eg_bundle_add_flat(to, fed_a_gem_name, gradient, c->n_params) : EG_OK;
}

static bool fed_a_gem_wants(void *self, eg_server *s, int exchange)
{
    const fed_a_gem *a = self;
    return exchange != FED_A_GEM_REFERENCE || (s->round + 1) % a->refresh == 0;
}

/* A client with an empty memory sends nothing. */
static eg_status fed_a_gem_accept(void *self, eg_server *s, int exchange, int64_t client,
                                  const eg_bundle *from)
{
    const float *gradient;
    (void)self, (void)client;
    if (exchange != FED_A_GEM_REFERENCE || eg_bundle_n(from) == 0)
        return EG_OK;
    return eg_server_flat(s, from, fed_a_gem_name, &gradient);
}

/* The cosine of the angle between the client's update and descent along r. The update is
 * w_client - w, and r is a gradient, so a client that makes the memories' loss smaller has
 * update.r < 0: the cosine is that with -r. 0 where either has no direction. */
static double fed_a_gem_cosine(const eg_server *s, const float *w, const float *reference)
{
    double u_r = 0, u_u = 0, r_r = 0;
    for (size_t i = 0; i < s->n_params; i++) {
        double u = (double)w[i] - (double)s->param[i], r = (double)reference[i];
        u_r += u * r, u_u += u * u, r_r += r * r;
    }
    return u_r != 0 ? -u_r / (sqrt(u_u) * sqrt(r_r)) : 0;
}

static double fed_a_gem_weight(void *self, eg_server *s, int64_t client, const eg_bundle *from)
{
    const fed_a_gem_server *a = self;
    const float *w = eg_bundle_find(from, "param", NULL);
    (void)client;
    if (a->is.aggregation == FED_A_GEM_MEAN || !a->reference || !w)
        return 1;
    double cosine = fed_a_gem_cosine(s, w, a->reference);
    return a->is.aggregation == FED_A_GEM_SOFTMAX ? eg_real_exp(cosine) : fmax(0, cosine);
}

/* Takes the reference from what a bundle holds: the mean of the answers, or what was kept. */
static eg_status fed_a_gem_take(fed_a_gem_server *a, const eg_server *s, const eg_bundle *from)
{
    const float *reference;
    EG_TRY(eg_server_flat(s, from, fed_a_gem_name, &reference));
    if (!a->reference)
        EG_TRY(eg_alloc(s->n_params, sizeof *a->reference, &a->reference));
    memcpy(a->reference, reference, s->n_params * sizeof *reference);
    return EG_OK;
}

static eg_status fed_a_gem_collect(void *self, eg_server *s, int exchange, int64_t client,
                                   const eg_bundle *from)
{
    (void)client;
    return exchange == FED_A_GEM_REFERENCE ? fed_a_gem_take(self, s, from) : EG_OK;
}

static eg_status fed_a_gem_put(const fed_a_gem_server *a, const eg_server *s, eg_bundle *to)
{
    return a->reference ? eg_bundle_add_flat(to, fed_a_gem_name, a->reference, s->n_params)
                        : EG_OK;
}

static eg_status fed_a_gem_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    return exchange == EG_TRAINING ? fed_a_gem_put(self, s, to) : EG_OK;
}

static eg_status fed_a_gem_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, fed_a_gem_put(self, s, record)));
    return eg_server_keep(s, "fed_a_gem", record);
}

static eg_status fed_a_gem_begin(void *self, eg_server *s)
{
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, "fed_a_gem", &kept));
    return kept && eg_bundle_n(kept) > 0 ? fed_a_gem_take(self, s, kept) : EG_OK;
}

static void fed_a_gem_fini(void *self)
{
    fed_a_gem_server *a = self;
    free(a->reference);
}

const eg_method eg_method_fed_a_gem = {
    .component = {"fed_a_gem",
                  "projects gradients that conflict with the clients' mean memory gradient",
                  sizeof(fed_a_gem), fed_a_gem_opts},
    .leaves = EG_LEAVES_VECTORS,
    .setup = fed_a_gem_setup,
    .sums = fed_a_gem_sums,
    .client = {.size = sizeof(fed_a_gem_client),
               .download = fed_a_gem_download,
               .grad = fed_a_gem_grad,
               .trained = fed_a_gem_trained,
               .answer = fed_a_gem_answer},
    .server = {.size = sizeof(fed_a_gem_server),
               .fini = fed_a_gem_fini,
               .begin = fed_a_gem_begin,
               .wants = fed_a_gem_wants,
               .send = fed_a_gem_send,
               .accept = fed_a_gem_accept,
               .weight = fed_a_gem_weight,
               .collect = fed_a_gem_collect,
               .save = fed_a_gem_save},
};
