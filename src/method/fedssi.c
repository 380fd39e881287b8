/* fedssi.c - synaptic intelligence with a personalised surrogate model (Li et al., 2025, ICML,
 * "FedSSI"; arXiv:2412.13779).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: when task t begins, a surrogate v starts at the model w that it received and is
 * trained on the task's samples: v <- v - eta (g + q(lambda) (v - w)), as in lib/pim.h, so that
 * it knows the client's data and the global model alike. On the way every parameter gathers
 * s_i, the sum over steps of g_i times the way that v_i went back: its share in what the loss
 * lost. v itself is given up. While it trains on task t the loss gains
 * alpha sum_i Omega_i (w_i - a_i)^2: a is the model that it received when the task began, and
 * Omega_i the sum over the tasks before of max(0, s_i) / (d_i^2 + xi), d being the way v went
 * altogether (Zenke et al., 2017, arXiv:1703.04200). Server: the usual mean.
 */
#include "method/lib/pim.h"
#include "method/lib/samples.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

typedef struct fedssi {
    double alpha, lambda, xi, lr;
    int64_t epochs;
} fedssi;

typedef struct fedssi_client {
    fedssi is;
    const float *omega, *anchor; /* [n_params] each; NULL in the first task */
} fedssi_client;

static const eg_opt fedssi_opts[] = {
    EG_OPT_REAL(fedssi, alpha, 0.1, 0, 1e9, "strength; lr * alpha * Omega must stay below 1"),
    EG_OPT_REAL(fedssi, lambda, 0.5, 1e-9, 1,
                "how local the surrogate is; towards 0: the global model"),
    EG_OPT_REAL(fedssi, xi, 0.1, 1e-12, 1e6, "added to the square of how far it went"),
    EG_OPT_INT(fedssi, epochs, 5, 1, 100000, "passes of the surrogate over a task's samples"),
    EG_OPT_REAL(fedssi, lr, 0, 0, 1e3,
                "step size of the surrogate; 0: that of the training in this round"),
    EG_OPT_END,
};

static const char fedssi_all[] = "fedssi.all", fedssi_omega[] = "fedssi.omega",
                  fedssi_anchor[] = "fedssi.anchor";

/* lr: the step size of the training. */
static eg_pim fedssi_pim(const fedssi *f, double lr)
{
    return (eg_pim){
        .epochs = f->epochs, .lr = f->lr > 0 ? f->lr : lr, .pull = eg_pim_pull(f->lambda)};
}

static eg_status fedssi_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const fedssi *f = options;
    const eg_pim pim = fedssi_pim(f, in->train->lr); /* no schedule rises above it */
    out->offers = EG_OFFERS_BOUNDARIES;
    return eg_pim_check(&pim);
}

/* The record: Omega of the tasks before and the anchor, which this task trains with, if there
 * are any; and Omega with this task's share, for the next one. */
static eg_status fedssi_recall(fedssi_client *f, eg_client *c, const float **all)
{
    const eg_bundle *kept;
    EG_TRY(eg_client_recall(c, "fedssi", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, fedssi_all, c->n_params, all));
    f->omega = f->anchor = NULL;
    if (!eg_bundle_find(kept, fedssi_omega, NULL))
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, fedssi_omega, c->n_params, &f->omega));
    return eg_bundle_need(kept, fedssi_anchor, c->n_params, &f->anchor);
}

static eg_status fedssi_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    const float *all;
    (void)exchange, (void)from;
    return fedssi_recall(self, c, &all);
}

/* Trains the surrogate on the samples of the client's stage; path [n_params] gathers s. */
static eg_status fedssi_train(const fedssi *f, eg_client *c, eg_learner *v, float *path)
{
    eg_pim how = fedssi_pim(f, c->lr);
    eg_rng order = eg_client_stream(c, 0);
    eg_sample *samples;
    int64_t n;
    how.path = path;
    EG_TRY(eg_stage_samples(c, c->view.stage, 0, NULL, &samples, &n));
    eg_status s =
        eg_pim_train(c, &how, v, c->param, &(eg_pim_samples){samples, n, &order}, NULL);
    free(samples);
    return s;
}

/* Fills the task's record; before [n_params] is the Omega of the tasks before, or NULL. */
static eg_status fedssi_fill(const fedssi *f, eg_client *c, const float *before,
                             eg_bundle *record)
{
    eg_learner *v;
    float *all;
    EG_TRY(eg_pim_begin(c, &(eg_weights){c->param, c->state}, "fedssi.surrogate", &v));
    EG_TRY(eg_bundle_room(record, fedssi_all, eg_dims((int64_t)c->n_params), &all));
    EG_TRY(fedssi_train(f, c, v, all));
    for (size_t i = 0; i < c->n_params; i++) {
        float way = v->param[i] - c->param[i];
        all[i] = fmaxf(0, all[i]) / (way * way + (float)f->xi) + (before ? before[i] : 0);
    }
    if (!before)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(record, fedssi_omega, before, c->n_params));
    return eg_bundle_add_flat(record, fedssi_anchor, c->param, c->n_params);
}

static eg_status fedssi_task(void *self, eg_client *c)
{
    fedssi_client *f = self;
    const float *all = NULL;
    eg_bundle *record;
    if (f->is.alpha <= 0)
        return EG_OK;
    EG_TRY(fedssi_recall(f, c, &all));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, fedssi_fill(&f->is, c, all, record)));
    EG_TRY(eg_client_keep(c, "fedssi", record));
    return fedssi_recall(f, c, &all);
}

static eg_status fedssi_grad(void *self, eg_client *c)
{
    const fedssi_client *f = self;
    const float twice = 2 * (float)f->is.alpha;
    for (size_t i = 0; f->omega && i < c->n_params; i++)
        c->grad[i] += twice * f->omega[i] * (c->param[i] - f->anchor[i]);
    return EG_OK;
}

const eg_method eg_method_fedssi = {
    .component = {"fedssi",
                  "holds what a surrogate between client and federation found important",
                  sizeof(fedssi), fedssi_opts},
    .setup = fedssi_setup,
    .client = {.size = sizeof(fedssi_client),
               .download = fedssi_download,
               .task = fedssi_task,
               .grad = fedssi_grad},
};
