/* flow.c - records a flow in both directions, trains it, draws with it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/flow.h"

#include "base/base.h"
#include "engine/graph/graph.h"

#include <engram/layers.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOW_LAYERS = 4, FLOW_BLOCKS = 2, FLOW_SEED = 1410 };

static eg_node *flow_linear(const eg_flow *f, eg_graph *g, int layer, const char *what,
                            eg_node *x, int64_t out)
{
    char name[48];
    snprintf(name, sizeof name, "layer%d.%s", layer, what);
    return eg_linear_layer(g, f->table, name, x, out);
}

/* Shift [n, d - h] and scale of the second half, of the first half a [n, h]. */
static eg_node *flow_network(const eg_flow *f, eg_graph *g, int layer, eg_node *a, eg_node *y,
                             eg_node **scale)
{
    int64_t rest = f->d - f->d / 2;
    char name[24];
    eg_node *both[] = {a, y};
    eg_node *h = flow_linear(f, g, layer, "in", eg_concat(g, 2, both, 1), f->hidden);
    for (int i = 0; i < FLOW_BLOCKS; i++) {
        snprintf(name, sizeof name, "%d.0", i);
        eg_node *t = flow_linear(f, g, layer, name, eg_leaky_relu(g, h, 0.01), f->hidden);
        snprintf(name, sizeof name, "%d.1", i);
        t = flow_linear(f, g, layer, name, eg_leaky_relu(g, t, 0.01), f->hidden);
        snprintf(name, sizeof name, "%d.gate", i);
        eg_node *gate = eg_sigmoid(g, flow_linear(f, g, layer, name, y, f->hidden));
        h = eg_add(g, h, eg_mul(g, t, gate));
    }
    eg_node *out = flow_linear(f, g, layer, "out", h, 2 * rest);
    *scale = eg_affine(g, eg_sigmoid(g, eg_affine(g, eg_slice(g, out, 1, rest, rest), 1, 2)), 1,
                       1e-3);
    return eg_slice(g, out, 1, 0, rest);
}

enum { FLOW_THERE, FLOW_BACK, FLOW_WAYS, FLOW_ORDERS = 3 };
static const char *const flow_inputs[FLOW_WAYS][FLOW_ORDERS] = {
    {"reverse", "random 0", "random 1"}, {"reverse back", "back 0", "back 1"}};

/* Columns of x by the permutation of a layer, or by its inverse. */
static eg_node *flow_permuted(const eg_flow *f, eg_graph *g, int layer, int way, eg_node *x)
{
    const char *name = flow_inputs[way][layer < 2 ? 0 : layer - 1];
    eg_node *there = eg_find_input(g, name);
    eg_node *order = there ? there : eg_input(g, name, eg_dims(1, f->d));
    return eg_is_poison(x) ? x : eg_gather(g, x, eg_expand(g, order, x->shape), 1);
}

eg_node *eg_flow_codes(const eg_flow *f, eg_graph *g, eg_node *x, eg_node *y, eg_node **log_det)
{
    int64_t half = f->d / 2;
    *log_det = NULL;
    for (int i = 0; i < FLOW_LAYERS; i++) {
        eg_node *scale;
        x = flow_permuted(f, g, i, FLOW_THERE, x);
        eg_node *a = eg_slice(g, x, 1, 0, half), *b = eg_slice(g, x, 1, half, f->d - half);
        eg_node *shift = flow_network(f, g, i, a, y, &scale);
        eg_node *parts[] = {a, eg_add(g, eg_mul(g, b, scale), shift)};
        eg_node *det = eg_sum(g, eg_log(g, scale), EG_AXIS(1));
        x = eg_concat(g, 2, parts, 1);
        *log_det = *log_det ? eg_add(g, *log_det, det) : det;
    }
    return x;
}

/* The other way. */
static eg_node *flow_rows(const eg_flow *f, eg_graph *g, eg_node *z, eg_node *y)
{
    int64_t half = f->d / 2;
    for (int i = FLOW_LAYERS - 1; i >= 0; i--) {
        eg_node *scale;
        eg_node *a = eg_slice(g, z, 1, 0, half), *b = eg_slice(g, z, 1, half, f->d - half);
        eg_node *shift = flow_network(f, g, i, a, y, &scale);
        eg_node *parts[] = {a, eg_div(g, eg_sub(g, b, shift), scale)};
        z = flow_permuted(f, g, i, FLOW_BACK, eg_concat(g, 2, parts, 1));
    }
    return z;
}

/* log p(x | y) [n, 1]; what is recorded of n rows has inputs of their names. */
static eg_node *flow_logs(const eg_flow *f, eg_graph *g, eg_node *codes, eg_node *log_det)
{
    eg_node *squares = eg_sum(g, eg_mul(g, codes, codes), EG_AXIS(1));
    double whole = -0.5 * (double)f->d * log(2 * 3.14159265358979323846);
    return eg_add(g, eg_affine(g, squares, -0.5, whole), log_det);
}

static eg_node *flow_labels(const eg_flow *f, eg_graph *g, int64_t n)
{
    return eg_one_hot(g, eg_input(g, "labels", eg_dims(n)), f->classes);
}

/* The loss of rows of which each has a weight. */
static void flow_record_step(void *context, eg_graph *g, int64_t n)
{
    const eg_flow *f = context;
    eg_node *log_det;
    eg_node *codes =
        eg_flow_codes(f, g, eg_input(g, "x", eg_dims(n, f->d)), flow_labels(f, g, n), &log_det);
    eg_node *weights = eg_input(g, "weights", eg_dims(n, 1));
    eg_node *loss = eg_affine(
        g, eg_sum(g, eg_mul(g, flow_logs(f, g, codes, log_det), weights), EG_ALL_AXES), -1, 0);
    eg_output(g, "loss", loss);
    eg_backward(g, loss, f->table);
}

static void flow_record_codes(void *context, eg_graph *g, int64_t n)
{
    const eg_flow *f = context;
    eg_node *log_det;
    eg_node *codes =
        eg_flow_codes(f, g, eg_input(g, "x", eg_dims(n, f->d)), flow_labels(f, g, n), &log_det);
    eg_output(g, "codes", codes);
    eg_output(g, "logs", flow_logs(f, g, codes, log_det));
}

static void flow_record_draws(void *context, eg_graph *g, int64_t n)
{
    const eg_flow *f = context;
    eg_node *y = flow_labels(f, g, n);
    eg_output(g, "rows", flow_rows(f, g, eg_input(g, "x", eg_dims(n, f->d)), y));
}

/* The permutations, the same for everybody. */
static eg_status flow_orders(eg_flow *f)
{
    size_t d = (size_t)f->d;
    int64_t *order;
    EG_TRY(eg_alloc(FLOW_WAYS * FLOW_ORDERS * d, sizeof *f->order, &f->order));
    EG_TRY(eg_alloc(d, sizeof *order, &order));
    for (uint32_t k = 0; k < FLOW_ORDERS; k++) {
        for (size_t i = 0; i < d; i++)
            order[i] = (int64_t)(k ? i : d - 1 - i);
        if (k) {
            eg_rng rng = eg_rng_at(FLOW_SEED, k - 1, 0, EG_FOR_LAYER);
            eg_rng_shuffle(&rng, d, order);
        }
        for (size_t i = 0; i < d; i++) {
            f->order[k * d + i] = (float)order[i];
            f->order[(FLOW_ORDERS + k) * d + (size_t)order[i]] = (float)i;
        }
    }
    free(order);
    return EG_OK;
}

static eg_status flow_make(eg_flow *f)
{
    eg_graph *g;
    eg_node *log_det;
    EG_TRY(flow_orders(f));
    EG_TRY(eg_params_new(&f->table));
    EG_TRY(eg_graph_new(&g));
    eg_flow_codes(f, g, eg_input(g, "x", eg_dims(2, f->d)), flow_labels(f, g, 2), &log_det);
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    EG_TRY(s);
    EG_TRY(eg_learner_new(f->table, &f->own));
    EG_TRY(eg_program_new(flow_record_step, f, 2, &f->step));
    EG_TRY(eg_program_bind(f->step, f->table, f->own->param, f->own->grad, f->own->state));
    const eg_weights at = {f->own->param, f->own->state};
    EG_TRY(eg_program_new(flow_record_codes, f, 2, &f->codes));
    EG_TRY(eg_program_read(f->codes, f->table, &at));
    EG_TRY(eg_program_new(flow_record_draws, f, 2, &f->draws));
    return eg_program_read(f->draws, f->table, &at);
}

eg_status eg_flow_open(eg_flow *f, int64_t d, int64_t classes, int64_t hidden)
{
    *f = (eg_flow){.d = d, .classes = classes, .hidden = hidden};
    if (d < 2)
        return eg_fail(EG_ESHAPE, "its flow needs two features or more");
    eg_status s = flow_make(f);
    if (s != EG_OK)
        eg_flow_close(f);
    return s;
}

void eg_flow_close(eg_flow *f)
{
    eg_program_free(f->step);
    eg_program_free(f->codes);
    eg_program_free(f->draws);
    eg_learner_free(f->own);
    eg_params_free(f->table);
    free(f->order);
    *f = (eg_flow){0};
}

/* A plan for n rows with its permutations filled. */
static eg_status flow_plan(const eg_flow *f, eg_program *program, int64_t n, eg_plan **out)
{
    size_t d = (size_t)f->d;
    EG_TRY(eg_program_plan(program, n, out));
    for (size_t k = 0; k < FLOW_WAYS * FLOW_ORDERS; k++) {
        float *to = eg_plan_input(*out, flow_inputs[k / FLOW_ORDERS][k % FLOW_ORDERS]);
        if (to)
            memcpy(to, f->order + k * d, d * sizeof *to);
    }
    return EG_OK;
}

/* Puts rows into a plan from row `at` on, each with a weight. */
static void flow_put(const eg_flow *f, eg_plan *plan, const eg_flow_rows *rows, int64_t at,
                     double weight)
{
    float *weights = eg_plan_input(plan, "weights");
    memcpy(eg_plan_input(plan, "x") + at * f->d, rows->x,
           (size_t)(rows->n * f->d) * sizeof *rows->x);
    memcpy(eg_plan_input(plan, "labels") + at, rows->labels,
           (size_t)rows->n * sizeof *rows->labels);
    for (int64_t i = 0; weights && i < rows->n; i++)
        weights[at + i] = (float)(weight / (double)rows->n);
}

eg_status eg_flow_learn(eg_flow *f, const eg_flow_rows *rows, const eg_flow_rows *more,
                        double share, double *loss)
{
    eg_plan *plan;
    EG_TRY(flow_plan(f, f->step, rows->n + (more ? more->n : 0), &plan));
    flow_put(f, plan, rows, 0, 1);
    if (more)
        flow_put(f, plan, more, rows->n, share);
    EG_TRY(eg_plan_run(plan));
    double value = (double)*eg_plan_output(plan, "loss");
    if (loss)
        *loss = value;
    if (isfinite(value) && eg_all_finite(f->own->grad, f->own->n_params))
        eg_optimizer_step(f->own->optimizer, f->own->param, f->own->grad);
    return EG_OK;
}

eg_status eg_flow_look(eg_flow *f, const eg_flow_rows *rows, float *codes, float *logs)
{
    eg_plan *plan;
    EG_TRY(flow_plan(f, f->codes, rows->n, &plan));
    flow_put(f, plan, rows, 0, 1);
    EG_TRY(eg_plan_run(plan));
    memcpy(codes, eg_plan_output(plan, "codes"), (size_t)(rows->n * f->d) * sizeof *codes);
    memcpy(logs, eg_plan_output(plan, "logs"), (size_t)rows->n * sizeof *logs);
    return EG_OK;
}

eg_status eg_flow_draw(eg_flow *f, int64_t n, const float *noise, const float *labels, float *x)
{
    eg_plan *plan;
    EG_TRY(flow_plan(f, f->draws, n, &plan));
    flow_put(f, plan, &(eg_flow_rows){n, noise, labels}, 0, 1);
    EG_TRY(eg_plan_run(plan));
    memcpy(x, eg_plan_output(plan, "rows"), (size_t)(n * f->d) * sizeof *x);
    return EG_OK;
}
