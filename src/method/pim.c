/* pim.c - training a personalised informative model, and scoring samples on the way.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its draws lie apart from those of the client's own training in the same round: the order of
 * epoch p from block 2^63 + p 2^40 on, dropout masks at steps from 2^41 on.
 */
#include "method/pim.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One training's scratch. */
typedef struct pim_work {
    int64_t *order;    /* [n]: the epoch's order */
    eg_sample *picked; /* [n]: the samples in it */
    float *norms;      /* [n]: theirs */
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

static void pim_step(eg_client *c, const eg_pim *how, const float *w)
{
    float lr = (float)how->lr, pull = (float)how->pull;
    for (size_t i = 0; i < c->n_params; i++)
        c->param[i] -= lr * (c->grad[i] + pull * (c->param[i] - w[i]));
}

static eg_status pim_batch(eg_client *c, const eg_pim *how, const float *w,
                           const eg_sample *samples, int64_t n, float *norms)
{
    EG_TRY(eg_client_look(c, samples, n, &(eg_look){.norms = norms}));
    EG_TRY(eg_client_gradient(c, samples, n));
    pim_step(c, how, w);
    c->step++;
    return EG_OK;
}

static eg_status pim_epoch(eg_client *c, const eg_pim *how, const float *w, pim_work *k,
                           int64_t n)
{
    int64_t size = c->train->batch;
    for (int64_t at = 0; at < n; at += size)
        EG_TRY(
            pim_batch(c, how, w, k->picked + at, n - at < size ? n - at : size, k->norms + at));
    return EG_OK;
}

static void pim_shuffle(const eg_client *c, int64_t p, const eg_sample *samples, int64_t n,
                        pim_work *k)
{
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_SHUFFLE);
    rng.block = 1ull << 63 | (uint64_t)p << 40;
    for (int64_t i = 0; i < n; i++)
        k->order[i] = i;
    eg_rng_shuffle(&rng, (size_t)n, k->order);
    for (int64_t i = 0; i < n; i++)
        k->picked[i] = samples[k->order[i]];
}

static eg_status pim_add(const eg_client *c, const eg_pim *how, int64_t p, const pim_work *k,
                         int64_t n, double *scores)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(k->norms[i]))
            return eg_fail(EG_EINVAL,
                           "the personalised model of client %lld diverges in epoch %lld; "
                           "lower lr",
                           (long long)c->id, (long long)p);
        scores[k->order[i]] += pim_weight(how->emphasis, p) * (double)k->norms[i];
    }
    return EG_OK;
}

static eg_status pim_open(pim_work *k, int64_t n)
{
    EG_TRY(eg_alloc((size_t)n, sizeof *k->order, &k->order));
    EG_TRY(eg_alloc((size_t)n, sizeof *k->picked, &k->picked));
    return eg_alloc((size_t)n, sizeof *k->norms, &k->norms);
}

eg_status eg_pim_train(eg_client *c, const eg_pim *how, const float *w,
                       const eg_sample *samples, int64_t n, double *scores)
{
    pim_work k = {0};
    uint64_t step = c->step;
    eg_status s = pim_open(&k, n);
    c->step = 1ull << 41;
    for (int64_t p = 1; p <= how->epochs && s == EG_OK; p++) {
        pim_shuffle(c, p, samples, n, &k);
        s = pim_epoch(c, how, w, &k, n);
        if (s == EG_OK)
            s = pim_add(c, how, p, &k, n, scores);
    }
    c->step = step;
    free(k.order);
    free(k.picked);
    free(k.norms);
    return s;
}

eg_status eg_pim_score(eg_client *c, const eg_pim *how, const eg_sample *samples, int64_t n,
                       double *scores)
{
    float *param = NULL, *state = NULL;
    eg_status s = eg_alloc(c->n_params, sizeof *param, &param);
    if (s == EG_OK)
        s = eg_alloc(c->n_state, sizeof *state, &state);
    if (s == EG_OK) {
        memcpy(param, c->param, c->n_params * sizeof *param);
        if (state)
            memcpy(state, c->state, c->n_state * sizeof *state);
        s = eg_pim_train(c, how, param, samples, n, scores);
        memcpy(c->param, param, c->n_params * sizeof *param);
        if (state)
            memcpy(c->state, state, c->n_state * sizeof *state);
    }
    free(param);
    free(state);
    return s;
}
