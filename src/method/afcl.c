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
    bool lacks; /* the server lacks its stage */
} afcl_client;

typedef struct afcl_server {
    afcl is;
    eg_ridge_server all;
} afcl_server;

static const eg_opt afcl_opts[] = {
    EG_OPT_REAL(afcl, gamma, 1, 1e-9, 1e9, "what holds the head's weights down"),
    EG_OPT_END,
};

static const char afcl_name[] = "afcl";

static eg_status afcl_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->classes = true;
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
    return eg_ridge_lacks(c, afcl_name, from, &a->lacks);
}

/* Nothing is trained: what is sent is of the model it received. */
static eg_status afcl_samples(void *self, eg_client *c)
{
    (void)self;
    c->n_samples = 0;
    return EG_OK;
}

static eg_status afcl_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const afcl_client *a = self;
    const eg_weights at = {c->global, c->global_state};
    eg_ridge sum = {0};
    if (exchange != EG_TRAINING || !a->lacks)
        return EG_OK;
    eg_status s =
        eg_ridge_init(&sum, eg_net_n_features(c->net), eg_net_spec_of(c->net)->classes);
    if (s == EG_OK)
        s = eg_ridge_stage(&sum, c, &at, NULL, NULL);
    if (s == EG_OK)
        s = eg_ridge_tell(&sum, c, afcl_name, to);
    eg_ridge_fini(&sum);
    return s;
}

static eg_status afcl_begin(void *self, eg_server *s)
{
    afcl_server *a = self;
    return eg_ridge_server_begin(&a->all, afcl_name, eg_net_n_features(s->net), s);
}

static void afcl_fini(void *self)
{
    afcl_server *a = self;
    eg_ridge_server_fini(&a->all);
}

static eg_status afcl_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const afcl_server *a = self;
    return exchange == EG_TRAINING ? eg_ridge_server_send(&a->all, s, to) : EG_OK;
}

static eg_status afcl_accept(void *self, eg_server *s, int exchange, int64_t client,
                             const eg_bundle *from)
{
    const afcl_server *a = self;
    return exchange == EG_TRAINING ? eg_ridge_server_accept(&a->all, s, client, from) : EG_OK;
}

static eg_status afcl_collect(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    afcl_server *a = self;
    return exchange == EG_TRAINING ? eg_ridge_server_collect(&a->all, s, client, from) : EG_OK;
}

/* Writes w [d, k] into the head: weights [k, d], then biases [k]. */
static void afcl_write(const eg_ridge *sum, const eg_server *s, const double *w, float *param)
{
    const eg_params *table = eg_net_params(s->net);
    size_t head, side;
    eg_net_heads(s->net, &head, &side);
    float *weight = param + eg_params_at(table, head)->offset;
    float *bias = head + 1 < side ? param + eg_params_at(table, head + 1)->offset : NULL;
    for (int64_t y = 0; y < sum->k; y++) {
        for (int64_t j = 0; j < sum->d; j++)
            weight[y * sum->d + j] = (float)w[j * sum->k + y];
        if (bias)
            bias[y] = sum->counts[y] > 0 ? 0 : -1;
    }
}

/* What clients trained counts for nothing: the model stays but for its head. Sums that rounding
 * has left without a solution leave the last head. */
static eg_status afcl_refine(void *self, eg_server *s, float *param, float *state)
{
    afcl_server *a = self;
    const eg_ridge *sum = &a->all.sum;
    double *w; /* [d, k] */
    memcpy(param, s->param, s->n_params * sizeof *param);
    if (s->n_state)
        memcpy(state, s->state, s->n_state * sizeof *state);
    if (!a->all.fresh)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)(sum->d * sum->k), sizeof *w, &w));
    eg_status solved = eg_ridge_solve(sum, a->is.gamma, w);
    if (solved == EG_OK)
        afcl_write(sum, s, w, param);
    free(w);
    a->all.fresh = false;
    EG_TRY(eg_server_note(s, "afcl.solved", solved == EG_OK));
    return solved == EG_EINVAL ? EG_OK : solved;
}

static eg_status afcl_save(void *self, eg_server *s)
{
    const afcl_server *a = self;
    return eg_ridge_server_save(&a->all, s);
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
