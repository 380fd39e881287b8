/* fedcurv.c - FedCurv (Shoham et al., 2019, arXiv:1910.07796): hold what the others need.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client k: after training it uploads the diagonal Fisher F_k of its data of the round at its
 * weights w_k (method/fisher.h), and F_k w_k. In its next round its loss gains
 * lambda sum_{j != k} (w - w_j)^T F_j (w - w_j), over the others of the last round that brought
 * uploads: the gradient is 2 lambda (w sum F_j - sum F_j w_j). Server: sends the sums over all,
 * and the usual mean.
 *
 * A client keeps its last upload and takes it off the sums, if it is in them, which only the
 * server knows: the client may have been absent that round, or its upload left out. So the
 * server needs two vectors, however many clients there are.
 */
#include <engram/method.h>

#include "base/base.h"
#include "method/lib/fisher.h"

#include <stdlib.h>
#include <string.h>

/* sum F_j and sum F_j w_j, or one client's terms of them; [n_params] each, or both NULL. */
typedef struct fedcurv_pair {
    const float *fisher, *pull;
} fedcurv_pair;

typedef struct fedcurv {
    double lambda;
    int64_t samples;
} fedcurv;

typedef struct fedcurv_client {
    fedcurv is;
    fedcurv_pair all; /* from the server */
    fedcurv_pair own; /* its last upload */
    bool is_counted;  /* own is part of all */
} fedcurv_client;

typedef struct fedcurv_server {
    fedcurv is;
    float *fisher, *pull; /* [n_params], the sums; NULL before the first upload */
    int64_t round;        /* whose they are */
    int64_t *counted;     /* [n_counted]: clients that are in them */
    size_t n_counted, cap_counted;
} fedcurv_server;

static const eg_opt fedcurv_opts[] = {
    EG_OPT_REAL(fedcurv, lambda, 1, 0, 1e9, "strength; 2 lr lambda sum F must stay below 2"),
    EG_OPT_INT(fedcurv, samples, 256, 0, 1e9, "samples a Fisher is taken of; 0: all"),
    EG_OPT_END,
};

static const char fedcurv_fisher[] = "fedcurv.fisher", fedcurv_pull[] = "fedcurv.pull",
                  fedcurv_clients[] = "fedcurv.clients";

static eg_status fedcurv_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->sums = true;
    return EG_OK;
}

static eg_status fedcurv_sums(const void *options, const eg_net *net, int exchange,
                              eg_bundle *out)
{
    const fedcurv *f = options;
    eg_shape shape = eg_dims((int64_t)eg_params_length(eg_net_params(net)));
    float *values;
    (void)exchange;
    if (f->lambda <= 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(out, fedcurv_fisher, shape, &values));
    return eg_bundle_room(out, fedcurv_pull, shape, &values);
}

static eg_status fedcurv_find(const eg_bundle *from, size_t n_params, fedcurv_pair *out)
{
    *out = (fedcurv_pair){0};
    if (!eg_bundle_find(from, fedcurv_fisher, NULL) &&
        !eg_bundle_find(from, fedcurv_pull, NULL))
        return EG_OK;
    EG_TRY(eg_bundle_need(from, fedcurv_fisher, n_params, &out->fisher));
    return eg_bundle_need(from, fedcurv_pull, n_params, &out->pull);
}

static eg_status fedcurv_add(eg_bundle *to, fedcurv_pair p, size_t n_params)
{
    if (!p.fisher)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, fedcurv_fisher, p.fisher, n_params));
    return eg_bundle_add_flat(to, fedcurv_pull, p.pull, n_params);
}

static eg_status fedcurv_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    fedcurv_client *f = self;
    const eg_bundle *kept;
    size_t n = 0;
    (void)exchange;
    EG_TRY(eg_client_recall(c, "fedcurv", &kept));
    if (kept)
        EG_TRY(fedcurv_find(kept, c->n_params, &f->own));
    EG_TRY(fedcurv_find(from, c->n_params, &f->all));
    const float *counted = eg_bundle_find(from, fedcurv_clients, &n); /* [n] */
    f->is_counted = false;
    for (size_t i = 0; i < n; i++)
        f->is_counted |= counted[i] == (float)c->id;
    if (f->is_counted && !f->own.fisher)
        return eg_fail(EG_ENOENT, "the server counts a Fisher this client does not have");
    return EG_OK;
}

static eg_status fedcurv_grad(void *self, eg_client *c)
{
    const fedcurv_client *f = self;
    const float twice = (float)(2 * f->is.lambda);
    const fedcurv_pair a = f->all, o = f->own;
    if (!a.fisher || f->is.lambda <= 0)
        return EG_OK;
    if (f->is_counted)
        for (size_t i = 0; i < c->n_params; i++)
            c->grad[i] +=
                twice * (c->param[i] * (a.fisher[i] - o.fisher[i]) - (a.pull[i] - o.pull[i]));
    else
        for (size_t i = 0; i < c->n_params; i++)
            c->grad[i] += twice * (c->param[i] * a.fisher[i] - a.pull[i]);
    return EG_OK;
}

/* What it uploads it also keeps, to take it off the sums. */
static eg_status fedcurv_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const fedcurv *f = self;
    float *fisher, *pull;
    eg_bundle *record;
    (void)exchange;
    if (f->lambda <= 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, fedcurv_fisher, eg_dims((int64_t)c->n_params), &fisher));
    EG_TRY(eg_bundle_room(to, fedcurv_pull, eg_dims((int64_t)c->n_params), &pull));
    EG_TRY(eg_fisher(c, c->view.spans, c->view.n_spans, f->samples, fisher));
    for (size_t i = 0; i < c->n_params; i++)
        pull[i] = fisher[i] * c->param[i];
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record,
                            fedcurv_add(record, (fedcurv_pair){fisher, pull}, c->n_params)));
    return eg_client_keep(c, "fedcurv", record);
}

/* The sums, and who is in them: a client leaves its own term out. */
static eg_status fedcurv_put(const fedcurv_server *f, const eg_server *s, eg_bundle *to)
{
    float *clients;
    if (f->n_counted == 0)
        return EG_OK;
    EG_TRY(fedcurv_add(to, (fedcurv_pair){f->fisher, f->pull}, s->n_params));
    EG_TRY(eg_bundle_room(to, fedcurv_clients, eg_dims((int64_t)f->n_counted), &clients));
    for (size_t i = 0; i < f->n_counted; i++)
        clients[i] = (float)f->counted[i]; /* exact below 2^24 */
    return EG_OK;
}

static eg_status fedcurv_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    (void)exchange;
    return fedcurv_put(self, s, to);
}

/* Makes room for the sums of a round, or empties those of an earlier one. */
static eg_status fedcurv_begin_sums(fedcurv_server *f, const eg_server *s)
{
    if (f->n_counted > 0 && f->round == s->round)
        return EG_OK;
    if (!f->fisher)
        EG_TRY(eg_alloc(s->n_params, sizeof *f->fisher, &f->fisher));
    if (!f->pull)
        EG_TRY(eg_alloc(s->n_params, sizeof *f->pull, &f->pull));
    memset(f->fisher, 0, s->n_params * sizeof *f->fisher);
    memset(f->pull, 0, s->n_params * sizeof *f->pull);
    f->n_counted = 0;
    f->round = s->round;
    return EG_OK;
}

static eg_status fedcurv_count(fedcurv_server *f, int64_t client)
{
    EG_TRY(eg_grow(&f->counted, f->n_counted, &f->cap_counted, sizeof *f->counted));
    f->counted[f->n_counted++] = client;
    return EG_OK;
}

static void fedcurv_sum(fedcurv_server *f, fedcurv_pair p, float times, size_t n_params)
{
    for (size_t i = 0; i < n_params; i++) {
        f->fisher[i] += times * p.fisher[i];
        f->pull[i] += times * p.pull[i];
    }
}

/* A client whose lambda is 0 sends none. */
static eg_status fedcurv_accept(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    fedcurv_pair p;
    (void)self, (void)exchange, (void)client;
    return fedcurv_find(from, s->n_params, &p);
}

static eg_status fedcurv_collect(void *self, eg_server *s, int exchange, int64_t client,
                                 const eg_bundle *from)
{
    fedcurv_server *f = self;
    fedcurv_pair p;
    (void)exchange;
    EG_TRY(fedcurv_find(from, s->n_params, &p));
    if (!p.fisher)
        return EG_OK;
    EG_TRY(fedcurv_begin_sums(f, s));
    if (client != EG_SERVER) {
        fedcurv_sum(f, p, 1, s->n_params);
        return fedcurv_count(f, client);
    }
    fedcurv_sum(f, p, (float)s->n_summed, s->n_params); /* it is the mean of these */
    for (size_t i = 0; i < s->n_summed; i++)
        EG_TRY(fedcurv_count(f, s->summed[i]));
    return EG_OK;
}

static eg_status fedcurv_save(void *self, eg_server *s)
{
    const fedcurv_server *f = self;
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    eg_status status = fedcurv_put(f, s, record);
    if (status == EG_OK)
        status = eg_bundle_scalar(record, "fedcurv.round", (double)f->round);
    EG_TRY(eg_bundle_filled(record, status));
    return eg_server_keep(s, "fedcurv", record);
}

static eg_status fedcurv_begin(void *self, eg_server *s)
{
    fedcurv_server *f = self;
    const eg_bundle *kept;
    fedcurv_pair p;
    const float *clients;
    size_t n;
    EG_TRY(eg_server_recall(s, "fedcurv", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(fedcurv_find(kept, s->n_params, &p));
    if (!p.fisher)
        return EG_OK;
    eg_bundle_find(kept, fedcurv_clients, &n);
    EG_TRY(eg_bundle_need_counts(kept, fedcurv_clients, n, 1 << 24, &clients));
    EG_TRY(fedcurv_begin_sums(f, s));
    fedcurv_sum(f, p, 1, s->n_params);
    EG_TRY(eg_bundle_need_count(kept, "fedcurv.round", INT64_C(1) << 53, &f->round));
    for (size_t i = 0; i < n; i++)
        EG_TRY(fedcurv_count(f, (int64_t)clients[i]));
    return EG_OK;
}

static void fedcurv_fini(void *self)
{
    fedcurv_server *f = self;
    free(f->fisher);
    free(f->pull);
    free(f->counted);
}

const eg_method eg_method_fedcurv = {
    .component =
        {"fedcurv",
         "holds each client to what the others' data need, by their Fisher information",
         sizeof(fedcurv), fedcurv_opts},
    .leaves = EG_LEAVES_VECTORS,
    .setup = fedcurv_setup,
    .sums = fedcurv_sums,
    .client = {.size = sizeof(fedcurv_client),
               .download = fedcurv_download,
               .grad = fedcurv_grad,
               .answer = fedcurv_answer},
    .server = {.size = sizeof(fedcurv_server),
               .fini = fedcurv_fini,
               .begin = fedcurv_begin,
               .send = fedcurv_send,
               .accept = fedcurv_accept,
               .collect = fedcurv_collect,
               .save = fedcurv_save},
};
