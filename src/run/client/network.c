/* network.c - the run's network at any weights, on any rows: gradients and looks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/outputs.h"

#include "engine/graph/graph.h"
#include "engine/model/net.h"

#include <engram/op.h>

#include <stdlib.h>
#include <string.h>

enum { NETWORK_PLANS = 4, NETWORK_FEW = 16 };

eg_node *eg_worker_input(eg_graph *g, const char *name, eg_shape shape)
{
    eg_node *there = eg_find_input(g, name);
    return there ? there : eg_input(g, name, shape);
}

static eg_node *network_input(const eg_worker *w, eg_graph *g, int64_t batch)
{
    const eg_feed *f = w->feed;
    return eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
}

static eg_node *network_logits(eg_worker *w, eg_graph *g, eg_node *x)
{
    if (!eg_is_poison(x))
        eg_outputs_declare(w, g, eg_node_shape(x).dim[0]);
    w->client.features = eg_net_features(w->net, g, x);
    return eg_outputs_record(w, g, w->client.features, EG_OUTPUTS_OPEN);
}

/* The targets of the rows. */
static eg_node *network_truth(const eg_worker *w, eg_graph *g, int64_t batch)
{
    return eg_input(g, "labels", eg_aim_shape(&w->feed->aim, batch));
}

eg_node *eg_worker_plain_loss(eg_worker *w, eg_graph *g, int64_t batch)
{
    eg_node *logits = network_logits(w, g, network_input(w, g, batch));
    eg_output(g, "logits", logits);
    const eg_aim *aim = &w->feed->aim;
    eg_node *judged = eg_worker_judged(w, g, logits);
    return aim->kind->loss(aim, g, judged, network_truth(w, g, batch));
}

static void network_record_gradient(eg_worker *w, eg_graph *g, int64_t batch, eg_form form)
{
    eg_graph_set_training(g, form == EG_TRAIN_FORM);
    eg_net_backward(w->net, g, eg_worker_plain_loss(w, g, batch));
    w->client.features = NULL;
}

static void network_record_train(void *context, eg_graph *g, int64_t batch)
{
    network_record_gradient(context, g, batch, EG_TRAIN_FORM);
}

eg_status eg_worker_plan_bytes(eg_worker *w, int64_t rows, size_t *out)
{
    eg_graph *g;
    eg_plan *plan = NULL;
    *out = 0;
    EG_TRY(eg_graph_new(&g));
    g->measured = true;
    network_record_gradient(w, g, rows, EG_TRAIN_FORM);
    eg_status s = eg_compile(g, &plan);
    if (s == EG_OK)
        *out = eg_plan_bytes(plan);
    eg_plan_free(plan);
    eg_graph_free(g);
    return s;
}

static void network_record_eval(void *context, eg_graph *g, int64_t batch)
{
    network_record_gradient(context, g, batch, EG_EVAL_FORM);
}

/* The loss of each row. */
static eg_node *network_losses(eg_worker *w, eg_graph *g, eg_node *logits, eg_node *truth)
{
    const eg_aim *aim = &w->feed->aim;
    return aim->kind->losses(aim, g, eg_worker_judged(w, g, logits), truth);
}

/* Keeps the norms of the rows' own gradients, of losses [batch]. */
static void network_keep_norms(const eg_worker *w, eg_graph *g, eg_node *losses)
{
    eg_output(g, "norms", eg_sample_norms(g, losses, eg_net_params(w->net)));
}

/* Records the outputs of a look; the gradient's norms cost a backward pass. */
static void network_record_look(eg_worker *w, eg_graph *g, int64_t batch, bool norms)
{
    eg_graph_set_training(g, false);
    eg_node *truth = network_truth(w, g, batch);
    eg_node *logits = network_logits(w, g, network_input(w, g, batch));
    eg_node *losses = network_losses(w, g, logits, truth);
    eg_output(g, "features", w->client.features);
    eg_output(g, "logits", logits);
    eg_output(g, "losses", losses);
    w->client.features = NULL;
    if (norms)
        network_keep_norms(w, g, losses);
}

/* Records the norms of a look, then the gradient of the rows' total loss in training form. Both
 * begin as the same sum, so a network whose forms are one, without dropout and batch norm, has
 * the same nodes in both: one pass gives them. Statistics move behind the norms. */
static void network_record_both(void *context, eg_graph *g, int64_t batch)
{
    eg_worker *w = context;
    eg_node *x = network_input(w, g, batch), *truth = network_truth(w, g, batch);
    for (int training = 0; training < 2; training++) {
        eg_graph_set_training(g, training);
        eg_node *logits = network_logits(w, g, x);
        eg_node *losses = network_losses(w, g, logits, truth);
        if (training)
            eg_net_backward(w->net, g, losses);
        else
            network_keep_norms(w, g, losses);
    }
    w->client.features = NULL;
}

static void network_record_outputs(void *context, eg_graph *g, int64_t batch)
{
    network_record_look(context, g, batch, false);
}

static void network_record_norms(void *context, eg_graph *g, int64_t batch)
{
    network_record_look(context, g, batch, true);
}

eg_status eg_worker_open_network(eg_worker *w)
{
    static const eg_recorder plain[] = {network_record_train, network_record_eval};
    static const eg_recorder looks[] = {network_record_outputs, network_record_norms};
    for (int i = 0; i < 2; i++) {
        EG_TRY(eg_program_new(plain[i], w, NETWORK_PLANS, &w->plain[i]));
        EG_TRY(eg_program_new(looks[i], w, NETWORK_PLANS, &w->looks[i]));
    }
    return eg_program_new(network_record_both, w, NETWORK_PLANS, &w->both);
}

/* Has a program compute at a point; its plans are told only if that is another one. */
static eg_status network_stand(eg_worker *w, eg_program *p, const eg_point *at, float *grad)
{
    const eg_learner *m = w->model;
    return eg_program_bind(p, m->table, at && at->param ? at->param : m->param, grad,
                           at && at->state ? at->state : m->state);
}

/* Fills the rows of a plan, and says what they may be taken for. */
static void network_fill(eg_worker *w, eg_plan *plan, const eg_rows *rows)
{
    float *x = eg_plan_input(plan, "x"), *labels = eg_plan_input(plan, "labels");
    int64_t known = rows->samples ? rows->n : 0;
    if (rows->samples)
        eg_client_feed(&w->client, rows->samples, rows->n, x, labels);
    else {
        EG_ASSERT(rows->x != NULL);
        memcpy(x, rows->x, (size_t)rows->n * w->feed->sample * sizeof *x);
        if (labels && rows->labels)
            memcpy(labels, rows->labels,
                   (size_t)(rows->n * w->feed->aim.width) * sizeof *labels);
    }
    eg_worker_mask(w, plan, rows->samples, known, rows->n);
    eg_outputs_tell(w, plan, rows->samples, known, rows->n);
}

/* Runs a filled plan of `plain` or `both`: its gradient is in w->beside. Its dropout masks are
 * those of a step that no batch has, by how many gradients came before in this turn: the first
 * gradients of a client's turns in two exchanges of one round have the same masks. */
static eg_status network_run(eg_worker *w, eg_plan *plan)
{
    const eg_client *c = &w->client;
    uint64_t step = 1ull << 40 | w->n_gradients++;
    eg_rng dropout = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_DROPOUT);
    eg_plan_seed(plan, &dropout, step);
    eg_outputs_clear(w, w->beside);
    return eg_plan_run(plan);
}

/* Rows of a gradient at a time. What one keeps of a transformer's rows, with hundreds of tokens
 * each, is large; they know nothing of each other, so that pieces add up. */
static int64_t network_rows(const eg_worker *w, int64_t n)
{
    bool few = eg_net_model(w->net)->alone && w->feed->height > 1 && n > NETWORK_FEW;
    return few ? NETWORK_FEW : n;
}

/* Rows `at` to `at + n` of all. */
static eg_rows network_piece(const eg_worker *w, const eg_rows *all, int64_t at, int64_t n)
{
    return (eg_rows){.n = n,
                     .samples = all->samples ? all->samples + at : NULL,
                     .x = all->x ? all->x + (size_t)at * w->feed->sample : NULL,
                     .labels = all->labels ? all->labels + at * w->feed->aim.width : NULL};
}

/* The mean gradient of rows in pieces, in w->beside. */
static eg_status network_run_pieces(eg_worker *w, eg_program *p, const eg_rows *rows)
{
    int64_t size = network_rows(w, rows->n);
    size_t n = w->client.n_params;
    eg_plan *plan;
    if (!w->pieces)
        EG_TRY(eg_alloc(n, sizeof *w->pieces, &w->pieces));
    memset(w->pieces, 0, n * sizeof *w->pieces);
    for (int64_t at = 0; at < rows->n; at += size) {
        int64_t m = rows->n - at < size ? rows->n - at : size;
        eg_rows piece = network_piece(w, rows, at, m);
        EG_TRY(eg_program_plan(p, m, &plan));
        network_fill(w, plan, &piece);
        EG_TRY(network_run(w, plan));
        float share = (float)m / (float)rows->n;
        for (size_t i = 0; i < n; i++)
            w->pieces[i] += share * w->beside[i];
    }
    memcpy(w->beside, w->pieces, n * sizeof *w->beside);
    return EG_OK;
}

eg_status eg_client_gradient(eg_client *c, const eg_point *at, eg_form form,
                             const eg_rows *rows, const float **out)
{
    eg_worker *w = c->worker;
    eg_plan *plan;
    *out = w->beside;
    EG_TRY(network_stand(w, w->plain[form], at, w->beside));
    if (network_rows(w, rows->n) < rows->n)
        return network_run_pieces(w, w->plain[form], rows);
    EG_TRY(eg_program_plan(w->plain[form], rows->n, &plan));
    network_fill(w, plan, rows);
    return network_run(w, plan);
}

/* The gradient of n rows of the memory in pieces. */
static eg_status network_replay_pieces(eg_worker *w, int64_t n, eg_rng *rng)
{
    size_t sample = w->feed->sample, width = (size_t)w->feed->aim.width;
    if (n > w->cap_replayed) {
        free(w->replayed);
        w->replayed = NULL, w->cap_replayed = 0;
        EG_TRY(eg_alloc((size_t)n * (sample + width), sizeof *w->replayed, &w->replayed));
        w->cap_replayed = n;
    }
    float *labels = w->replayed + (size_t)n * sample;
    eg_memory_draw(w->client.memory, rng,
                   &(eg_memory_rows){.n = n, .x = w->replayed, .labels = labels});
    return network_run_pieces(w, w->plain[EG_TRAIN_FORM],
                              &(eg_rows){.n = n, .x = w->replayed, .labels = labels});
}

eg_status eg_client_replay_gradient(eg_client *c, int64_t n, uint32_t draw, const float **out)
{
    eg_worker *w = c->worker;
    eg_plan *plan;
    int64_t there = eg_memory_filled(c->memory);
    *out = NULL;
    n = n < there ? n : there;
    if (n == 0)
        return EG_OK;
    EG_TRY(network_stand(w, w->plain[EG_TRAIN_FORM], NULL, w->beside));
    eg_rng rng = eg_client_stream(c, draw);
    if (network_rows(w, n) < n) {
        *out = w->beside;
        return network_replay_pieces(w, n, &rng);
    }
    EG_TRY(eg_program_plan(w->plain[EG_TRAIN_FORM], n, &plan));
    eg_memory_draw(c->memory, &rng,
                   &(eg_memory_rows){.n = n,
                                     .x = eg_plan_input(plan, "x"),
                                     .labels = eg_plan_input(plan, "labels")});
    eg_worker_mask(w, plan, NULL, 0, n);
    eg_outputs_tell(w, plan, NULL, 0, n);
    *out = w->beside;
    return network_run(w, plan);
}

/* Copies rows of an output, if it is wanted. */
static void network_take(eg_plan *plan, const char *name, int64_t rows, int64_t width,
                         float *to)
{
    if (to)
        memcpy(to, eg_plan_output(plan, name), (size_t)(rows * width) * sizeof *to);
}

eg_status eg_client_gradient_norms(eg_client *c, const eg_point *at, const eg_rows *rows,
                                   float *norms, const float **out)
{
    eg_worker *w = c->worker;
    eg_plan *plan;
    *out = w->beside;
    EG_TRY(network_stand(w, w->both, at, w->beside));
    EG_TRY(eg_program_plan(w->both, rows->n, &plan));
    network_fill(w, plan, rows);
    EG_TRY(network_run(w, plan));
    network_take(plan, "norms", rows->n, 1, norms);
    for (size_t i = 0; i < c->n_params; i++)
        w->beside[i] /= (float)rows->n;
    return EG_OK;
}

eg_status eg_client_look(eg_client *c, const eg_weights *at, const eg_rows *rows,
                         const eg_look *out)
{
    eg_worker *w = c->worker;
    eg_program *program = w->looks[out->norms != NULL];
    int64_t size = w->e->train.batch, d = eg_net_n_features(c->net), classes = c->n_classes;
    EG_TRY(eg_program_read(program, w->model->table,
                           &(eg_weights){at && at->param ? at->param : w->model->param,
                                         at && at->state ? at->state : w->model->state}));
    for (int64_t i = 0; i < rows->n; i += size) {
        int64_t n = rows->n - i < size ? rows->n - i : size;
        eg_rows piece = network_piece(w, rows, i, n);
        eg_plan *plan;
        EG_TRY(eg_program_plan(program, n, &plan));
        network_fill(w, plan, &piece);
        EG_TRY(eg_plan_run(plan));
        network_take(plan, "norms", n, 1, out->norms ? out->norms + i : NULL);
        network_take(plan, "losses", n, 1, out->losses ? out->losses + i : NULL);
        network_take(plan, "logits", n, classes,
                     out->logits ? out->logits + i * classes : NULL);
        network_take(plan, "features", n, d, out->features ? out->features + i * d : NULL);
    }
    return EG_OK;
}
