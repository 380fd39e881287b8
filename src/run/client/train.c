/* train.c - local training: batch after batch, with the method's hooks in their order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/classes.h"
#include "run/client/outputs.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>

enum { TRAIN_PLANS = 8 };

static void train_record(void *context, eg_graph *g, int64_t batch)
{
    eg_worker *w = context;
    eg_node *loss = eg_worker_plain_loss(w, g, batch);
    w->client.plain = loss;
    loss = eg_chain_loss(&w->chain, &w->client, g, loss);
    eg_output(g, "loss", loss);
    eg_net_backward(w->net, g, loss);
    w->client.features = w->client.plain = NULL;
}

eg_status eg_worker_open_train(eg_worker *w)
{
    const eg_learner *m = w->model;
    size_t rows = (size_t)(w->e->train.batch * w->feed->fan);
    EG_TRY(eg_alloc(rows, sizeof *w->fed, &w->fed));
    EG_TRY(eg_program_new(train_record, w, TRAIN_PLANS, &w->learn));
    return eg_program_bind(w->learn, m->table, m->param, m->grad, m->state);
}

/* Repeats samples that are fewer than a batch, as `pad` does: an endless stream has whole ones.
 */
static eg_status train_fill_up(eg_worker *w)
{
    eg_client *c = &w->client;
    int64_t n = c->n_samples;
    for (int64_t i = n; n > 0 && i < w->e->train.batch; i++)
        EG_TRY(eg_client_add_sample(c, c->samples[i % n].task, c->samples[i % n].id));
    return EG_OK;
}

/* This round's samples: those of the view, then what parts add. */
static eg_status train_gather(eg_worker *w)
{
    eg_client *c = &w->client;
    const eg_view *v = &c->view;
    for (int64_t k = 0; k < v->n_spans; k++)
        for (int64_t i = 0; i < v->spans[k].n; i++)
            EG_TRY(eg_client_add_sample(c, v->spans[k].task, v->spans[k].ids[i]));
    for (int64_t i = v->n; i < v->n_padded; i++)
        EG_TRY(eg_client_add_sample(c, c->samples[i % v->n].task, c->samples[i % v->n].id));
    EG_TRY(eg_chain_samples(&w->chain, c));
    if (c->memory)
        EG_TRY(eg_worker_note_fresh(w));
    if (w->e->train.steps > 0)
        EG_TRY(train_fill_up(w));
    if (c->n_samples > w->cap_order) {
        free(w->order);
        free(w->picked);
        w->order = NULL, w->picked = NULL;
        EG_TRY(eg_alloc((size_t)c->n_samples, sizeof *w->order, &w->order));
        EG_TRY(eg_alloc((size_t)c->n_samples, sizeof *w->picked, &w->picked));
        w->cap_order = c->n_samples;
    }
    return EG_OK;
}

/* Offers n of the batch's rows to the memory, from row `at` on. */
static void train_offer(eg_worker *w, int64_t at, int64_t n, eg_rng *rng)
{
    eg_client *c = &w->client;
    /* The memory only reads its rows. */
    float *logits = w->agreed->all.logits ? (float *)(uintptr_t)c->logits : NULL;
    eg_memory_push(c->memory,
                   &(eg_memory_rows){.n = n,
                                     .x = c->x + (size_t)at * w->feed->sample,
                                     .labels = c->labels + at,
                                     .logits = logits ? logits + at * c->n_classes : NULL},
                   rng);
}

/* Offers the batch's own rows to the memory, but for those that parts made, and for samples of
 * the past that parts added: these were offered when they were new, and a memory in which all
 * are to have the same chance must not see them again with every stage. */
static void train_remember(eg_worker *w)
{
    eg_client *c = &w->client;
    bool once = w->e->memory.insert == 1 || w->agreed->all.insert_once;
    if (!c->memory || w->agreed->all.fills || ((c->epoch > 0 || !c->view.first) && once))
        return;
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_MEMORY);
    rng.block = c->step << 32;
    /* Logits that are not finite would come back in every round that draws them: such a batch
     * is not remembered. */
    if (w->agreed->all.logits && !eg_all_finite(c->logits, (size_t)(c->n_drawn * c->n_classes)))
        return;
    for (int64_t at = 0, n; at < c->n_drawn; at += n + 1) {
        for (n = 0; at + n < c->n_drawn && eg_worker_is_fresh(w, &c->drawn[at + n]); n++)
            ;
        if (n > 0)
            train_offer(w, at, n, &rng);
    }
}

/* The plan of a batch: another one for each number of rows that stand apart from it, and for
 * each form that parts have. */
static eg_status train_plan(eg_worker *w)
{
    eg_client *c = &w->client;
    uint64_t form = eg_chain_form(&w->chain, c, eg_worker_replay_form(w));
    EG_TRY(eg_program_plan_of(w->learn, c->batch, form, &c->plan));
    c->x = eg_plan_input(c->plan, "x");
    c->labels = eg_plan_input(c->plan, "labels");
    return EG_OK;
}

/* Assembles a batch of n samples of this round and the rows replayed with it. */
static eg_status train_fill(eg_worker *w, const eg_sample *samples, int64_t n)
{
    eg_client *c = &w->client;
    int64_t rows = n * w->feed->fan;
    for (int64_t i = 0; i < rows; i++)
        w->fed[i] = samples[i / w->feed->fan];
    c->batch = rows + eg_worker_joining(w);
    c->drawn = w->fed, c->n_drawn = rows;
    EG_TRY(train_plan(w));
    eg_outputs_tell(w, c->plan, w->fed, rows, c->batch);
    eg_rng augment = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_AUGMENT);
    augment.block = c->step << 32;
    eg_client_feed_batch(c, samples, n, &augment, c->x, c->labels);
    eg_worker_replay(w, rows);
    eg_worker_mask(w, c->plan, w->fed, rows, c->batch);
    return eg_chain_fill(&w->chain, c);
}

/* One batch: assemble, run, let the parts change the gradient, step. */
static eg_status train_batch(eg_worker *w, const eg_sample *samples, int64_t n)
{
    eg_client *c = &w->client;
    EG_TRY(train_fill(w, samples, n));
    eg_rng dropout = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_DROPOUT);
    eg_plan_seed(c->plan, &dropout, c->step);
    eg_outputs_clear(w, c->grad);
    EG_TRY(eg_plan_run(c->plan));
    c->logits = eg_plan_output(c->plan, "logits");
    c->loss += (double)*eg_plan_output(c->plan, "loss");
    c->n_batches++;
    EG_TRY(eg_chain_grad(&w->chain, c));
    if (w->e->train.clip > 0)
        eg_clip_norm(c->grad, c->n_params, w->e->train.clip);
    eg_optimizer_step(w->model->optimizer, c->param, c->grad);
    train_remember(w);
    c->step++;
    return EG_OK;
}

/* The order of the samples in the epoch, or in this pass of an endless stream. */
static void train_shuffle(eg_worker *w)
{
    eg_client *c = &w->client;
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_SHUFFLE);
    rng.block = (uint64_t)c->epoch << 40;
    for (int64_t i = 0; i < c->n_samples; i++)
        w->order[i] = i;
    eg_rng_shuffle(&rng, (size_t)c->n_samples, w->order);
    for (int64_t i = 0; i < c->n_samples; i++)
        w->picked[i] = c->samples[w->order[i]];
}

/* Batches of the endless stream in this round. `scale` makes them fewer, as it does with the
 * batches of an epoch. */
static int64_t train_n_steps(const eg_worker *w)
{
    double less = floor((double)w->e->train.steps * w->e->scale + 1e-9);
    return less < 1 ? 1 : (int64_t)less;
}

/* train.steps: pass after pass over the samples, shuffled anew each time, in whole batches;
 * what is left of a pass is dropped. */
static eg_status train_stream(eg_worker *w)
{
    eg_client *c = &w->client;
    int64_t size = w->e->train.batch, left = train_n_steps(w);
    for (c->epoch = 0; left > 0; c->epoch++) {
        train_shuffle(w);
        for (int64_t at = 0; at + size <= c->n_samples && left > 0; at += size, left--)
            EG_TRY(train_batch(w, w->picked + at, size));
    }
    return EG_OK;
}

eg_status eg_worker_train(eg_worker *w)
{
    eg_client *c = &w->client;
    int64_t size = w->e->train.batch;
    EG_TRY(train_gather(w));
    if (w->e->train.steps > 0)
        return c->n_samples > 0 ? train_stream(w) : EG_OK;
    for (c->epoch = 0; c->epoch < w->e->train.epochs; c->epoch++) {
        train_shuffle(w);
        for (int64_t at = 0; at < c->n_samples; at += size)
            EG_TRY(train_batch(w, w->picked + at,
                               c->n_samples - at < size ? c->n_samples - at : size));
    }
    return EG_OK;
}
