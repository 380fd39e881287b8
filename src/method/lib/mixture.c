/* mixture.c - the weights of a sum of networks, by gradient descent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/mixture.h"

#include "base/base.h"
#include "base/real.h"
#include "method/lib/project.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void eg_mixture_take(const eg_mixture *m, const double *w, float *param, float *state)
{
    const eg_kernels *k = eg_kernels_get();
    memset(param, 0, m->n_params * sizeof *param);
    if (m->n_state)
        memset(state, 0, m->n_state * sizeof *state);
    for (int64_t u = 0; u < m->n; u++) {
        k->axpy(param, (float)w[u], m->params[u], m->n_params);
        if (m->n_state)
            k->axpy(state, (float)w[u], m->states[u], m->n_state);
    }
}

static void mixture_record(void *context, eg_graph *g, int64_t n)
{
    const eg_net *net = context;
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(n, s->channels, s->height, s->width));
    eg_node *loss =
        eg_cross_entropy(g, eg_net_forward(net, g, x), eg_input(g, "labels", eg_dims(n)), NULL);
    eg_output(g, "loss", loss);
    eg_net_backward(net, g, loss);
}

/* A plan for n rows at the mixed network, which stands on the worker. */
static eg_status mixture_plan(const eg_mixture *m, eg_worker *on, int64_t n, eg_learner **mixed,
                              eg_plan **out)
{
    eg_program *p;
    EG_TRY(eg_worker_learner(on, "mixture.model", eg_net_params(m->net), mixed));
    EG_TRY(eg_worker_program(on, "mixture", mixture_record, (void *)(uintptr_t)m->net, &p));
    EG_TRY(
        eg_program_bind(p, (*mixed)->table, (*mixed)->param, (*mixed)->grad, (*mixed)->state));
    return eg_program_plan(p, n, out);
}

eg_status eg_mixture_loss(const eg_mixture *m, eg_worker *on, const double *w,
                          const eg_rows *rows, const float *state, double *loss, double *dw)
{
    const eg_net_spec *s = eg_net_spec_of(m->net);
    size_t pixels = (size_t)(s->channels * s->height * s->width);
    eg_learner *mixed;
    eg_plan *plan;
    EG_TRY(mixture_plan(m, on, rows->n, &mixed, &plan));
    eg_mixture_take(m, w, mixed->param, mixed->state);
    if (state && m->n_state)
        memcpy(mixed->state, state, m->n_state * sizeof *state);
    memcpy(eg_plan_input(plan, "x"), rows->x, (size_t)rows->n * pixels * sizeof *rows->x);
    memcpy(eg_plan_input(plan, "labels"), rows->labels, (size_t)rows->n * sizeof *rows->labels);
    EG_TRY(eg_plan_run(plan));
    if (loss)
        *loss = (double)*eg_plan_output(plan, "loss");
    for (int64_t u = 0; dw && u < m->n; u++)
        dw[u] = eg_dot(mixed->grad, m->params[u], m->n_params);
    return EG_OK;
}

static void mixture_softmax(int64_t n, const float *a, double *w)
{
    double most = (double)a[0], sum = 0;
    for (int64_t u = 1; u < n; u++)
        most = fmax(most, (double)a[u]);
    for (int64_t u = 0; u < n; u++)
        sum += w[u] = eg_real_exp((double)a[u] - most);
    for (int64_t u = 0; u < n; u++)
        w[u] /= sum;
}

/* What is moved, and where a batch is put together. */
typedef struct mixture_fit {
    const eg_mixture *m;
    eg_worker *on;
    const eg_rows *rows;
    eg_optimizer *sgd;
    int64_t *order; /* [rows] */
    float *a, *da;  /* [m->n]: what is moved */
    bool softmax;   /* else a is w */
    double *w, *dw; /* [2 m->n]: w is the caller's; behind dw there is scratch */
    float *x, *labels;
    size_t pixels;
} mixture_fit;

/* Moves a along its gradient, which follows from dw, and w with it. */
static void mixture_move(mixture_fit *f)
{
    int64_t n = f->m->n;
    double mean = 0;
    for (int64_t u = 0; u < n; u++)
        mean += f->w[u] * f->dw[u];
    for (int64_t u = 0; u < n; u++)
        f->da[u] = (float)(f->softmax ? f->w[u] * (f->dw[u] - mean) : f->dw[u]);
    eg_optimizer_step(f->sgd, f->a, f->da);
    if (f->softmax) {
        mixture_softmax(n, f->a, f->w);
        return;
    }
    if (!eg_all_finite(f->a, (size_t)n)) { /* which the projection would hide */
        f->w[0] = NAN;
        return;
    }
    for (int64_t u = 0; u < n; u++)
        f->w[u] = (double)f->a[u];
    eg_project_simplex((size_t)n, f->w, f->dw + n);
    for (int64_t u = 0; u < n; u++)
        f->a[u] = (float)f->w[u];
}

/* One step along the gradient of n rows, from place `at` of the order on. */
static eg_status mixture_step(mixture_fit *f, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = f->order[at + i];
        memcpy(f->x + (size_t)i * f->pixels, f->rows->x + (size_t)row * f->pixels,
               f->pixels * sizeof *f->x);
        f->labels[i] = f->rows->labels[row];
    }
    const eg_rows batch = {.n = n, .x = f->x, .labels = f->labels};
    EG_TRY(eg_mixture_loss(f->m, f->on, f->w, &batch, NULL, NULL, f->dw));
    mixture_move(f);
    return EG_OK;
}

static eg_status mixture_descend(mixture_fit *f, const eg_mixture_opts *o, eg_rng *rng)
{
    int64_t n = f->rows->n;
    for (int64_t i = 0; i < n; i++)
        f->order[i] = i;
    for (int64_t epoch = 0; epoch < o->epochs; epoch++) {
        eg_rng_shuffle(rng, (size_t)n, f->order);
        for (int64_t at = 0; at < n; at += o->batch)
            EG_TRY(mixture_step(f, at, n - at < o->batch ? n - at : o->batch));
    }
    return EG_OK;
}

static eg_status mixture_open(mixture_fit *f, const eg_mixture_opts *o)
{
    const eg_net_spec *s = eg_net_spec_of(f->m->net);
    size_t n = (size_t)f->m->n, batch = (size_t)o->batch;
    char options[128];
    f->pixels = (size_t)(s->channels * s->height * s->width);
    EG_TRY(eg_alloc((size_t)f->rows->n, sizeof *f->order, &f->order));
    EG_TRY(eg_alloc(2 * n, sizeof *f->a, &f->a));
    EG_TRY(eg_alloc(2 * n, sizeof *f->dw, &f->dw));
    EG_TRY(eg_alloc(batch * (f->pixels + 1), sizeof *f->x, &f->x));
    f->da = f->a + n, f->labels = f->x + batch * f->pixels;
    f->softmax = o->moves == EG_MIXTURE_SOFTMAX;
    for (size_t u = 0; u < n && !f->softmax; u++)
        f->a[u] = (float)f->w[u];
    EG_TRY(eg_optimizer_new("sgd", n, &f->sgd));
    snprintf(options, sizeof options, "lr=%.17g momentum=%.17g weight_decay=%.17g", o->lr,
             o->momentum, o->decay);
    return eg_optimizer_set_text(f->sgd, options);
}

eg_status eg_mixture_fit(const eg_mixture *m, eg_worker *on, const eg_mixture_opts *o,
                         const eg_rows *rows, eg_rng *rng, double *w, bool *finite)
{
    mixture_fit f = {.m = m, .on = on, .rows = rows, .w = w};
    *finite = true;
    for (int64_t u = 0; u < m->n; u++)
        w[u] = 1 / (double)m->n;
    if (rows->n == 0)
        return EG_OK;
    eg_status s = mixture_open(&f, o);
    if (s == EG_OK)
        s = mixture_descend(&f, o, rng);
    for (int64_t u = 0; u < m->n; u++)
        *finite &= isfinite(w[u]);
    for (int64_t u = 0; !*finite && u < m->n; u++)
        w[u] = 1 / (double)m->n;
    eg_optimizer_free(f.sgd);
    free(f.order);
    free(f.a);
    free(f.dw);
    free(f.x);
    return s;
}
