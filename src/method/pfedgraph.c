/* pfedgraph.c - a graph of who learns from whom (Ye et al., 2023, ICML, "pFedGraph").
 * SPDX-License-Identifier: Apache-2.0
 *
 * Server: client i has a personal model, sum_j x_j theta_j over this round's uploads. Its
 * weights x, which are positive and add up to 1, minimise alpha |x|^2 + (d - 2 alpha p).x: p
 * are the shares of the samples, d_j = -cos(theta_i - theta_0, theta_j - theta_0), theta_0 the
 * run's first model, and models that are nearly alike (a cosine above 0.9) count as equal. That
 * is the point of the simplex nearest to p - d / (2 alpha). A client that is away keeps its
 * personal model.
 * Client: starts from its personal model. The loss gains -lambda <c_i, theta> / |theta|, where
 * c_i = sum_j x_j theta_j / |theta_j|: its direction stays with those it learns from. The
 * released program adds it with the other sign (`sign`).
 */
#include <engram/method.h>

#include "base/base.h"
#include "method/lib/project.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PFEDGRAPH_START "pfedgraph.start"
#define PFEDGRAPH_PULL  "pfedgraph.pull"
#define PFEDGRAPH_PARAM "pfedgraph.param"
#define PFEDGRAPH_STATE "pfedgraph.state"

typedef struct pfedgraph {
    double alpha, lambda;
    int sign; /* of "minus|plus" */
} pfedgraph;

typedef struct pfedgraph_client {
    pfedgraph is;
    const float *pull; /* [n_params]: c_i; NULL in its first round */
} pfedgraph_client;

/* An upload of this round. */
typedef struct pfedgraph_upload {
    int64_t client;
    double samples, length;       /* |theta| */
    float *param, *state, *moved; /* theta, statistics, theta - theta_0 */
} pfedgraph_upload;

typedef struct pfedgraph_server {
    pfedgraph is;
    float *start; /* [n_params]: theta_0 */
    pfedgraph_upload *uploads;
    size_t n, cap;
} pfedgraph_server;

// clang-format off
static const eg_opt pfedgraph_opts[] = {
    EG_OPT_REAL(pfedgraph, alpha, 0.8, 1e-6, 1e6, "weight of the samples' shares against likeness"),
    EG_OPT_REAL(pfedgraph, lambda, 0.01, 0, 1e6, "pull towards the direction of those it learns from"),
    EG_OPT_CHOICE(pfedgraph, sign, 0, "minus: towards them, as its paper means it; plus: away, as it was released",
                  "minus|plus"),
    EG_OPT_END,
};
// clang-format on

static eg_status pfedgraph_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->global = true;
    return EG_OK;
}

static eg_status pfedgraph_download(void *self, eg_client *c, int exchange,
                                    const eg_bundle *from)
{
    pfedgraph_client *p = self;
    (void)exchange, (void)c;
    p->pull = eg_bundle_find(from, PFEDGRAPH_PULL, NULL);
    return EG_OK;
}

/* The gradient of <c, theta> / |theta| is c / |theta| - <c, theta> theta / |theta|^3. */
static eg_status pfedgraph_grad(void *self, eg_client *c)
{
    const pfedgraph_client *p = self;
    const eg_kernels *k = eg_kernels_get();
    if (!p->pull || p->is.lambda <= 0)
        return EG_OK;
    double length = sqrt(eg_dot(c->param, c->param, c->n_params));
    double along = eg_dot(p->pull, c->param, c->n_params);
    double factor = p->is.sign == 0 ? -p->is.lambda : p->is.lambda;
    if (length <= 0)
        return EG_OK;
    k->axpy(c->grad, (float)(factor / length), p->pull, c->n_params);
    k->axpy(c->grad, (float)(-factor * along / (length * length * length)), c->param,
            c->n_params);
    return EG_OK;
}

static void pfedgraph_clear(pfedgraph_server *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->uploads[i].param);
        free(p->uploads[i].state);
        free(p->uploads[i].moved);
    }
    p->n = 0;
}

static void pfedgraph_fini(void *self)
{
    pfedgraph_server *p = self;
    pfedgraph_clear(p);
    free(p->uploads);
}

typedef struct pfedgraph_name {
    char text[64];
} pfedgraph_name;

static pfedgraph_name pfedgraph_personal(int64_t client)
{
    pfedgraph_name name;
    snprintf(name.text, sizeof name.text, "pfedgraph.personal.%lld", (long long)client);
    return name;
}

/* What the server keeps of a client. */
typedef struct pfedgraph_kept {
    const float *param, *state, *pull; /* its personal model; c_i */
} pfedgraph_kept;

/* *found: it has a personal model. */
static eg_status pfedgraph_recall(eg_server *s, int64_t client, pfedgraph_kept *out,
                                  bool *found)
{
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, pfedgraph_personal(client).text, &kept));
    *found = kept != NULL;
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, PFEDGRAPH_PARAM, s->n_params, &out->param));
    EG_TRY(eg_bundle_need(kept, PFEDGRAPH_PULL, s->n_params, &out->pull));
    return s->n_state ? eg_bundle_need(kept, PFEDGRAPH_STATE, s->n_state, &out->state) : EG_OK;
}

static eg_status pfedgraph_begin(void *self, eg_server *s)
{
    pfedgraph_server *p = self;
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, PFEDGRAPH_START, &kept));
    bool goes_on = kept != NULL;
    EG_TRY(eg_server_vector(s, PFEDGRAPH_START, &p->start));
    if (!goes_on)
        memcpy(p->start, s->param, s->n_params * sizeof *p->start);
    return EG_OK;
}

/* A round that was skipped has left its uploads behind. */
static eg_status pfedgraph_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    (void)s, (void)exchange, (void)to;
    pfedgraph_clear(self);
    return EG_OK;
}

static eg_status pfedgraph_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    pfedgraph_kept personal;
    bool found;
    (void)self;
    EG_TRY(pfedgraph_recall(s, client, &personal, &found));
    if (found)
        EG_TRY(eg_bundle_add_flat(to, PFEDGRAPH_PULL, personal.pull, s->n_params));
    return eg_server_release(s, pfedgraph_personal(client).text);
}

static eg_status pfedgraph_collect(void *self, eg_server *s, int exchange, int64_t client,
                                   const eg_bundle *from)
{
    pfedgraph_server *p = self;
    const float *param = eg_bundle_find(from, "param", NULL);
    (void)exchange;
    EG_TRY(eg_grow(&p->uploads, p->n, &p->cap, sizeof *p->uploads));
    pfedgraph_upload *u = &p->uploads[p->n++];
    *u = (pfedgraph_upload){.client = client};
    eg_bundle_scalar_of(from, "samples", &u->samples);
    EG_TRY(eg_alloc(s->n_params, sizeof *u->param, &u->param));
    EG_TRY(eg_alloc(s->n_params, sizeof *u->moved, &u->moved));
    EG_TRY(eg_alloc(s->n_state + 1, sizeof *u->state, &u->state));
    memcpy(u->param, param, s->n_params * sizeof *param);
    if (s->n_state)
        memcpy(u->state, eg_bundle_find(from, "state", NULL), s->n_state * sizeof *u->state);
    for (size_t i = 0; i < s->n_params; i++)
        u->moved[i] = param[i] - p->start[i];
    u->length = sqrt(eg_dot(param, param, s->n_params));
    return EG_OK;
}

/* The weights x [n] of upload i's client. */
static void pfedgraph_weights(const pfedgraph_server *p, size_t n_params, size_t i, double *x,
                              double *scratch)
{
    const pfedgraph_upload *u = p->uploads;
    double samples = 0, own = eg_dot(u[i].moved, u[i].moved, n_params);
    for (size_t j = 0; j < p->n; j++)
        samples += u[j].samples;
    for (size_t j = 0; j < p->n; j++) {
        double other = eg_dot(u[j].moved, u[j].moved, n_params);
        double lengths = sqrt(own) * sqrt(other);
        double cosine = lengths > 0 ? eg_dot(u[i].moved, u[j].moved, n_params) / lengths : 0;
        x[j] = u[j].samples / samples + (cosine > 0.9 ? 1 : cosine) / (2 * p->is.alpha);
    }
    eg_project_simplex(p->n, x, scratch);
}

/* The personal model that weights x make, and the direction it is pulled in. */
static eg_status pfedgraph_fill(const pfedgraph_server *p, const eg_server *s, const double *x,
                                eg_bundle *to)
{
    const eg_kernels *k = eg_kernels_get();
    float *param, *pull, *state = NULL;
    eg_shape shape = eg_dims((int64_t)s->n_params);
    EG_TRY(eg_bundle_room(to, PFEDGRAPH_PARAM, shape, &param));
    EG_TRY(eg_bundle_room(to, PFEDGRAPH_PULL, shape, &pull));
    if (s->n_state)
        EG_TRY(eg_bundle_room(to, PFEDGRAPH_STATE, eg_dims((int64_t)s->n_state), &state));
    for (size_t j = 0; j < p->n; j++) {
        const pfedgraph_upload *u = &p->uploads[j];
        k->axpy(param, (float)x[j], u->param, s->n_params);
        if (u->length > 0)
            k->axpy(pull, (float)(x[j] / u->length), u->param, s->n_params);
        if (state)
            k->axpy(state, (float)x[j], u->state, s->n_state);
    }
    return EG_OK;
}

static eg_status pfedgraph_personalise(const pfedgraph_server *p, eg_server *s, double *x,
                                       double *own)
{
    for (size_t i = 0; i < p->n; i++) {
        eg_bundle *record;
        pfedgraph_weights(p, s->n_params, i, x, x + p->n);
        *own += x[i] / (double)p->n;
        EG_TRY(eg_bundle_new(&record));
        EG_TRY(eg_bundle_filled(record, pfedgraph_fill(p, s, x, record)));
        if (eg_bundle_check(record, record) != EG_OK) {
            eg_bundle_free(record); /* it keeps its last one */
            continue;
        }
        pfedgraph_name name = pfedgraph_personal(p->uploads[i].client);
        EG_TRY(eg_server_keep(s, name.text, record));
        EG_TRY(eg_server_release(s, name.text));
    }
    return EG_OK;
}

static eg_status pfedgraph_finish(void *self, eg_server *s, int exchange)
{
    pfedgraph_server *p = self;
    double *x, own = 0;
    (void)exchange; /* it has training alone */
    if (p->n == 0)
        return EG_OK;
    EG_TRY(eg_alloc(2 * p->n, sizeof *x, &x));
    eg_status status = pfedgraph_personalise(p, s, x, &own);
    free(x);
    pfedgraph_clear(p);
    EG_TRY(status);
    return eg_server_note(s, "pfedgraph.own_weight", own);
}

static eg_status pfedgraph_model_of(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    pfedgraph_kept personal = {0};
    bool found;
    (void)self;
    EG_TRY(pfedgraph_recall(s, client, &personal, &found));
    if (found)
        EG_TRY(eg_server_add_model(s, personal.param, personal.state, to));
    return eg_server_release(s, pfedgraph_personal(client).text);
}

const eg_method eg_method_pfedgraph = {
    .component = {"pfedgraph", "personal mixtures by how alike the clients' models have moved",
                  sizeof(pfedgraph), pfedgraph_opts},
    .setup = pfedgraph_setup,
    .client = {.size = sizeof(pfedgraph_client),
               .download = pfedgraph_download,
               .grad = pfedgraph_grad},
    .server = {.size = sizeof(pfedgraph_server),
               .fini = pfedgraph_fini,
               .begin = pfedgraph_begin,
               .send = pfedgraph_send,
               .send_one = pfedgraph_send_one,
               .collect = pfedgraph_collect,
               .finish = pfedgraph_finish,
               .model_of = pfedgraph_model_of},
};
