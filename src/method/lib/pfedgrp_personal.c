/* pfedgrp_personal.c - a personal model for every client that pFedGRP's server knows, made of
 * this round's uploads by drawings from the client's own generators.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each client is a piece of work. All pieces are given the round's uploads; each what is known
 * of its client, and the client's generators.
 */
#include "method/lib/pfedgrp.h"

#include "base/base.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERSONAL_SENDERS "senders" /* [uploads]: clients */

/* What a piece works with, and what it comes to. */
typedef struct personal_piece {
    const eg_pfedgrp *is;
    const eg_piece *at;
    eg_pfedgrp_known known;
    int64_t fan;
    eg_rng rng;
    eg_mixture uploads;
    const float *senders;           /* [uploads.n] */
    const float **params, **states; /* [uploads.n] */
    double wanted, taken, tried;
    double refused; /* generators of which no drawing was taken */
} personal_piece;

/* A client's upload as the guide of drawings on a worker. */
typedef struct personal_guide {
    const eg_net *net;
    eg_worker *on;
    eg_weights at;
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
    EG_TRY(eg_program_read(p, eg_net_params(l->net), &l->at));
    EG_TRY(eg_program_plan(p, n, &plan));
    memcpy(eg_plan_input(plan, "x"), x, (size_t)n * pixels * sizeof *x);
    EG_TRY(eg_plan_run(plan));
    memcpy(logits, eg_plan_output(plan, "logits"), (size_t)(n * s->classes) * sizeof *logits);
    return EG_OK;
}

/* Draws of every class, or of all, for which the client has a generator: as many as its last
 * round had images, of the classes it has met by their shares. */
static eg_status personal_draw_all(personal_piece *p, eg_class_wish *wish,
                                   eg_class_drawings *to)
{
    eg_class_portions(p->known.classes, p->known.share, p->known.n, eg_rng_unit(&p->rng),
                      wish->left);
    p->wanted = (double)p->known.n;
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(p->is, p->known.classes); k++) {
        int64_t before = to->n;
        bool found;
        wish->class = eg_pfedgrp_class(p->is, k);
        if (wish->class != EG_ANY_CLASS && wish->left[k] == 0)
            continue;
        EG_TRY(eg_generator_recall(wish->m, eg_class_name_of(EG_PFEDGRP, wish->class).text,
                                   EG_DRAWING_ALONE, p->at->from, &found));
        if (!found)
            continue;
        EG_TRY(eg_class_draw(wish, &p->rng, to));
        p->refused += to->n == before;
    }
    return EG_OK;
}

static eg_status personal_draw(personal_piece *p, eg_class_drawings *to)
{
    const eg_class_replay_opts *o = &p->is->replay;
    const eg_net *net = p->at->net;
    personal_guide own = {net, p->at->worker, {p->known.param, p->known.state}};
    eg_class_guide guide = {.look = personal_look,
                            .context = &own,
                            .outputs = eg_net_spec_of(net)->classes,
                            .fan = p->fan,
                            .decides = o->guided};
    eg_class_wish wish = {.classes = p->known.classes, .tries = o->tries, .guide = &guide};
    EG_TRY(eg_class_machine(p->at->worker, EG_PFEDGRP, o, net, &wish.m));
    EG_TRY(eg_alloc((size_t)wish.classes, sizeof *wish.left, &wish.left));
    eg_status s = personal_draw_all(p, &wish, to);
    free(wish.left);
    p->taken = (double)to->n, p->tried = (double)to->tried;
    return s;
}

/* The share of the client's own upload in its model; below 0: it sent none this round. */
static double personal_own(const personal_piece *p, const double *weights)
{
    for (int64_t u = 0; u < p->uploads.n; u++)
        if ((int64_t)p->senders[u] == p->known.client)
            return weights[u];
    return -1;
}

/* The weights that suit the drawings, and the model they make. */
static eg_status personal_mix(personal_piece *p, const eg_class_drawings *d, eg_bundle *to)
{
    const eg_mixture *m = &p->uploads;
    double *weights;
    float *param, *state = NULL;
    bool finite = true;
    EG_TRY(eg_bundle_room(to, "param", eg_dims((int64_t)m->n_params), &param));
    if (m->n_state)
        EG_TRY(eg_bundle_room(to, "state", eg_dims((int64_t)m->n_state), &state));
    EG_TRY(eg_alloc((size_t)m->n, sizeof *weights, &weights));
    for (int64_t i = 0; i < d->n; i++)
        d->labels[i] *= (float)p->fan; /* the class's upright output */
    eg_status s = eg_mixture_fit(m, p->at->worker, &p->is->server,
                                 &(eg_rows){.n = d->n, .x = d->x, .labels = d->labels}, &p->rng,
                                 weights, &finite);
    if (s == EG_OK)
        eg_mixture_take(m, weights, param, state);
    if (s == EG_OK)
        s = eg_bundle_scalar(to, "own", personal_own(p, weights));
    if (s == EG_OK)
        s = eg_bundle_scalar(to, "finite", finite);
    free(weights);
    return s;
}

/* "upload 3.param" */
static eg_class_name personal_upload(int64_t u, const char *what)
{
    eg_class_name name;
    snprintf(name.text, sizeof name.text, "upload %lld.%s", (long long)u, what);
    return name;
}

/* This round's uploads, as all pieces are given them. */
static eg_status personal_read_uploads(personal_piece *p)
{
    const eg_params *like = eg_net_params(p->at->net);
    eg_mixture *m = &p->uploads;
    size_t n;
    p->senders = eg_bundle_find(p->at->from, PERSONAL_SENDERS, &n);
    *m = (eg_mixture){.net = p->at->net,
                      .n = (int64_t)n,
                      .n_params = eg_params_length(like),
                      .n_state = eg_state_length(like)};
    EG_TRY(eg_alloc(n, sizeof *p->params, &p->params));
    EG_TRY(eg_alloc(n, sizeof *p->states, &p->states));
    for (int64_t u = 0; u < m->n; u++) {
        EG_TRY(eg_bundle_need(p->at->from, personal_upload(u, "param").text, m->n_params,
                              &p->params[u]));
        if (m->n_state)
            EG_TRY(eg_bundle_need(p->at->from, personal_upload(u, "state").text, m->n_state,
                                  &p->states[u]));
    }
    m->params = p->params, m->states = p->states;
    return EG_OK;
}

static eg_status personal_do(personal_piece *p, eg_bundle *to)
{
    eg_class_drawings drawn = {0};
    EG_TRY(eg_pfedgrp_read(p->at->from, p->at->net, &p->known));
    EG_TRY(personal_read_uploads(p));
    p->fan = eg_net_spec_of(p->at->net)->classes / p->known.classes;
    p->rng = eg_piece_stream(p->at, p->known.client, 0);
    eg_status s = personal_draw(p, &drawn);
    if (s == EG_OK)
        s = personal_mix(p, &drawn, to);
    eg_class_drawings_fini(&drawn);
    EG_TRY(s);
    EG_TRY(eg_bundle_scalar(to, "wanted", p->wanted));
    EG_TRY(eg_bundle_scalar(to, "taken", p->taken));
    EG_TRY(eg_bundle_scalar(to, "tried", p->tried));
    return eg_bundle_scalar(to, "refused", p->refused);
}

eg_status eg_pfedgrp_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    personal_piece p = {.is = options, .at = piece};
    eg_status s = personal_do(&p, to);
    free(p.params);
    free(p.states);
    return s;
}

/* What the server has of all pieces. */
typedef struct personal_work {
    const eg_pfedgrp_server *p;
    eg_server *s;
    int64_t n, *clients; /* [n]: everybody it knows */
    int64_t n_uploads;
    eg_bundle *uploads;
    double own, n_own, n_infinite;
    double wanted, taken, tried, refused;
} personal_work;

static eg_status personal_give(void *context, int64_t i, eg_bundle *to)
{
    const personal_work *w = context;
    return eg_pfedgrp_give(w->p, w->s, w->clients[i], to);
}

static double personal_scalar(const eg_bundle *from, const char *name)
{
    double is = 0;
    eg_bundle_scalar_of(from, name, &is);
    return is;
}

static eg_status personal_take(void *context, int64_t i, const eg_bundle *from)
{
    personal_work *w = context;
    const float *param, *state = NULL;
    double own = personal_scalar(from, "own");
    w->wanted += personal_scalar(from, "wanted");
    w->taken += personal_scalar(from, "taken");
    w->tried += personal_scalar(from, "tried");
    w->refused += personal_scalar(from, "refused");
    w->n_infinite += personal_scalar(from, "finite") == 0;
    w->own += own >= 0 ? own : 0;
    w->n_own += own >= 0;
    EG_TRY(eg_bundle_need(from, "param", w->s->n_params, &param));
    if (w->s->n_state)
        EG_TRY(eg_bundle_need(from, "state", w->s->n_state, &state));
    return eg_pfedgrp_keep_personal(w->s, w->clients[i], param, state);
}

static eg_status personal_add_upload(const personal_work *w, const eg_pfedgrp_known *known)
{
    EG_TRY(eg_bundle_add_flat(w->uploads, personal_upload(w->n_uploads, "param").text,
                              known->param, w->s->n_params));
    return w->s->n_state
               ? eg_bundle_add_flat(w->uploads, personal_upload(w->n_uploads, "state").text,
                                    known->state, w->s->n_state)
               : EG_OK;
}

/* Whom the server knows, and what was sent in this round. */
static eg_status personal_gather(personal_work *w)
{
    int64_t n = eg_scenario_n_clients(w->s->scenario);
    float *senders;
    EG_TRY(eg_bundle_new(&w->uploads));
    EG_TRY(eg_alloc((size_t)n, sizeof *w->clients, &w->clients));
    EG_TRY(eg_alloc((size_t)n, sizeof *senders, &senders));
    eg_status s = EG_OK;
    for (int64_t c = 0; c < n && s == EG_OK; c++) {
        eg_pfedgrp_known known;
        bool found;
        s = eg_pfedgrp_recall(w->p, w->s, c, &known, &found);
        if (s != EG_OK || !found)
            continue;
        w->clients[w->n++] = c;
        if (known.round == w->s->round) {
            s = personal_add_upload(w, &known);
            senders[w->n_uploads++] = (float)c;
        }
        if (s == EG_OK)
            s = eg_pfedgrp_release(w->s, c);
    }
    if (s == EG_OK && w->n_uploads > 0)
        s = eg_bundle_add_flat(w->uploads, PERSONAL_SENDERS, senders, (size_t)w->n_uploads);
    free(senders);
    return s;
}

static eg_status personal_note(const personal_work *w)
{
    if (w->tried > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_accepted", w->taken / w->tried));
    if (w->wanted > w->taken)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_missing", w->wanted - w->taken));
    if (w->refused > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.server_refused", w->refused));
    if (w->n_infinite > 0)
        EG_TRY(eg_server_note(w->s, "pfedgrp.weights_not_finite", w->n_infinite));
    return w->n_own > 0 ? eg_server_note(w->s, "pfedgrp.own_weight", w->own / w->n_own) : EG_OK;
}

/* The average stays as it is. */
eg_status eg_pfedgrp_finish(void *self, eg_server *s, int exchange)
{
    personal_work w = {.p = self, .s = s};
    (void)exchange; /* it has training alone */
    eg_status status = personal_gather(&w);
    const eg_work work = {.n = w.n,
                          .all = w.uploads,
                          .give = personal_give,
                          .take = personal_take,
                          .context = &w};
    if (status == EG_OK && w.n_uploads > 0)
        status = eg_server_share(s, &work);
    if (status == EG_OK && w.n_uploads > 0)
        status = personal_note(&w);
    eg_bundle_free(w.uploads);
    free(w.clients);
    return status;
}
