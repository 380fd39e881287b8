/* pfedgrp_personal.c - a personal model for every client that pFedGRP's server knows, made of
 * this round's uploads by drawings from the client's own generators.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/pfedgrp.h"

#include "base/base.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One client's share of the work, and what comes of it. */
typedef struct personal_job {
    eg_pfedgrp_known known;
    eg_rng rng;
    float *param, *state; /* the personal model */
    double own;           /* the weight of its own upload; below 0: it sent none this round */
    double wanted, taken, tried;
    int64_t refused; /* generators of which no drawing was taken */
    bool finite;
} personal_job;

typedef struct personal_work {
    const eg_pfedgrp_server *p;
    eg_server *s;
    int64_t n_jobs, fan;
    personal_job *jobs;
    eg_mixture uploads;
    int64_t *senders;               /* [uploads.n] */
    const float **params, **states; /* [uploads.n] */
    double own, wanted, taken, tried, n_own;
    int64_t refused, n_infinite;
} personal_work;

/* A client's upload as the guide of drawings on a worker. */
typedef struct personal_guide {
    const eg_net *net;
    eg_worker *on;
    float *param, *state; /* only read */
} personal_guide;

static void personal_record(void *context, eg_graph *g, int64_t n)
{
    const eg_net *net = context;
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(n, s->channels, s->height, s->width));
    eg_output(g, "logits", eg_net_forward(net, g, x));
}

static eg_status personal_look(void *context, const float *x, int64_t n, float *logits)
{
    const personal_guide *l = context;
    const eg_net_spec *s = eg_net_spec_of(l->net);
    size_t pixels = (size_t)(s->channels * s->height * s->width);
    eg_program *p;
    eg_plan *plan;
    EG_TRY(eg_worker_program(l->on, "pfedgrp.guide", personal_record, (void *)(uintptr_t)l->net,
                             &p));
    EG_TRY(eg_program_bind(p, eg_net_params(l->net), l->param, NULL, l->state));
    EG_TRY(eg_program_plan(p, n, &plan));
    memcpy(eg_plan_input(plan, "x"), x, (size_t)n * pixels * sizeof *x);
    EG_TRY(eg_plan_run(plan));
    memcpy(logits, eg_plan_output(plan, "logits"), (size_t)(n * s->classes) * sizeof *logits);
    return EG_OK;
}

/* As many drawings as its last round had images, of the classes it has met by their shares. */
static void personal_amounts(const personal_work *w, const personal_job *j, int64_t *left)
{
    for (int64_t k = 0; k < w->p->classes; k++)
        left[k] = llround((double)j->known.share[k] * (double)j->known.n);
}

/* Draws of every class, or of all, for which the client has a generator. */
static eg_status personal_draw_all(const personal_work *w, personal_job *j, eg_class_wish *wish,
                                   eg_class_drawings *to)
{
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(&w->p->is, w->p->classes); k++) {
        int64_t before = to->n;
        bool found;
        wish->class = eg_pfedgrp_class(&w->p->is, k);
        if (wish->class != EG_ANY_CLASS && wish->left[k] == 0)
            continue;
        EG_TRY(eg_pfedgrp_recall_generator(w->p, w->s, j->known.client, k, wish->m, &found));
        if (!found)
            continue;
        j->wanted += (double)eg_class_n_left(wish);
        EG_TRY(eg_class_draw(wish, &j->rng, to));
        j->refused += to->n == before;
    }
    return EG_OK;
}

static eg_status personal_draw(const personal_work *w, personal_job *j, eg_worker *on,
                               eg_class_drawings *to)
{
    const eg_class_replay_opts *o = &w->p->is.replay;
    const eg_net *net = w->s->net;
    personal_guide own = {net, on, (float *)(uintptr_t)j->known.param,
                          (float *)(uintptr_t)j->known.state};
    eg_class_guide guide = {.look = personal_look,
                            .context = &own,
                            .outputs = eg_net_spec_of(net)->classes,
                            .fan = w->fan,
                            .decides = o->guided};
    eg_class_wish wish = {.classes = w->p->classes, .tries = o->tries, .guide = &guide};
    EG_TRY(eg_class_machine(on, EG_PFEDGRP, o, net, &wish.m));
    EG_TRY(eg_alloc((size_t)w->p->classes, sizeof *wish.left, &wish.left));
    personal_amounts(w, j, wish.left);
    eg_status s = personal_draw_all(w, j, &wish, to);
    free(wish.left);
    j->taken = (double)to->n, j->tried = (double)to->tried;
    return s;
}

/* The weights that suit the drawings, and the model they make. */
static eg_status personal_mix(const personal_work *w, personal_job *j, eg_worker *on,
                              const eg_class_drawings *d)
{
    const eg_mixture *m = &w->uploads;
    double *weights;
    EG_TRY(eg_alloc(m->n_params, sizeof *j->param, &j->param));
    EG_TRY(eg_alloc(m->n_state + 1, sizeof *j->state, &j->state));
    EG_TRY(eg_alloc((size_t)m->n, sizeof *weights, &weights));
    for (int64_t i = 0; i < d->n; i++)
        d->labels[i] *= (float)w->fan; /* the class's upright output */
    eg_status s = eg_mixture_fit(m, on, &w->p->is.server,
                                 &(eg_rows){.n = d->n, .x = d->x, .labels = d->labels}, &j->rng,
                                 weights, &j->finite);
    if (s == EG_OK)
        eg_mixture_take(m, weights, j->param, j->state);
    j->own = -1;
    for (int64_t u = 0; u < m->n; u++)
        if (w->senders[u] == j->known.client)
            j->own = weights[u];
    free(weights);
    return s;
}

static eg_status personal_do(void *context, eg_worker *on, int64_t i)
{
    const personal_work *w = context;
    personal_job *j = &w->jobs[i];
    eg_class_drawings drawn = {0};
    eg_status s = personal_draw(w, j, on, &drawn);
    if (s == EG_OK)
        s = personal_mix(w, j, on, &drawn);
    eg_class_drawings_fini(&drawn);
    return s;
}

static void personal_free(personal_job *j)
{
    free(j->param);
    free(j->state);
    j->param = j->state = NULL;
}

static eg_status personal_done(void *context, int64_t i)
{
    personal_work *w = context;
    personal_job *j = &w->jobs[i];
    eg_status s = eg_pfedgrp_keep_personal(w->s, j->known.client, j->param, j->state);
    personal_free(j);
    w->wanted += j->wanted, w->taken += j->taken, w->tried += j->tried;
    w->refused += j->refused;
    w->n_infinite += !j->finite;
    w->own += j->own >= 0 ? j->own : 0;
    w->n_own += j->own >= 0;
    return s;
}

/* What the server knows of everybody, and who sent a model in this round. */
static eg_status personal_gather(personal_work *w)
{
    int64_t n = eg_scenario_n_clients(w->s->scenario);
    eg_mixture *m = &w->uploads;
    EG_TRY(eg_alloc((size_t)n, sizeof *w->jobs, &w->jobs));
    EG_TRY(eg_alloc((size_t)n, sizeof *w->senders, &w->senders));
    EG_TRY(eg_alloc((size_t)n, sizeof *w->params, &w->params));
    EG_TRY(eg_alloc((size_t)n, sizeof *w->states, &w->states));
    for (int64_t c = 0; c < n; c++) {
        personal_job *j = &w->jobs[w->n_jobs];
        bool found;
        EG_TRY(eg_pfedgrp_recall(w->p, w->s, c, &j->known, &found));
        if (!found)
            continue;
        j->rng = eg_server_stream(w->s, c, 0);
        w->n_jobs++;
        if (j->known.round != w->s->round)
            continue;
        w->senders[m->n] = c;
        w->params[m->n] = j->known.param;
        w->states[m->n++] = j->known.state;
    }
    m->params = w->params, m->states = w->states;
    return EG_OK;
}

static eg_status personal_note(const personal_work *w)
{
    if (w->tried > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_accepted", w->taken / w->tried));
    if (w->wanted > w->taken)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_missing", w->wanted - w->taken));
    if (w->refused > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_refused", (double)w->refused));
    if (w->n_infinite > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.weights_not_finite", (double)w->n_infinite));
    return w->n_own > 0 ? eg_server_note(w->s, "pfedgrp.own_weight", w->own / w->n_own) : EG_OK;
}

/* Lets go of the uploads, and takes the models that were made of them instead. */
static eg_status personal_settle(const personal_work *w)
{
    for (int64_t i = 0; i < w->n_jobs; i++)
        EG_TRY(eg_pfedgrp_release(w->s, w->jobs[i].known.client));
    return eg_pfedgrp_read_personal(w->s);
}

eg_status eg_pfedgrp_refine(void *self, eg_server *s, float *param, float *state)
{
    personal_work w = {.p = self, .s = s};
    (void)param, (void)state; /* the average stays as it is */
    w.fan = eg_net_spec_of(s->net)->classes / w.p->classes;
    w.uploads = (eg_mixture){.net = s->net, .n_params = s->n_params, .n_state = s->n_state};
    eg_status status = personal_gather(&w);
    if (status == EG_OK && w.uploads.n > 0)
        status = eg_server_each(s, w.n_jobs, personal_do, personal_done, &w);
    if (status == EG_OK && w.uploads.n > 0)
        status = personal_note(&w);
    if (status == EG_OK)
        status = personal_settle(&w);
    for (int64_t i = 0; i < w.n_jobs; i++)
        personal_free(&w.jobs[i]);
    free(w.jobs);
    free(w.senders);
    free(w.params);
    free(w.states);
    return status;
}
