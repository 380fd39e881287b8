/* worker.c - local training and testing on one thread, with the method's hooks in their order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/classes.h"
#include "client/outputs.h"

#include <engram/metric.h>
#include <engram/op.h>

#include <stdlib.h>
#include <string.h>

enum { WORKER_TEST_BATCH = 250, WORKER_PLANS = 8 };

static eg_node *worker_input(const eg_worker *w, eg_graph *g, int64_t batch)
{
    const eg_feed *f = w->feed;
    return eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
}

static eg_node *worker_loss(eg_worker *w, eg_graph *g, int64_t batch)
{
    w->client.features = eg_net_features(w->net, g, worker_input(w, g, batch));
    eg_node *logits = eg_outputs_record(w, g, w->client.features, EG_OUTPUTS_OPEN);
    eg_output(g, "logits", logits);
    return eg_cross_entropy(g, eg_worker_masked(w, g, logits),
                            eg_input(g, "labels", eg_dims(batch)), NULL);
}

static void worker_record_plain(void *context, eg_graph *g, int64_t batch)
{
    eg_worker *w = context;
    eg_net_backward(w->net, g, worker_loss(w, g, batch));
    w->client.features = NULL;
}

static void worker_record_learning(void *context, eg_graph *g, int64_t batch)
{
    eg_worker *w = context;
    eg_node *loss = worker_loss(w, g, batch);
    w->counted = w->tasks = NULL;
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->loss)
            loss = w->e->parts[i].method->loss(w->states[i], &w->client, g, loss);
    eg_output(g, "loss", loss);
    eg_net_backward(w->net, g, loss);
    w->client.features = NULL;
}

static void worker_record_judging(void *context, eg_graph *g, int64_t batch)
{
    const eg_worker *w = context;
    eg_graph_set_training(g, false);
    eg_node *features = eg_net_features(w->net, g, worker_input(w, g, batch));
    eg_output(g, "logits", eg_outputs_record(w, g, features, EG_OUTPUTS_OPEN));
    if (eg_outputs_own(w->e))
        eg_output(g, "logits in task", eg_outputs_record(w, g, features, EG_OUTPUTS_TOLD));
}

/* Outputs that rows of the memory keep, if a part wants them. */
static size_t worker_n_logits(const eg_worker *w)
{
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->needs_logits)
            return (size_t)w->client.n_classes;
    return 0;
}

eg_status eg_worker_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                         eg_worker *out)
{
    memset(out, 0, sizeof *out);
    eg_worker *w = out;
    const eg_params *p = eg_net_params(net);
    w->e = e, w->feed = feed, w->net = net;
    EG_TRY(eg_params_alloc(p, &w->param));
    EG_TRY(eg_params_alloc(p, &w->grad));
    EG_TRY(eg_params_alloc(p, &w->beside));
    EG_TRY(eg_state_alloc(p, &w->state));
    EG_TRY(eg_alloc(WORKER_TEST_BATCH, sizeof *w->truth, &w->truth));
    EG_TRY(eg_worker_open_optimizer(w));
    EG_TRY(eg_program_new(worker_record_learning, w, WORKER_PLANS, &w->learn));
    EG_TRY(eg_program_new(worker_record_judging, w, 4, &w->judge));
    EG_TRY(eg_program_new(worker_record_plain, w, 4, &w->plain));
    EG_TRY(eg_client_open_looks(w));
    EG_TRY(eg_program_bind(w->plain, p, w->param, w->beside, w->state));
    EG_TRY(eg_program_bind(w->learn, p, w->param, w->grad, w->state));
    for (size_t i = 0; i < e->n_parts; i++)
        EG_TRY(eg_alloc(1, e->parts[i].method->size + 1, &w->states[i]));
    w->client.n_classes = eg_net_spec_of(net)->classes;
    EG_TRY(eg_alloc((size_t)w->client.n_classes, 1, &w->met));
    if (e->memory.kind)
        EG_TRY(eg_memory_new((eg_memory_kind)e->memory.kind, e->memory.size, feed->sample,
                             worker_n_logits(w), &w->client.memory));
    w->client.net = net;
    w->client.worker = w;
    w->client.scenario = feed->scenario;
    w->client.train = &e->train;
    w->client.n_params = eg_params_length(p);
    w->client.n_state = eg_state_length(p);
    w->client.param = w->param, w->client.grad = w->grad, w->client.state = w->state;
    return EG_OK;
}

/* Ends what a part had for a turn: its state may own memory. */
static void worker_end_part(eg_worker *w, size_t i)
{
    if (w->states[i] && w->e->parts[i].method->fini)
        w->e->parts[i].method->fini(w->states[i]);
}

void eg_worker_close(eg_worker *w)
{
    eg_program_free(w->learn);
    eg_program_free(w->judge);
    eg_program_free(w->plain);
    eg_program_free(w->eval);
    eg_program_free(w->looks[0]);
    eg_program_free(w->looks[1]);
    eg_optimizer_free(w->optimizer);
    eg_memory_free(w->client.memory);
    for (size_t i = 0; w->e && i < w->e->n_parts; i++) {
        worker_end_part(w, i);
        free(w->states[i]);
    }
    free(w->client.samples);
    free(w->param);
    free(w->grad);
    free(w->beside);
    free(w->state);
    free(w->order);
    free(w->picked);
    free(w->truth);
    free(w->met);
}

/* Calls one hook of every part, in order, and counts its time; its name goes before an error.
 */
#define WORKER_EACH(w, hook, ...)                                                              \
    for (size_t part = 0; part < (w)->e->n_parts; part++)                                      \
        if ((w)->e->parts[part].method->hook) {                                                \
            double begun = eg_seconds();                                                       \
            eg_status of = (w)->e->parts[part].method->hook((w)->states[part], __VA_ARGS__);   \
            (w)->part_seconds[part] += eg_seconds() - begun;                                   \
            EG_TRY(eg_blame(of, "%s", (w)->e->parts[part].method->name));                      \
        }

static bool worker_is_personal(const eg_worker *w)
{
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->personal)
            return true;
    return false;
}

/* A tensor of a bundle as the memory takes it: it only reads. */
static float *worker_find(const eg_bundle *b, const char *name, size_t *n)
{
    return (float *)(uintptr_t)eg_bundle_find(b, name, n);
}

static eg_status worker_restore_memory(eg_worker *w, const eg_bundle *kept)
{
    eg_memory_rows rows = {.sample = w->feed->sample};
    double seen = 0;
    size_t n_rows = 0, n;
    if (kept) {
        rows.x = worker_find(kept, "memory.x", &n);
        rows.labels = worker_find(kept, "memory.labels", &n_rows);
        rows.logits = worker_find(kept, "memory.logits", &n);
        eg_bundle_scalar_of(kept, "memory.seen", &seen);
    }
    rows.n = (int64_t)n_rows;
    rows.seen = (int64_t)seen;
    return eg_memory_set(w->client.memory, &rows);
}

/* Whether a client that may goes on from its own model: it has one, and, unless models are
 * personal, no round in which the server's went to all came since. */
static bool worker_goes_on(const eg_worker *w, const eg_turn *t)
{
    double last;
    int64_t interval = w->e->server.interval;
    if (!t->own || !t->kept || !eg_bundle_scalar_of(t->kept, "own.round", &last))
        return false;
    return worker_is_personal(w) || (int64_t)last / interval == t->round / interval;
}

/* The model, the memory and the parts as they stood after the client's last round. */
static eg_status worker_restore(eg_worker *w, const eg_turn *t)
{
    eg_client *c = &w->client;
    size_t n;
    for (size_t i = 0; i < w->e->n_parts; i++) {
        worker_end_part(w, i); /* of the turn before; zeroed bytes at first */
        if (w->e->parts[i].method->size)
            memcpy(w->states[i], w->e->parts[i].options, w->e->parts[i].method->size);
    }
    const float *own = worker_goes_on(w, t) ? eg_bundle_find(t->kept, "own.param", &n) : NULL;
    const float *own_state = own ? eg_bundle_find(t->kept, "own.state", &n) : NULL;
    c->global = own && !worker_is_personal(w) ? own : eg_bundle_find(t->down, "param", &n);
    c->global_state =
        own_state && !worker_is_personal(w) ? own_state : eg_bundle_find(t->down, "state", &n);
    memcpy(w->param, own ? own : c->global, c->n_params * sizeof *w->param);
    if (c->n_state)
        memcpy(w->state, own_state ? own_state : c->global_state,
               c->n_state * sizeof *w->state);
    if (c->memory)
        EG_TRY(worker_restore_memory(w, t->kept));
    if (t->kept)
        WORKER_EACH(w, recall, c, t->kept);
    return EG_OK;
}

/* This round's samples: those of the view, then what parts add. */
static eg_status worker_gather(eg_worker *w, const eg_turn *t)
{
    eg_client *c = &w->client;
    c->n_samples = 0;
    for (int64_t k = 0; k < t->view.n_spans; k++)
        for (int64_t i = 0; i < t->view.spans[k].n; i++)
            EG_TRY(eg_client_add_sample(c, t->view.spans[k].task, t->view.spans[k].ids[i]));
    for (int64_t i = t->view.n; i < t->view.n_padded; i++)
        EG_TRY(eg_client_add_sample(c, c->samples[i % t->view.n].task,
                                    c->samples[i % t->view.n].id));
    WORKER_EACH(w, samples, c);
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

/* Rows the parts add to a batch of n, part by part. */
static int64_t worker_extras(eg_worker *w, int64_t extras[EG_MAX_PARTS])
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->e->n_parts; i++) {
        const eg_method *m = w->e->parts[i].method;
        extras[i] = m->extra ? m->extra(w->states[i], &w->client) : 0;
        sum += extras[i];
    }
    return sum;
}

static bool worker_remembers_once(const eg_worker *w)
{
    bool once = w->e->memory.insert == 1;
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->remembers_once)
            once |= w->e->parts[i].method->remembers_once(w->states[i]);
    return once;
}

static eg_status worker_remember(eg_worker *w, int64_t n)
{
    eg_client *c = &w->client;
    if (!c->memory || ((c->epoch > 0 || !c->view.first) && worker_remembers_once(w)))
        return EG_OK;
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_MEMORY);
    rng.block = c->step << 32;
    /* The memory only reads its rows. Logits that are not finite would come back in every round
     * that draws them: such a batch is not remembered. */
    float *logits = worker_n_logits(w) ? (float *)(uintptr_t)c->logits : NULL;
    if (logits && !eg_worker_is_finite(logits, (size_t)(n * c->n_classes)))
        return EG_OK;
    eg_memory_push(c->memory,
                   &(eg_memory_rows){.n = n, .x = c->x, .labels = c->labels, .logits = logits},
                   &rng);
    return EG_OK;
}

/* The plan of a batch: another one for each number of rows that parts see apart from it. */
static eg_status worker_plan(eg_worker *w)
{
    eg_client *c = &w->client;
    uint64_t variant = 0;
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->aside)
            variant = variant * 65537 + (uint64_t)w->e->parts[i].method->aside(w->states[i], c);
    EG_TRY(eg_program_plan_of(w->learn, c->batch, variant, &c->plan));
    c->x = eg_plan_input(c->plan, "x");
    c->labels = eg_plan_input(c->plan, "labels");
    return EG_OK;
}

/* One batch of n samples of this round: assemble, run, let the parts change the gradient, step.
 */
static eg_status worker_batch(eg_worker *w, const eg_sample *samples, int64_t n)
{
    eg_client *c = &w->client;
    const eg_feed *f = w->feed;
    int64_t extras[EG_MAX_PARTS] = {0}, at = n;
    c->batch = n + worker_extras(w, extras);
    c->drawn = samples, c->n_drawn = n;
    EG_TRY(worker_plan(w));
    eg_outputs_tell(w, c->plan, samples, n, c->batch);
    eg_rng augment = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_AUGMENT);
    augment.block = c->step << 32;
    eg_feed_train(f, samples, n, &augment, c->x, c->labels);
    for (size_t i = 0; i < w->e->n_parts; at += extras[i], i++)
        if (extras[i])
            EG_TRY(w->e->parts[i].method->batch(w->states[i], c, c->x + (size_t)at * f->sample,
                                                c->labels + at));
    eg_rng dropout = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_DROPOUT);
    eg_worker_mask(w, c->plan, samples, n, c->batch);
    WORKER_EACH(w, fill, c);
    eg_plan_seed(c->plan, &dropout, c->step);
    eg_outputs_clear(w);
    EG_TRY(eg_plan_run(c->plan));
    c->logits = eg_plan_output(c->plan, "logits");
    c->loss += (double)*eg_plan_output(c->plan, "loss");
    c->n_batches++;
    WORKER_EACH(w, grad, c);
    eg_optimizer_step(w->optimizer, w->param, w->grad);
    WORKER_EACH(w, batch_end, c);
    EG_TRY(worker_remember(w, n));
    c->step++;
    return EG_OK;
}

static eg_status worker_epochs(eg_worker *w)
{
    eg_client *c = &w->client;
    int64_t size = w->e->train.batch;
    for (c->epoch = 0; c->epoch < w->e->train.epochs; c->epoch++) {
        eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_SHUFFLE);
        rng.block = (uint64_t)c->epoch << 40;
        for (int64_t i = 0; i < c->n_samples; i++)
            w->order[i] = i;
        eg_rng_shuffle(&rng, (size_t)c->n_samples, w->order);
        for (int64_t i = 0; i < c->n_samples; i++)
            w->picked[i] = c->samples[w->order[i]];
        for (int64_t at = 0; at < c->n_samples; at += size)
            EG_TRY(worker_batch(w, w->picked + at,
                                c->n_samples - at < size ? c->n_samples - at : size));
    }
    return EG_OK;
}

static eg_status worker_keep_memory(const eg_worker *w, eg_bundle *to)
{
    eg_memory_rows r = eg_memory_get(w->client.memory);
    EG_TRY(eg_bundle_scalar(to, "memory.seen", (double)r.seen));
    if (r.n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_add(to, "memory.x", eg_dims(r.n, (int64_t)r.sample), r.x));
    if (r.logits)
        EG_TRY(eg_bundle_add(to, "memory.logits", eg_dims(r.n, w->client.n_classes), r.logits));
    return eg_bundle_add(to, "memory.labels", eg_dims(r.n), r.labels);
}

/* What goes to the server, and what the client keeps for itself. */
static eg_status worker_finish(eg_worker *w, const eg_turn *t)
{
    eg_client *c = &w->client;
    bool personal = worker_is_personal(w);
    EG_TRY(eg_bundle_scalar(t->up, "samples", (double)t->view.n));
    EG_TRY(eg_bundle_scalar(t->up, "loss", c->n_batches ? c->loss / (double)c->n_batches : 0));
    if (!personal) {
        EG_TRY(eg_bundle_add_flat(t->up, "param", w->param, c->n_params));
        if (c->n_state)
            EG_TRY(eg_bundle_add_flat(t->up, "state", w->state, c->n_state));
    }
    if (personal || w->e->server.interval > 1) {
        EG_TRY(eg_bundle_scalar(t->keep, "own.round", (double)t->round));
        EG_TRY(eg_bundle_add_flat(t->keep, "own.param", w->param, c->n_params));
        if (c->n_state)
            EG_TRY(eg_bundle_add_flat(t->keep, "own.state", w->state, c->n_state));
    }
    if (c->memory)
        EG_TRY(worker_keep_memory(w, t->keep));
    EG_TRY(eg_worker_keep_optimizer(w, t->keep));
    WORKER_EACH(w, upload, c, t->up);
    WORKER_EACH(w, keep, c, t->keep);
    return EG_OK;
}

static eg_status worker_train_all(eg_worker *w)
{
    for (size_t i = 0; i < w->e->n_parts; i++)
        if (w->e->parts[i].method->train)
            return w->e->parts[i].method->train(w->states[i], &w->client);
    return worker_epochs(w);
}

/* The client as it is at the beginning of a turn. */
static eg_status worker_become(eg_worker *w, const eg_turn *t)
{
    eg_client *c = &w->client;
    c->id = t->id, c->round = t->round, c->seed = t->seed;
    c->view = t->view;
    c->told_boundary = t->told_boundary;
    c->has_trained = t->view.left >= 0;
    c->step = 0, c->epoch = 0, c->loss = 0, c->n_batches = 0;
    /* No plan writes the gaps between tensors. What a client that diverged left there must not
     * reach the next one. */
    memset(w->grad, 0, c->n_params * sizeof *w->grad);
    memset(w->beside, 0, c->n_params * sizeof *w->beside);
    eg_worker_meet(w, t);
    EG_TRY(worker_restore(w, t));
    WORKER_EACH(w, download, c, t->down);
    return EG_OK;
}

/* All of it is the second exchange's time, and none the parts'. */
eg_status eg_worker_phase(eg_worker *w, const eg_turn *t)
{
    double since = eg_seconds(), parts[EG_MAX_PARTS];
    memcpy(parts, w->part_seconds, sizeof parts);
    EG_TRY(worker_become(w, t));
    w->apart = 1ull << 42;
    WORKER_EACH(w, phase, &w->client, t->up);
    memcpy(w->part_seconds, parts, sizeof parts);
    w->phase_seconds += eg_seconds() - since;
    return EG_OK;
}

eg_status eg_worker_train(eg_worker *w, const eg_turn *t)
{
    eg_client *c = &w->client;
    double since = eg_seconds();
    EG_TRY(worker_become(w, t));
    w->apart = 1ull << 40;
    EG_TRY(eg_worker_begin_optimizer(w, t->kept));
    if (c->told_boundary && c->has_trained)
        WORKER_EACH(w, task_end, c);
    if (c->told_boundary)
        WORKER_EACH(w, task_begin, c);
    EG_TRY(worker_gather(w, t));
    EG_TRY(worker_train_all(w));
    EG_TRY(worker_finish(w, t));
    w->train_seconds += eg_seconds() - since;
    return EG_OK;
}

eg_status eg_worker_judge(eg_worker *w, const float *param, const float *state,
                          const eg_exam *exam, eg_score *out)
{
    int64_t n = exam->n;
    int64_t outputs = eg_net_spec_of(w->net)->classes;
    *out = (eg_score){.n = n};
    /* The plan only reads them: no gradient, no statistics in eval form. */
    EG_TRY(eg_program_bind(w->judge, eg_net_params(w->net), (float *)(uintptr_t)param, NULL,
                           (float *)(uintptr_t)state));
    for (int64_t at = 0; at < n; at += WORKER_TEST_BATCH) {
        int64_t rows = n - at < WORKER_TEST_BATCH ? n - at : WORKER_TEST_BATCH;
        eg_plan *plan;
        EG_TRY(eg_program_plan(w->judge, rows, &plan));
        eg_feed_test(w->feed, exam->task, exam->ids + at, rows, eg_plan_input(plan, "x"),
                     w->truth);
        eg_outputs_ask(w, plan, exam, rows);
        EG_TRY(eg_plan_run(plan));
        const float *logits = eg_plan_output(plan, "logits"); /* [rows, outputs] */
        const float *in_task = eg_plan_output(plan, "logits in task");
        in_task = in_task ? in_task : logits;
        for (int64_t i = 0; i < rows; i++, logits += outputs, in_task += outputs) {
            out->right +=
                (!exam->allowed || exam->n_allowed) &&
                eg_predict(logits, outputs, exam->allowed, exam->n_allowed) == w->truth[i];
            out->right_in_task +=
                eg_predict(in_task, outputs, exam->classes, exam->n_classes) == w->truth[i];
        }
    }
    return EG_OK;
}
