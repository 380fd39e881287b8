/* stsa.c - spatial-temporal statistics aggregation (Guan et al., 2025, "STSA").
 * SPDX-License-Identifier: Apache-2.0
 *
 * arXiv:2506.01327. The first task is trained as ever; from then on the network stays as it is.
 * Its features f [d] go through a random layer, phi = max(0, R^T f), R [d, M] of normal numbers
 * with variance 1 / d, the same for all. Client: once per stage, from the end of the first task
 * on, it sends the sums over its samples of phi phi^T and phi onehot(y)^T. Server: over all
 * clients and all stages W = (sum phi phi^T + gamma 1)^-1 sum phi onehot(y)^T. Tests answer
 * with W^T phi once there is a W, before that with the head. A class that nobody has had
 * answers -1.
 *
 * The sums say more about a client's data than its gradient does, as afcl.c says.
 */
#include "method/lib/ridge.h"

#include "base/base.h"

#include <engram/method.h>
#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STSA_SUMS = 1 }; /* its exchange */

typedef struct stsa {
    double gamma;
    int64_t width;
} stsa;

typedef struct stsa_client {
    stsa is;
    bool lacks; /* the server lacks its stage */
} stsa_client;

typedef struct stsa_server {
    stsa is;
    eg_ridge_server all;
    float *weights,
        *bias;  /* [n_classes, M], [n_classes]: of the last sums that had a solution */
    bool ready; /* they are there */
} stsa_server;

/* The random layer. */
typedef struct stsa_layer {
    int64_t d, width;
    float *random; /* [d, M] */
} stsa_layer;

static const eg_opt stsa_opts[] = {
    EG_OPT_REAL(stsa, gamma, 1, 1e-9, 1e9, "what holds the weights down"),
    EG_OPT_INT(stsa, width, 1000, 1, 20000, "outputs of the random layer"),
    EG_OPT_END,
};

static const char stsa_name[] = "stsa";

static eg_status stsa_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->classes = out->global = true;
    out->offers = EG_OFFERS_COMMON_TASKS;
    out->exchanges[0] = (eg_exchange){.name = "sums"};
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "its sums are of upright images: leave out train.rotations");
    return in->interval > 1 ? eg_fail(EG_ENOTSUP, "its network stays as the server has it: set "
                                                  "server.interval to 1")
                            : EG_OK;
}

/* Whether the network is no longer trained. */
static bool stsa_stays(const eg_scenario *s, int64_t round)
{
    return eg_scenario_period(s, round) > 1;
}

static eg_status stsa_layer_init(stsa_layer *l, const stsa *is, const eg_net *net,
                                 uint64_t seed)
{
    eg_rng rng = eg_rng_at(seed, 0, 0, EG_FOR_LAYER);
    *l = (stsa_layer){.d = eg_net_n_features(net), .width = is->width};
    EG_TRY(eg_alloc((size_t)(l->d * l->width), sizeof *l->random, &l->random));
    for (int64_t i = 0; i < l->d * l->width; i++)
        l->random[i] = (float)(eg_rng_normal(&rng) / sqrt((double)l->d));
    return EG_OK;
}

/* --- The client. */

static eg_status stsa_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    stsa_client *a = self;
    return exchange == STSA_SUMS ? eg_ridge_lacks(c, stsa_name, from, &a->lacks) : EG_OK;
}

static eg_status stsa_samples(void *self, eg_client *c)
{
    (void)self;
    if (stsa_stays(c->scenario, c->round))
        c->n_samples = 0;
    return EG_OK;
}

/* phi [n, M] of features f [n, d]. */
static void stsa_map(const void *context, const float *f, int64_t n, float *out)
{
    const stsa_layer *l = context;
    for (int64_t i = 0; i < n; i++) {
        float *row = out + i * l->width;
        memset(row, 0, (size_t)l->width * sizeof *row);
        for (int64_t j = 0; j < l->d; j++)
            for (int64_t k = 0; k < l->width; k++)
                row[k] += f[i * l->d + j] * l->random[j * l->width + k];
        for (int64_t k = 0; k < l->width; k++)
            row[k] = row[k] > 0 ? row[k] : 0;
    }
}

static eg_status stsa_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const stsa_client *a = self;
    stsa_layer layer;
    eg_ridge sum = {0};
    if (exchange != STSA_SUMS || !a->lacks)
        return EG_OK;
    eg_status s = stsa_layer_init(&layer, &a->is, c->net, c->seed);
    if (s == EG_OK)
        s = eg_ridge_init(&sum, a->is.width, eg_net_spec_of(c->net)->classes);
    if (s == EG_OK)
        s = eg_ridge_stage(&sum, c, NULL, stsa_map, &layer);
    if (s == EG_OK)
        s = eg_ridge_tell(&sum, c, stsa_name, to);
    eg_ridge_fini(&sum);
    free(layer.random);
    return s;
}

/* --- The server. */

static eg_status stsa_begin(void *self, eg_server *s)
{
    stsa_server *a = self;
    size_t classes = (size_t)eg_net_spec_of(s->net)->classes;
    EG_TRY(eg_ridge_server_begin(&a->all, stsa_name, a->is.width, s));
    EG_TRY(eg_alloc(classes * (size_t)a->is.width, sizeof *a->weights, &a->weights));
    EG_TRY(eg_alloc(classes, sizeof *a->bias, &a->bias));
    for (size_t y = 0; y < classes; y++)
        a->all.fresh |= a->all.sum.counts[y] > 0; /* it is solved anew where a run goes on */
    return EG_OK;
}

static void stsa_fini(void *self)
{
    stsa_server *a = self;
    eg_ridge_server_fini(&a->all);
    free(a->weights);
    free(a->bias);
}

static bool stsa_wants(void *self, eg_server *s, int exchange)
{
    (void)self;
    return exchange != STSA_SUMS || stsa_stays(s->scenario, s->round) ||
           eg_scenario_task_ends(s->scenario, s->round);
}

static eg_status stsa_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const stsa_server *a = self;
    return exchange == STSA_SUMS ? eg_ridge_server_send(&a->all, s, to) : EG_OK;
}

static eg_status stsa_accept(void *self, eg_server *s, int exchange, int64_t client,
                             const eg_bundle *from)
{
    const stsa_server *a = self;
    return exchange == STSA_SUMS ? eg_ridge_server_accept(&a->all, s, client, from) : EG_OK;
}

static eg_status stsa_collect(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    stsa_server *a = self;
    return exchange == STSA_SUMS ? eg_ridge_server_collect(&a->all, s, client, from) : EG_OK;
}

static eg_status stsa_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self;
    if (!stsa_stays(s->scenario, s->round))
        return EG_OK;
    memcpy(param, s->param, s->n_params * sizeof *param);
    if (s->n_state)
        memcpy(state, s->state, s->n_state * sizeof *state);
    return EG_OK;
}

/* Solves for what was added. Sums that rounding has left without a solution leave the last. */
static eg_status stsa_solve(stsa_server *a)
{
    const eg_ridge *sum = &a->all.sum;
    double *w; /* [M, n_classes] */
    EG_TRY(eg_alloc((size_t)(sum->d * sum->k), sizeof *w, &w));
    eg_status s = eg_ridge_solve(sum, a->is.gamma, w);
    for (int64_t y = 0; s == EG_OK && y < sum->k; y++) {
        for (int64_t j = 0; j < sum->d; j++)
            a->weights[y * sum->d + j] = (float)w[j * sum->k + y];
        a->bias[y] = sum->counts[y] > 0 ? 0 : -1;
    }
    free(w);
    a->ready |= s == EG_OK;
    a->all.fresh = false;
    return s == EG_EINVAL ? EG_OK : s;
}

static eg_status stsa_put(const stsa_server *a, const stsa_layer *l, int64_t classes,
                          eg_bundle *to)
{
    const float ready = 1;
    EG_TRY(eg_bundle_add(to, "stsa.random", eg_dims(l->d, l->width), l->random));
    EG_TRY(eg_bundle_add(to, "stsa.weights", eg_dims(classes, l->width), a->weights));
    EG_TRY(eg_bundle_add_flat(to, "stsa.bias", a->bias, (size_t)classes));
    return eg_bundle_add_flat(to, "stsa.ready", &ready, 1);
}

static eg_status stsa_know(void *self, eg_server *s, eg_bundle *to)
{
    stsa_server *a = self;
    stsa_layer layer;
    if (a->all.fresh)
        EG_TRY(stsa_solve(a));
    if (!a->ready)
        return EG_OK;
    eg_status status = stsa_layer_init(&layer, &a->is, s->net, s->seed);
    if (status == EG_OK)
        status = stsa_put(a, &layer, a->all.sum.k, to);
    free(layer.random);
    return status;
}

static eg_status stsa_save(void *self, eg_server *s)
{
    const stsa_server *a = self;
    return eg_ridge_server_save(&a->all, s);
}

/* --- Tests. */

/* Nothing is known before the first sums: the head answers. */
static eg_status stsa_declare(const void *options, const eg_net *net, eg_bundle *out)
{
    const stsa *is = options;
    int64_t d = eg_net_n_features(net), classes = eg_net_spec_of(net)->classes;
    float *zeros;
    EG_TRY(eg_bundle_room(out, "stsa.random", eg_dims(d, is->width), &zeros));
    EG_TRY(eg_bundle_room(out, "stsa.weights", eg_dims(classes, is->width), &zeros));
    EG_TRY(eg_bundle_room(out, "stsa.bias", eg_dims(classes), &zeros));
    return eg_bundle_room(out, "stsa.ready", eg_dims(1), &zeros);
}

static eg_node *stsa_answers(const void *options, const eg_net *net, eg_graph *g,
                             const eg_asked *in)
{
    (void)options, (void)net;
    eg_node *phi = eg_relu(g, eg_product(g, in->features, in->known[0], false, false));
    eg_node *solved = eg_linear(g, phi, in->known[1], in->known[2]);
    eg_node *ready = eg_reshape(g, in->known[3], eg_dims(1, 1));
    return eg_add(g, in->outputs, eg_mul(g, eg_sub(g, solved, in->outputs), ready));
}

const eg_method eg_method_stsa = {
    .component = {"stsa", "one trained task, then ridge regression on random features",
                  sizeof(stsa), stsa_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = stsa_setup,
    .know = stsa_declare,
    .answers = stsa_answers,
    .client = {.size = sizeof(stsa_client),
               .download = stsa_download,
               .samples = stsa_samples,
               .answer = stsa_answer},
    .server = {.size = sizeof(stsa_server),
               .fini = stsa_fini,
               .begin = stsa_begin,
               .wants = stsa_wants,
               .send = stsa_send,
               .accept = stsa_accept,
               .collect = stsa_collect,
               .refine = stsa_refine,
               .know = stsa_know,
               .save = stsa_save},
};
