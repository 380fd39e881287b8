/* af_fcl.c - accurate forgetting (Wuerkaixi et al., 2024, "AF-FCL", ICLR).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Beside the model clients share a flow (method/lib/flow.h) that draws features of a class. For
 * each batch a client first takes a step of the flow on the batch's features, in eval form,
 * and, from its second task on, on as many that the last task's flow draws, which weigh `keep`.
 * Then its loss gains, from the second task on, feature mean (f - f*)^2 + outputs KD(z, z*)
 *   + replay (mean of CE_i p_i times ((1 - theta) p + theta) + drawn KD(h, h*))
 * where f, z are the batch's features and outputs, * is the model that it received when the
 * task began, CE_i that of a feature which the last task's flow draws, h the head's outputs for
 * it, KD the cross entropy of softmaxes at temperature 2, and p_i how credible it is: the mean
 * over dimensions of the density of its code by the flow of now under the mean and variance of
 * the batch's codes with that label; for labels that the batch lacks, and for p itself, the
 * mean over the batch of the d-th root of the flow's density. Only the head learns from drawn
 * features. Server: the mean of models and, with the same weights, of flows.
 *
 * The released program compares features with codes; here both are codes.
 */
#include "method/lib/flow.h"
#include "method/lib/teacher.h"
#include "method/mean.h"

#include "base/base.h"
#include "engine/model/net.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct af_fcl {
    int boundary; /* of "task|round" */
    double feature, outputs, replay, drawn, theta, keep, lr;
    int64_t hidden;
} af_fcl;

typedef struct af_fcl_client {
    af_fcl is;
    eg_flow own, last;   /* of now; as the last task left it */
    eg_learner *teacher; /* NULL in the first task */
    int64_t n_old;       /* classes of the past, */
    float *old;          /* [classes]: in front */
    int64_t room; /* rows of what follows: two of features, two of codes, one of others */
    float *features, *codes, *drawn, *drawn_codes, *labels, *logs;
    double *moments; /* [2, d]: of the codes with a label */
} af_fcl_client;

typedef struct af_fcl_server {
    af_fcl is;
    eg_flow flow;
    eg_weighted_mean sum;
    bool fresh; /* something was added to it */
} af_fcl_server;

enum { AF_FCL_LABELS, AF_FCL_NOISE };
enum { AF_FCL_TASK, AF_FCL_ROUND };
static const double af_fcl_temperature = 2;

// clang-format off
static const eg_opt af_fcl_opts[] = {
    EG_OPT_CHOICE(af_fcl, boundary, AF_FCL_TASK, "when a task has begun: as the scenario says, or in each round that has other data", "task|round"),
    EG_OPT_REAL(af_fcl, feature, 0.1, 0, 1e6, "weight of the last task's features"),
    EG_OPT_REAL(af_fcl, outputs, 0.02, 0, 1e6, "weight of the last task's outputs"),
    EG_OPT_REAL(af_fcl, replay, 1, 0, 1e6, "weight of drawn features"),
    EG_OPT_REAL(af_fcl, drawn, 0.1, 0, 1e6, "weight of the last task's outputs for these"),
    EG_OPT_REAL(af_fcl, theta, 0.1, 0, 1, "least part that drawn features have, however far off the batch is"),
    EG_OPT_REAL(af_fcl, keep, 0.5, 0, 1e6, "weight of what the last task's flow draws in the flow's own loss"),
    EG_OPT_REAL(af_fcl, lr, 1e-3, 0, 1, "step size of the flow's Adam"),
    EG_OPT_INT(af_fcl, hidden, 512, 1, 8192, "units of the flow's networks"),
    EG_OPT_END,
};
// clang-format on

static eg_status af_fcl_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const af_fcl *is = options;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP,
                       "its flow is of upright images: train.rotations must be false");
    out->offers = is->boundary == AF_FCL_TASK ? EG_OFFERS_BOUNDARIES : 0;
    out->global = out->classes = true;
    return EG_OK;
}

static void af_fcl_fini(void *self)
{
    af_fcl_client *a = self;
    eg_flow_close(&a->own);
    eg_flow_close(&a->last);
    free(a->old);
    free(a->features);
    free(a->codes);
    free(a->drawn);
    free(a->drawn_codes);
    free(a->labels);
    free(a->logs);
    free(a->moments);
}

/* The flow that the last task left: what came when this one began. */
static eg_status af_fcl_past(af_fcl_client *a, eg_client *c)
{
    const eg_bundle *kept;
    eg_bundle *record;
    bool found = false;
    if (c->view.first && c->view.stage > 0) {
        EG_TRY(eg_bundle_new(&record));
        EG_TRY(eg_bundle_filled(record, eg_learner_keep(a->own.own, "af_fcl.flow", record)));
        EG_TRY(eg_client_keep(c, "af_fcl.last", record));
    }
    EG_TRY(eg_client_stage_model(c, "af_fcl.model", &a->teacher));
    EG_TRY(eg_client_recall(c, "af_fcl.last", &kept));
    if (!a->teacher || !kept)
        return EG_OK;
    EG_TRY(eg_flow_open(&a->last, a->own.d, a->own.classes, a->own.hidden));
    EG_TRY(eg_learner_recall(a->last.own, "af_fcl.flow", kept, &found));
    EG_TRY(eg_alloc((size_t)c->n_classes, sizeof *a->old, &a->old));
    eg_teacher_open_old(c, a->old);
    for (int64_t y = 0; found && y < c->n_classes; y++)
        if (a->old[y] >= 0)
            a->old[a->n_old++] = (float)y;
    return EG_OK;
}

static eg_status af_fcl_room(af_fcl_client *a, int64_t rows)
{
    size_t all = (size_t)(rows * a->own.d);
    float **const rooms[] = {&a->features, &a->codes, &a->drawn, &a->drawn_codes};
    if (rows <= a->room)
        return EG_OK;
    free(a->moments);
    a->moments = NULL;
    EG_TRY(eg_alloc((size_t)(2 * a->own.d), sizeof *a->moments, &a->moments));
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        free(*rooms[i]);
        *rooms[i] = NULL;
        EG_TRY(eg_alloc(all, sizeof **rooms[i], rooms[i]));
    }
    free(a->labels);
    free(a->logs);
    a->labels = a->logs = NULL;
    EG_TRY(eg_alloc((size_t)rows, sizeof *a->labels, &a->labels));
    EG_TRY(eg_alloc((size_t)rows, sizeof *a->logs, &a->logs));
    a->room = rows;
    return EG_OK;
}

static eg_status af_fcl_adam(const af_fcl *is, eg_flow *flow)
{
    char options[64];
    snprintf(options, sizeof options, "lr=%.17g", is->lr);
    return eg_learner_optimize(flow->own, "adam", options);
}

static eg_status af_fcl_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    af_fcl_client *a = self;
    bool found;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_flow_open(&a->own, eg_net_n_features(c->net), c->n_classes, a->is.hidden));
    EG_TRY(eg_learner_recall(a->own.own, "af_fcl.flow", from, &found));
    if (!found)
        return eg_fail(EG_EFORMAT, "what the server sent lacks its flow");
    EG_TRY(af_fcl_adam(&a->is, &a->own));
    return af_fcl_past(a, c);
}

static uint32_t af_fcl_form(void *self, eg_client *c)
{
    const af_fcl_client *a = self;
    (void)c;
    return a->n_old > 0;
}

static eg_node *af_fcl_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const af_fcl_client *a = self;
    int64_t n = c->batch, d = a->own.d, k = c->n_classes;
    if (a->n_old == 0)
        return loss;
    eg_node *features = eg_input(g, "af_fcl.features", eg_dims(n, d));
    eg_node *told = eg_input(g, "af_fcl.told", eg_dims(n, k));
    eg_node *open = eg_input(g, "af_fcl.open", eg_dims(1, k));
    eg_node *drawn = eg_input(g, "af_fcl.drawn", eg_dims(n, d));
    eg_node *labels = eg_input(g, "af_fcl.labels", eg_dims(n));
    eg_node *weights = eg_input(g, "af_fcl.weights", eg_dims(n));
    eg_node *drawn_told = eg_input(g, "af_fcl.drawn told", eg_dims(n, k));
    eg_node *own = eg_client_outputs_of(c, g, c->features);
    eg_node *of_drawn = eg_client_outputs_of(c, g, drawn);
    eg_node *terms[] = {
        eg_affine(g, eg_mse(g, c->features, features), a->is.feature, 0),
        eg_affine(g, eg_teacher_loss(g, told, own, af_fcl_temperature, open), a->is.outputs, 0),
        eg_affine(g, eg_cross_entropy(g, of_drawn, labels, weights), a->is.replay, 0),
        eg_affine(g, eg_teacher_loss(g, drawn_told, of_drawn, af_fcl_temperature, open),
                  a->is.replay * a->is.drawn, 0)};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        loss = eg_add(g, loss, terms[i]);
    return loss;
}

/* Features of past classes by the last task's flow, n of them. */
static eg_status af_fcl_draw(af_fcl_client *a, eg_client *c, int64_t n)
{
    eg_rng labels = eg_client_stream(c, AF_FCL_LABELS),
           noise = eg_client_stream(c, AF_FCL_NOISE);
    for (int64_t i = 0; i < n; i++)
        a->labels[i] = a->old[eg_rng_below(&labels, (uint64_t)a->n_old)];
    for (int64_t i = 0; i < n * a->own.d; i++)
        a->drawn_codes[i] = (float)eg_rng_normal(&noise);
    return eg_flow_draw(&a->last, n, a->drawn_codes, a->labels, a->drawn);
}

/* Means and variances [2, d] of the codes with a label, in a->moments; how many there are. */
static int64_t af_fcl_moments(af_fcl_client *a, const eg_client *c, int64_t label)
{
    int64_t d = a->own.d, n = 0;
    double *mean = a->moments, *var = mean + d;
    memset(mean, 0, (size_t)(2 * d) * sizeof *mean);
    for (int64_t i = 0; i < c->batch; i++) {
        if ((int64_t)c->labels[i] != label)
            continue;
        for (int64_t j = 0; j < d; j++) {
            double v = (double)a->codes[i * d + j];
            mean[j] += v, var[j] += v * v;
        }
        n++;
    }
    for (int64_t j = 0; j < d && n; j++) {
        mean[j] /= (double)n;
        var[j] = fmax(var[j] / (double)n - mean[j] * mean[j], 0) + 1e-5;
    }
    return n;
}

/* How credible drawn row i is by the moments of its label. */
static double af_fcl_credible(const af_fcl_client *a, int64_t i)
{
    const double *mean = a->moments, *var = mean + a->own.d;
    double sum = 0;
    for (int64_t j = 0; j < a->own.d; j++) {
        double off = (double)a->drawn_codes[i * a->own.d + j] - mean[j];
        sum += exp(-0.5 * off * off / var[j]) / sqrt(2 * 3.14159265358979323846 * var[j]);
    }
    return sum / (double)a->own.d;
}

/* The weights of the drawn rows with a label. all: the mean density of the batch. */
static void af_fcl_weigh_label(af_fcl_client *a, const eg_client *c, int64_t label, double all,
                               float *weights)
{
    int64_t there = -1; /* not known before a row has the label */
    for (int64_t i = 0; i < c->batch; i++) {
        if ((int64_t)a->labels[i] != label)
            continue;
        there = there < 0 ? af_fcl_moments(a, c, label) : there;
        double p = there ? af_fcl_credible(a, i) : all;
        p *= (1 - a->is.theta) * all + a->is.theta;
        weights[i] = isfinite(p) ? (float)p : 0;
    }
}

/* The weights of drawn rows, all finite. */
static eg_status af_fcl_weigh(af_fcl_client *a, eg_client *c, float *weights)
{
    double mean = 0;
    const eg_flow_rows batch = {c->batch, a->features, c->labels};
    const eg_flow_rows drawn = {c->batch, a->drawn, a->labels};
    EG_TRY(eg_flow_look(&a->own, &drawn, a->drawn_codes, a->logs));
    EG_TRY(eg_flow_look(&a->own, &batch, a->codes, a->logs));
    for (int64_t i = 0; i < c->batch; i++)
        mean += exp((double)a->logs[i] / (double)a->own.d) / (double)c->batch;
    for (int64_t k = 0; k < a->n_old; k++)
        af_fcl_weigh_label(a, c, (int64_t)a->old[k], mean, weights);
    return EG_OK;
}

/* The old head's outputs for features [n, d]. */
static void af_fcl_head(const af_fcl_client *a, const eg_client *c, const float *features,
                        float *out)
{
    size_t head, side;
    int64_t d = a->own.d, k = c->n_classes;
    const eg_params *table = eg_net_params(c->net);
    eg_net_heads(c->net, &head, &side);
    const float *w =
        eg_param_values(eg_params_at(table, head), a->teacher->param, a->teacher->state);
    const float *b = head + 1 < side ? eg_param_values(eg_params_at(table, head + 1),
                                                       a->teacher->param, a->teacher->state)
                                     : NULL;
    for (int64_t i = 0; i < c->batch; i++)
        for (int64_t y = 0; y < k; y++)
            out[i * k + y] =
                (float)eg_dot(features + i * d, w + y * d, (size_t)d) + (b ? b[y] : 0);
}

static eg_status af_fcl_fill_past(af_fcl_client *a, eg_client *c)
{
    size_t rows = (size_t)c->batch * (size_t)a->own.d;
    float *drawn = eg_plan_input(c->plan, "af_fcl.drawn");
    for (int64_t i = 0; i < c->n_classes; i++)
        eg_plan_input(c->plan, "af_fcl.open")[i] = -1e9F;
    for (int64_t i = 0; i < a->n_old; i++)
        eg_plan_input(c->plan, "af_fcl.open")[(int64_t)a->old[i]] = 0;
    EG_TRY(eg_teacher_tell(c, a->teacher->param, a->teacher->state, "af_fcl.told",
                           "af_fcl.features"));
    memcpy(drawn, a->drawn, rows * sizeof *drawn);
    memcpy(eg_plan_input(c->plan, "af_fcl.labels"), a->labels,
           (size_t)c->batch * sizeof *a->labels);
    af_fcl_head(a, c, drawn, eg_plan_input(c->plan, "af_fcl.drawn told"));
    return af_fcl_weigh(a, c, eg_plan_input(c->plan, "af_fcl.weights"));
}

static eg_status af_fcl_fill(void *self, eg_client *c)
{
    af_fcl_client *a = self;
    EG_TRY(af_fcl_room(a, c->batch));
    EG_TRY(eg_client_look(c, NULL, &(eg_rows){.n = c->batch, .x = c->x, .labels = c->labels},
                          &(eg_look){.features = a->features}));
    const eg_flow_rows batch = {c->batch, a->features, c->labels};
    if (a->n_old == 0)
        return eg_flow_learn(&a->own, &batch, NULL, 0, NULL);
    EG_TRY(af_fcl_draw(a, c, c->batch));
    if (!eg_all_finite(a->drawn, (size_t)(c->batch * a->own.d)))
        memset(a->drawn, 0, (size_t)(c->batch * a->own.d) * sizeof *a->drawn);
    EG_TRY(eg_flow_learn(&a->own, &batch, &(eg_flow_rows){c->batch, a->drawn, a->labels},
                         a->is.keep, NULL));
    return af_fcl_fill_past(a, c);
}

static eg_status af_fcl_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const af_fcl_client *a = self;
    (void)c;
    return exchange == EG_TRAINING ? eg_learner_keep(a->own.own, "af_fcl.flow", to) : EG_OK;
}

/* --- The server. */

static void af_fcl_server_fini(void *self)
{
    af_fcl_server *a = self;
    eg_flow_close(&a->flow);
    eg_mean_fini(&a->sum);
}

static eg_status af_fcl_begin(void *self, eg_server *s)
{
    af_fcl_server *a = self;
    const eg_bundle *kept;
    bool found = false;
    EG_TRY(eg_flow_open(&a->flow, eg_net_n_features(s->net), eg_net_spec_of(s->net)->classes,
                        a->is.hidden));
    EG_TRY(eg_mean_init(&a->sum, a->flow.own->n_params));
    EG_TRY(eg_server_recall(s, "af_fcl", &kept));
    if (kept)
        EG_TRY(eg_learner_recall(a->flow.own, "af_fcl.flow", kept, &found));
    if (!found)
        eg_params_init(a->flow.table, s->seed, a->flow.own->param, a->flow.own->state);
    return EG_OK;
}

static eg_status af_fcl_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const af_fcl_server *a = self;
    (void)s;
    return exchange == EG_TRAINING ? eg_learner_keep(a->flow.own, "af_fcl.flow", to) : EG_OK;
}

static eg_status af_fcl_accept(void *self, eg_server *s, int exchange, int64_t client,
                               const eg_bundle *from)
{
    const af_fcl_server *a = self;
    const float *values;
    (void)s, (void)client;
    return exchange == EG_TRAINING
               ? eg_bundle_need(from, "af_fcl.flow.param", a->flow.own->n_params, &values)
               : EG_OK;
}

static eg_status af_fcl_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    af_fcl_server *a = self;
    double weight;
    (void)s, (void)client;
    if (exchange != EG_TRAINING)
        return EG_OK;
    eg_bundle_scalar_of(from, "samples", &weight);
    a->fresh = a->fresh || weight > 0;
    return eg_mean_add(&a->sum, eg_bundle_find(from, "af_fcl.flow.param", NULL), weight);
}

static eg_status af_fcl_finish(void *self, eg_server *s, int exchange)
{
    af_fcl_server *a = self;
    (void)s;
    if (exchange != EG_TRAINING || !a->fresh)
        return EG_OK;
    EG_TRY(eg_mean_get(&a->sum, a->flow.own->param));
    eg_mean_reset(&a->sum);
    a->fresh = false;
    return EG_OK;
}

static eg_status af_fcl_save(void *self, eg_server *s)
{
    const af_fcl_server *a = self;
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_learner_keep(a->flow.own, "af_fcl.flow", record)));
    return eg_server_keep(s, "af_fcl", record);
}

const eg_method eg_method_af_fcl = {
    .component = {"af_fcl",
                  "a shared flow draws features of the past, weighed by how credible they are",
                  sizeof(af_fcl), af_fcl_opts},
    .leaves = EG_LEAVES_GENERATORS,
    .setup = af_fcl_setup,
    .loss = af_fcl_loss,
    .form = af_fcl_form,
    .fill = af_fcl_fill,
    .client = {.size = sizeof(af_fcl_client),
               .fini = af_fcl_fini,
               .download = af_fcl_download,
               .answer = af_fcl_answer},
    .server = {.size = sizeof(af_fcl_server),
               .fini = af_fcl_server_fini,
               .begin = af_fcl_begin,
               .send = af_fcl_send,
               .accept = af_fcl_accept,
               .collect = af_fcl_collect,
               .finish = af_fcl_finish,
               .save = af_fcl_save},
};
