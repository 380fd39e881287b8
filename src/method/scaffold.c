/* scaffold.c - controls against client drift (Karimireddy et al., 2020, arXiv:1910.06378).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client i: every batch gradient gains c - c_i, the server's control less its own. After K
 * batches, from x to y: c_i <- c_i - c + (x - y) / (K lr) (option II); it uploads the change of
 * c_i. Server: c gains these changes, each over the number of all clients; the usual mean.
 */
#include <engram/method.h>

#include <string.h>

typedef struct scaffold_client {
    const float *all, *own; /* [n_params]: c, and c_i, NULL in its first round */
} scaffold_client;

typedef struct scaffold_server {
    float *control; /* [n_params]: c */
} scaffold_server;

static eg_status scaffold_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->uploads[0] = "scaffold.change";
    out->sums = true;
    if (in->interval > 1)
        return eg_fail(EG_ENOTSUP, "its controls are of rounds that begin at the server's "
                                   "model: set server.interval to 1");
    return strcmp(in->train->optimizer, "sgd") == 0 && in->train->momentum == 0
               ? EG_OK
               : eg_fail(EG_ENOTSUP, "its controls are gradients of plain SGD: set "
                                     "optimizer to sgd and optimizer.momentum to 0");
}

static eg_status scaffold_download(void *self, eg_client *c, int exchange,
                                   const eg_bundle *from)
{
    scaffold_client *s = self;
    (void)exchange;
    EG_TRY(eg_bundle_need(from, "scaffold.control", c->n_params, &s->all));
    return eg_client_recall_flat(c, "scaffold", &s->own);
}

static eg_status scaffold_grad(void *self, eg_client *c)
{
    const scaffold_client *s = self;
    for (size_t i = 0; i < c->n_params; i++)
        c->grad[i] += s->all[i] - (s->own ? s->own[i] : 0);
    return EG_OK;
}

static eg_status scaffold_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const scaffold_client *s = self;
    float *change, *next = c->grad; /* which nobody needs any more */
    float scale = c->n_batches ? (float)(1 / ((double)c->n_batches * c->lr)) : 0;
    (void)exchange;
    EG_TRY(eg_bundle_room(to, "scaffold.change", eg_dims((int64_t)c->n_params), &change));
    for (size_t i = 0; i < c->n_params; i++) {
        change[i] = (c->global[i] - c->param[i]) * scale - s->all[i];
        next[i] = (s->own ? s->own[i] : 0) + change[i];
    }
    return eg_client_keep_flat(c, "scaffold", next);
}

static eg_status scaffold_begin(void *self, eg_server *s)
{
    scaffold_server *v = self;
    return eg_server_vector(s, "scaffold", &v->control);
}

static eg_status scaffold_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const scaffold_server *v = self;
    (void)exchange;
    return eg_bundle_add_flat(to, "scaffold.control", v->control, s->n_params);
}

static eg_status scaffold_collect(void *self, eg_server *s, int exchange, int64_t client,
                                  const eg_bundle *from)
{
    scaffold_server *v = self;
    const float *change = eg_bundle_find(from, "scaffold.change", NULL);
    float share = 1 / (float)eg_scenario_n_clients(s->scenario);
    (void)exchange;
    if (client == EG_SERVER) /* it is the mean of these */
        share *= (float)s->n_summed;
    for (size_t i = 0; i < s->n_params; i++)
        v->control[i] += share * change[i];
    return EG_OK;
}

const eg_method eg_method_scaffold = {
    .component = {"scaffold",
                  "corrects every gradient by what the clients' drift from each other", 0,
                  NULL},
    .leaves = EG_LEAVES_VECTORS,
    .setup = scaffold_setup,
    .client = {.size = sizeof(scaffold_client),
               .download = scaffold_download,
               .grad = scaffold_grad,
               .answer = scaffold_answer},
    .server = {.size = sizeof(scaffold_server),
               .begin = scaffold_begin,
               .send = scaffold_send,
               .collect = scaffold_collect},
};
