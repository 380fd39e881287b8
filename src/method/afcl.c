/* afcl.c - analytic federated continual learning (Tang et al., 2025, arXiv:2505.12245).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The network's features stay as they are when the run begins, so that it should begin from
 * learned ones (model.start, pretrain). Client: in the first round of each of its stages it
 * sends the sums over its samples of f f^T and f onehot(y)^T, features f upright and as they
 * are (Equation 4); it takes no step. Server: the head is W = (sum f f^T + gamma 1)^-1 sum f
 * onehot(y)^T over all that was ever sent (Equation 6). The paper's recursion carries the
 * inverse from client to client; the sums are the same solution, whatever the order, the split
 * and the number of clients: the ridge regression of all samples at once. A class that nobody
 * has had answers -1, below what one-hot targets bring about.
 *
 * The sums say more about a client's data than its gradient does: with fewer samples than
 * features they can be taken apart into the rows' features.
 */
#include "method/lib/ridge.h"
#include "method/lib/samples.h"

#include "base/base.h"
#include "engine/model/net.h"

#include <engram/method.h>

#include <stdlib.h>
#include <string.h>

typedef struct afcl {
    double gamma;
} afcl;

typedef struct afcl_client {
    afcl is;
    const float *heard; /* [n_clients]: the stages of each that the server has */
} afcl_client;

typedef struct afcl_server {
    afcl is;
    eg_ridge sum;
    float *heard; /* [n_clients] */
    bool fresh;   /* the head is not of this sum yet */
} afcl_server;

static const eg_opt afcl_opts[] = {
    EG_OPT_REAL(afcl, gamma, 1, 1e-9, 1e9, "what holds the head's weights down"),
    EG_OPT_END,
};

enum { AFCL_ROWS = 256 }; /* of a client's samples at once */

static const char afcl_heard[] = "afcl.heard", afcl_stage[] = "afcl.stage";

static eg_status afcl_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->global = true;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "its head is of upright images: leave out train.rotations");
    return in->interval > 1 ? eg_fail(EG_ENOTSUP, "every round ends at the server's head: set "
                                                  "server.interval to 1")
                            : EG_OK;
}

static eg_status afcl_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    afcl_client *a = self;
    (void)exchange;
    return eg_bundle_need(from, afcl_heard, (size_t)eg_scenario_n_clients(c->scenario),
                          &a->heard);
}

/* Nothing is trained: what is sent is of the model it received. */
static eg_status afcl_samples(void *self, eg_client *c)
{
    (void)self;
    c->n_samples = 0;
    return EG_OK;
}

/* Adds n samples, by their features at the model it received. x and f are room for them. */
static eg_status afcl_add(eg_client *c, const eg_sample *samples, int64_t n, float *x, float *f,
                          eg_ridge *sum)
{
    const eg_point at = {(float *)(uintptr_t)c->global, /* only read */
                         (float *)(uintptr_t)c->global_state};
    float labels[AFCL_ROWS];
    eg_client_feed(c, samples, n, x, labels);
    EG_TRY(eg_client_look(c, &at, &(eg_rows){.n = n, .x = x, .labels = labels},
                          &(eg_look){.features = f}));
    return eg_ridge_rows(sum, f, labels, n);
}

static eg_status afcl_sum(eg_client *c, float *x, float *f, eg_ridge *sum)
{
    eg_sample *samples;
    int64_t n;
    EG_TRY(eg_stage_samples(c, c->view.stage, 0, NULL, &samples, &n));
    eg_status s = EG_OK;
    for (int64_t at = 0; at < n && s == EG_OK; at += AFCL_ROWS)
        s = afcl_add(c, samples + at, n - at < AFCL_ROWS ? n - at : AFCL_ROWS, x, f, sum);
    free(samples);
    return s;
}

static eg_status afcl_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const afcl_client *a = self;
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    size_t d = (size_t)eg_net_n_features(c->net), rows = AFCL_ROWS;
    float *x = NULL, *f = NULL;
    eg_ridge sum = {0};
    if (exchange != EG_TRAINING || a->heard[c->id] > (float)c->view.stage)
        return EG_OK;
    eg_status s = eg_ridge_init(&sum, (int64_t)d, spec->classes);
    if (s == EG_OK)
        s = eg_alloc(rows * (size_t)(spec->channels * spec->height * spec->width), sizeof *x,
                     &x);
    if (s == EG_OK)
        s = eg_alloc(rows * d, sizeof *f, &f);
    if (s == EG_OK)
        s = afcl_sum(c, x, f, &sum);
    if (s == EG_OK)
        s = eg_bundle_scalar(to, afcl_stage, (double)c->view.stage);
    if (s == EG_OK)
        s = eg_ridge_put(&sum, "afcl", false, to);
    eg_ridge_fini(&sum);
    free(x);
    free(f);
    return s;
}

static eg_status afcl_recall(afcl_server *a, eg_server *s, const eg_bundle *kept)
{
    size_t n = (size_t)eg_scenario_n_clients(s->scenario);
    const float *heard;
    double fresh;
    EG_TRY(eg_ridge_add(&a->sum, "afcl", true, kept));
    EG_TRY(eg_bundle_need(kept, afcl_heard, n, &heard));
    memcpy(a->heard, heard, n * sizeof *heard);
    a->fresh = eg_bundle_scalar_of(kept, "afcl.fresh", &fresh) && fresh != 0;
    return EG_OK;
}

static eg_status afcl_begin(void *self, eg_server *s)
{
    afcl_server *a = self;
    const eg_bundle *kept;
    EG_TRY(eg_ridge_init(&a->sum, eg_net_n_features(s->net), eg_net_spec_of(s->net)->classes));
    EG_TRY(eg_alloc((size_t)eg_scenario_n_clients(s->scenario), sizeof *a->heard, &a->heard));
    EG_TRY(eg_server_recall(s, "afcl", &kept));
    return kept ? afcl_recall(a, s, kept) : EG_OK;
}

static void afcl_fini(void *self)
{
    afcl_server *a = self;
    eg_ridge_fini(&a->sum);
    free(a->heard);
}

static eg_status afcl_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const afcl_server *a = self;
    return exchange == EG_TRAINING
               ? eg_bundle_add_flat(to, afcl_heard, a->heard,
                                    (size_t)eg_scenario_n_clients(s->scenario))
               : EG_OK;
}

/* Whether an answer has sums: those of a stage that was not heard of before. */
static bool afcl_has(const eg_bundle *from)
{
    double stage;
    return eg_bundle_scalar_of(from, afcl_stage, &stage);
}

static eg_status afcl_accept(void *self, eg_server *s, int exchange, int64_t client,
                             const eg_bundle *from)
{
    const afcl_server *a = self;
    int64_t stage;
    if (exchange != EG_TRAINING || !afcl_has(from))
        return EG_OK;
    EG_TRY(eg_bundle_need_count(from, afcl_stage, eg_scenario_n_stages(s->scenario, client) - 1,
                                &stage));
    if ((float)stage < a->heard[client])
        return eg_fail(EG_EINVAL, "stage %lld was sent before", (long long)stage);
    return eg_ridge_judge(&a->sum, "afcl", from);
}

static eg_status afcl_collect(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    afcl_server *a = self;
    int64_t stage;
    if (exchange != EG_TRAINING || !afcl_has(from))
        return EG_OK;
    EG_TRY(eg_bundle_need_count(from, afcl_stage, eg_scenario_n_stages(s->scenario, client) - 1,
                                &stage));
    a->heard[client] = (float)(stage + 1);
    a->fresh = true;
    return eg_ridge_add(&a->sum, "afcl", false, from);
}

/* Writes w [d, k] into the head: weights [k, d], then biases [k]. */
static void afcl_write(const afcl_server *a, const eg_server *s, const double *w, float *param)
{
    const eg_params *table = eg_net_params(s->net);
    size_t head, side;
    eg_net_heads(s->net, &head, &side);
    float *weight = param + eg_params_at(table, head)->offset;
    float *bias = head + 1 < side ? param + eg_params_at(table, head + 1)->offset : NULL;
    for (int64_t y = 0; y < a->sum.k; y++) {
        for (int64_t j = 0; j < a->sum.d; j++)
            weight[y * a->sum.d + j] = (float)w[j * a->sum.k + y];
        if (bias)
            bias[y] = a->sum.counts[y] > 0 ? 0 : -1;
    }
}

/* What clients trained counts for nothing: the model stays but for its head. Sums that rounding
 * has left without a solution leave the last head. */
static eg_status afcl_refine(void *self, eg_server *s, float *param, float *state)
{
    afcl_server *a = self;
    double *w; /* [d, k] */
    memcpy(param, s->param, s->n_params * sizeof *param);
    if (s->n_state)
        memcpy(state, s->state, s->n_state * sizeof *state);
    if (!a->fresh)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)(a->sum.d * a->sum.k), sizeof *w, &w));
    eg_status solved = eg_ridge_solve(&a->sum, a->is.gamma, w);
    if (solved == EG_OK)
        afcl_write(a, s, w, param);
    free(w);
    a->fresh = false;
    EG_TRY(eg_server_note(s, "afcl.solved", solved == EG_OK));
    return solved == EG_EINVAL ? EG_OK : solved;
}

static eg_status afcl_put(const afcl_server *a, const eg_server *s, eg_bundle *to)
{
    EG_TRY(eg_ridge_put(&a->sum, "afcl", true, to));
    EG_TRY(eg_bundle_scalar(to, "afcl.fresh", a->fresh));
    return eg_bundle_add_flat(to, afcl_heard, a->heard,
                              (size_t)eg_scenario_n_clients(s->scenario));
}

static eg_status afcl_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, afcl_put(self, s, record)));
    return eg_server_keep(s, "afcl", record);
}

const eg_method eg_method_afcl = {
    .component = {"afcl", "frozen features, and the head that joint ridge regression has",
                  sizeof(afcl), afcl_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = afcl_setup,
    .client = {.size = sizeof(afcl_client),
               .download = afcl_download,
               .samples = afcl_samples,
               .answer = afcl_answer},
    .server = {.size = sizeof(afcl_server),
               .fini = afcl_fini,
               .begin = afcl_begin,
               .send = afcl_send,
               .accept = afcl_accept,
               .collect = afcl_collect,
               .refine = afcl_refine,
               .save = afcl_save},
};
