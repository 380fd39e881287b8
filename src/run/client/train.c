/* train.c - local training: batch after batch, with the method's hooks in their order; the
 * optimiser, and rows of the memory that parts asked for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/outputs.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>

enum { TRAIN_PLANS = 8 };

eg_status eg_worker_open_optimizer(eg_worker *w)
{
    const eg_optimizer_opts *o = &w->e->optimizer;
    return eg_optimizer_make(o->kind, o->options, w->model->n_params, &w->model->optimizer);
}

/* A state that is not finite is not kept: the client would never come back from it. */
eg_status eg_worker_keep_optimizer(eg_worker *w)
{
    const eg_learner *m = w->model;
    eg_bundle *b;
    if (w->e->train.optimizer_state == 0)
        return EG_OK;
    EG_TRY(eg_bundle_new(&b));
    eg_status s = EG_OK;
    bool finite = true;
    for (int i = 0; eg_optimizer_slot(m->optimizer, i); i++)
        finite &= eg_all_finite(eg_optimizer_slot(m->optimizer, i), m->n_params);
    if (finite)
        s = eg_learner_keep_optimizer(m, "optimizer", b);
    EG_TRY(eg_bundle_filled(b, s));
    return eg_client_keep(&w->client, "optimizer", b);
}

eg_status eg_worker_begin_optimizer(eg_worker *w)
{
    const eg_bundle *kept;
    eg_optimizer_reset(w->model->optimizer);
    eg_optimizer_set_rate(w->model->optimizer, w->client.lr);
    if (w->e->train.optimizer_state == 0)
        return EG_OK;
    EG_TRY(eg_client_recall(&w->client, "optimizer", &kept));
    return kept && eg_bundle_n(kept) ? eg_learner_recall_optimizer(w->model, "optimizer", kept)
                                     : EG_OK;
}

/* How many rows replay i has now. */
static int64_t train_replay_rows(const eg_worker *w, size_t i)
{
    int64_t there = eg_memory_filled(w->client.memory), wanted = w->agreed->replays[i].is.rows;
    return there < wanted ? there : wanted;
}

int64_t eg_worker_joining(const eg_worker *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->agreed->n_replays; i++)
        sum += w->agreed->replays[i].is.joins ? train_replay_rows(w, i) : 0;
    return sum;
}

uint64_t eg_worker_replay_form(const eg_worker *w)
{
    uint64_t form = 0;
    for (size_t i = 0; i < w->agreed->n_replays; i++)
        if (!w->agreed->replays[i].is.joins)
            form = form * 65537 + (uint64_t)train_replay_rows(w, i);
    return form;
}

eg_replayed eg_client_replayed(eg_client *c, eg_graph *g, size_t i)
{
    const eg_worker *w = c->worker;
    const eg_net_spec *net = eg_net_spec_of(c->net);
    eg_replayed r = {0};
    for (size_t k = 0; k < w->agreed->n_replays; k++) {
        const eg_replay *is = &w->agreed->replays[k].is;
        const eg_replay_inputs *names = &w->agreed->replays[k].inputs;
        if (w->agreed->replays[k].part != c->part || w->agreed->replays[k].index != i)
            continue;
        r.n = is->joins ? 0 : train_replay_rows(w, k);
        if (r.n == 0)
            break;
        r.x = eg_input(g, names->x, eg_dims(r.n, net->channels, net->height, net->width));
        if (is->labels)
            r.labels = eg_input(g, names->labels, eg_aim_shape(c->aim, r.n));
        if (is->logits)
            r.logits = eg_input(g, names->logits, eg_dims(r.n, c->n_classes));
    }
    return r;
}

/* Where the rows of replay i go: into the batch behind `at`, or the part's own inputs. */
static eg_memory_rows train_replay_place(const eg_worker *w, size_t i, int64_t at)
{
    const eg_client *c = &w->client;
    const eg_replay_inputs *names = &w->agreed->replays[i].inputs;
    eg_memory_rows to = {.n = train_replay_rows(w, i)};
    if (w->agreed->replays[i].is.joins) {
        to.x = c->x + (size_t)at * w->feed->sample;
        to.labels = c->labels + at * c->aim->width;
    } else if (to.n) {
        to.x = eg_plan_input(c->plan, names->x);
        to.labels = eg_plan_input(c->plan, names->labels);
        to.logits = eg_plan_input(c->plan, names->logits);
    }
    return to;
}

void eg_worker_replay(eg_worker *w, int64_t at)
{
    for (size_t i = 0; i < w->agreed->n_replays; i++) {
        size_t part = w->agreed->replays[i].part;
        double since = eg_seconds();
        eg_memory_rows to = train_replay_place(w, i, at);
        w->client.part = part;
        eg_rng rng = eg_client_stream(&w->client, (uint32_t)w->agreed->replays[i].index);
        if (to.n && to.x) /* a loss hook need not have recorded all it asked for */
            eg_memory_draw(w->client.memory, &rng, &to);
        at += w->agreed->replays[i].is.joins ? to.n : 0;
        w->chain.seconds[part] += eg_seconds() - since;
    }
}

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
                                     .labels = c->labels + at * c->aim->width,
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
