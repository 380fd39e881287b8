/* pim.c - training a personalised informative model, and scoring samples on the way.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/pim.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_pim_check(const eg_pim *how)
{
    if (how->lr * how->pull < 2)
        return EG_OK;
    return eg_fail(
        EG_EINVAL,
        "the personalised model diverges: lr %g times q(lambda) = %g is not below 2; "
        "raise lambda above %g or lower lr",
        how->lr, how->pull, 1 / (1 + 4 / how->lr));
}

/* One training's scratch. */
typedef struct pim_work {
    int64_t *order;    /* [n]: the epoch's order */
    eg_sample *picked; /* [n]: the samples in it */
    float *norms;      /* [n]: theirs; NULL: nobody asks */
} pim_work;

double eg_pim_pull(double lambda)
{
    return (1 - lambda) / (2 * lambda);
}

static double pim_weight(eg_emphasis e, int64_t p)
{
    if (e == EG_EMPHASIS_AVERAGE)
        return 1;
    return e == EG_EMPHASIS_LATE_WEIGHT ? (double)p : 1 / (double)p;
}

static void pim_step(const eg_pim *how, eg_learner *v, const float *gradient, const float *w)
{
    float lr = (float)how->lr, pull = (float)how->pull;
    for (size_t i = 0; i < v->n_params; i++) {
        float back = lr * (gradient[i] + pull * (v->param[i] - w[i]));
        v->param[i] -= back;
        if (how->path)
            how->path[i] += gradient[i] * back;
    }
}

static eg_status pim_batch(eg_client *c, const eg_pim *how, eg_learner *v, const float *w,
                           const eg_rows *rows, float *norms)
{
    const eg_point at = {v->param, v->state};
    const float *gradient;
    EG_TRY(norms ? eg_client_gradient_norms(c, &at, rows, norms, &gradient)
                 : eg_client_gradient(c, &at, EG_TRAIN_FORM, rows, &gradient));
    pim_step(how, v, gradient, w);
    return EG_OK;
}

static eg_status pim_epoch(eg_client *c, const eg_pim *how, eg_learner *v, const float *w,
                           const pim_work *k, int64_t n)
{
    int64_t size = c->train->batch;
    for (int64_t at = 0; at < n; at += size) {
        eg_rows rows = {.n = n - at < size ? n - at : size, .samples = k->picked + at};
        EG_TRY(pim_batch(c, how, v, w, &rows, k->norms ? k->norms + at : NULL));
    }
    return EG_OK;
}

static void pim_shuffle(const eg_pim_samples *on, pim_work *k)
{
    for (int64_t i = 0; i < on->n; i++)
        k->order[i] = i;
    eg_rng_shuffle(on->order, (size_t)on->n, k->order);
    for (int64_t i = 0; i < on->n; i++)
        k->picked[i] = on->at[k->order[i]];
}

static eg_status pim_add(const eg_client *c, const eg_pim *how, int64_t p, const pim_work *k,
                         const eg_learner *v, int64_t n, double *scores)
{
    bool finite =
        scores ? eg_all_finite(k->norms, (size_t)n) : eg_all_finite(v->param, v->n_params);
    if (!finite)
        return eg_fail(EG_EINVAL,
                       "the personalised model of client %lld diverges in epoch %lld; lower lr",
                       (long long)c->id, (long long)p);
    for (int64_t i = 0; scores && i < n; i++)
        scores[k->order[i]] += pim_weight(how->emphasis, p) * (double)k->norms[i];
    return EG_OK;
}

static eg_status pim_open(pim_work *k, int64_t n, bool scores)
{
    EG_TRY(eg_alloc((size_t)n, sizeof *k->order, &k->order));
    EG_TRY(eg_alloc((size_t)n, sizeof *k->picked, &k->picked));
    return scores ? eg_alloc((size_t)n, sizeof *k->norms, &k->norms) : EG_OK;
}

eg_status eg_pim_begin(eg_client *c, const eg_weights *w, const char *key, eg_learner **out)
{
    EG_TRY(eg_worker_learner(c->worker, key, eg_net_params(c->net), out));
    memcpy((*out)->param, w->param, c->n_params * sizeof *w->param);
    if (c->n_state)
        memcpy((*out)->state, w->state, c->n_state * sizeof *w->state);
    return EG_OK;
}

eg_status eg_pim_train(eg_client *c, const eg_pim *how, eg_learner *v, const float *w,
                       const eg_pim_samples *on, double *scores)
{
    pim_work k = {0};
    eg_status s = pim_open(&k, on->n, scores != NULL);
    for (int64_t p = 1; p <= how->epochs && s == EG_OK; p++) {
        pim_shuffle(on, &k);
        s = pim_epoch(c, how, v, w, &k, on->n);
        if (s == EG_OK)
            s = pim_add(c, how, p, &k, v, on->n, scores);
    }
    free(k.order);
    free(k.picked);
    free(k.norms);
    return s;
}

eg_status eg_pim_score(eg_client *c, const eg_pim *how, const eg_weights *w,
                       const eg_pim_samples *on, double *scores)
{
    const eg_weights at = w->param ? *w : (eg_weights){c->param, c->state};
    eg_learner *v;
    EG_TRY(eg_pim_begin(c, &at, "re_fed.personal", &v));
    return eg_pim_train(c, how, v, at.param, on, scores);
}
