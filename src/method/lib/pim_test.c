/* pim_test.c - Equations 3 to 5 against the same worked in double, and their limits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include <engram/op.h>
#include <engram/optim.h>

#include "method/lib/pim.h"

/* Logistic regression: its gradient can be written down. */
static const char regression[] =
    "name: t\n"
    "data: {name: blobs, train: 200, test: 20, classes: 4, dim: 5}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {batch: 8}\n"
    "runs: [{label: a, method: fedavg}]\n";

enum { DIM = 5, CLASSES = 4, N = 21 };

/* A regression in double: weights [CLASSES, DIM], then biases [CLASSES]. */
typedef struct weights {
    double w[CLASSES][DIM + 1];
} weights;

static weights weights_of(const one_client *k, const float *param)
{
    weights v;
    const eg_params *p = eg_net_params(k->net);
    for (int i = 0; i < CLASSES; i++) {
        for (int j = 0; j < DIM; j++)
            v.w[i][j] = (double)param[eg_params_at(p, 0)->offset + (size_t)(i * DIM + j)];
        v.w[i][DIM] = (double)param[eg_params_at(p, 1)->offset + (size_t)i];
    }
    return v;
}

/* A model of its own that starts as the client's. */
static eg_learner *learner_of(one_client *k)
{
    eg_learner *v;
    assert_ok(eg_worker_learner(&k->worker, "test.v", eg_net_params(k->net), &v));
    assert_int_equal(v->n_params, k->c->n_params);
    memcpy(v->param, k->c->param, v->n_params * sizeof *v->param);
    return v;
}

/* Adds one sample's gradient times `share` to g and returns its squared norm. */
static double add_gradient(const weights *v, const float *x, int label, double share,
                           weights *g)
{
    double logits[CLASSES], sum = 0, norm = 0;
    for (int i = 0; i < CLASSES; i++) {
        logits[i] = v->w[i][DIM];
        for (int j = 0; j < DIM; j++)
            logits[i] += v->w[i][j] * (double)x[j];
        sum += exp(logits[i]);
    }
    for (int i = 0; i < CLASSES; i++)
        for (int j = 0; j <= DIM; j++) {
            double slope = (exp(logits[i]) / sum - (i == label)) * (j < DIM ? (double)x[j] : 1);
            g->w[i][j] += share * slope;
            norm += slope * slope;
        }
    return norm;
}

/* Where the epochs' orders are drawn from. */
static eg_rng orders(void)
{
    return eg_rng_at(3, 0, 0, EG_FOR_TEST);
}

/* Equations 3 to 5 in double: v from w, scores [N] with the given weight of epoch p. */
static weights by_hand(one_client *k, const eg_pim *how, const eg_sample *samples,
                       double (*weight)(double p), double *scores)
{
    float x[N][DIM], labels[N];
    weights w = weights_of(k, k->c->param), v = w;
    eg_client_feed(k->c, samples, N, x[0], labels);
    eg_rng rng = orders();
    for (int64_t p = 1; p <= how->epochs; p++) {
        int64_t order[N];
        for (int64_t i = 0; i < N; i++)
            order[i] = i;
        eg_rng_shuffle(&rng, N, order);
        for (int at = 0; at < N; at += 8) {
            weights g = {0};
            int rows = N - at < 8 ? N - at : 8;
            for (int i = at; i < at + rows; i++)
                scores[order[i]] +=
                    weight((double)p) *
                    add_gradient(&v, x[order[i]], (int)labels[order[i]], 1.0 / rows, &g);
            for (int i = 0; i < CLASSES; i++)
                for (int j = 0; j <= DIM; j++)
                    v.w[i][j] -= how->lr * (g.w[i][j] + how->pull * (v.w[i][j] - w.w[i][j]));
        }
    }
    return v;
}

static double early(double p)
{
    return 1 / p;
}

static double average(double p)
{
    (void)p;
    return 1;
}

static double late(double p)
{
    return p;
}

static void check_by_hand(int64_t epochs, eg_emphasis emphasis, double (*weight)(double p))
{
    one_client k;
    eg_sample samples[N];
    double want[N] = {0}, have[N] = {0};
    one_client_open(&k, regression, NULL);
    one_client_samples(&k, 0, N, samples);
    eg_pim how = {epochs, 0.3, eg_pim_pull(0.2), emphasis, NULL};
    weights v = by_hand(&k, &how, samples, weight, want);
    weights w = weights_of(&k, k.c->param);
    eg_learner *trained = learner_of(&k);
    eg_rng rng = orders();
    assert_ok(eg_pim_train(k.c, &how, trained, k.c->param, &(eg_pim_samples){samples, N, &rng},
                           have));
    weights got = weights_of(&k, trained->param), after = weights_of(&k, k.c->param);
    assert_memory_equal(&w, &after, sizeof w); /* the client's own stays */
    for (int i = 0; i < CLASSES; i++)
        for (int j = 0; j <= DIM; j++)
            assert_near(got.w[i][j], v.w[i][j], 2e-6);
    for (int i = 0; i < N; i++)
        assert_near(have[i], want[i], 2e-5 * want[i]);
    one_client_close(&k);
}

static void test_one_step_is_equation_3(void **state)
{
    (void)state;
    assert_near(eg_pim_pull(0.5), 0.5, 1e-12);
    assert_near(eg_pim_pull(0.2), 2, 1e-12);
    assert_near(eg_pim_pull(1), 0, 0);
    check_by_hand(1, EG_EMPHASIS_EARLY, early);
}

static void test_scores_gather_by_every_emphasis(void **state)
{
    (void)state;
    check_by_hand(4, EG_EMPHASIS_EARLY, early);
    check_by_hand(4, EG_EMPHASIS_AVERAGE, average);
    check_by_hand(4, EG_EMPHASIS_LATE, early); /* the same scores, the other end of them */
    check_by_hand(4, EG_EMPHASIS_LATE_WEIGHT, late);
}

/* How far v goes from w, at most, and what plain descent on the same batches gives. */
static double distance(double lambda, double lr)
{
    one_client k;
    eg_sample samples[N];
    double scores[N] = {0}, most = 0;
    one_client_open(&k, regression, NULL);
    one_client_samples(&k, 0, N, samples);
    eg_learner *v = learner_of(&k);
    eg_rng rng = orders();
    assert_ok(eg_pim_train(k.c, &(eg_pim){10, lr, eg_pim_pull(lambda), EG_EMPHASIS_EARLY, NULL},
                           v, k.c->param, &(eg_pim_samples){samples, N, &rng}, scores));
    for (size_t i = 0; i < k.c->n_params; i++)
        most = fmax(most, fabs((double)(v->param[i] - k.c->param[i])));
    one_client_close(&k);
    return most;
}

static void test_small_lambda_stays_at_the_global_model(void **state)
{
    (void)state;
    /* It settles at gradient / q, and gradients here are below 2. */
    assert_true(distance(1e-4, 1e-4) <= 2 / eg_pim_pull(1e-4));
    assert_true(distance(1e-3, 1e-3) <= 2 / eg_pim_pull(1e-3));
    double near = distance(0.1, 0.1), half = distance(0.5, 0.1), far = distance(0.9, 0.1);
    assert_true(near < half && half < far);
    assert_true(far > 5 * near);
}

/* The gradient of one batch of an epoch's order. */
static const float *batch_gradient(one_client *k, const eg_sample *samples,
                                   const int64_t *order, int64_t rows)
{
    eg_sample picked[N];
    const float *gradient;
    for (int64_t i = 0; i < rows; i++)
        picked[i] = samples[order[i]];
    assert_ok(eg_client_gradient(k->c, NULL, EG_TRAIN_FORM,
                                 &(eg_rows){.n = rows, .samples = picked}, &gradient));
    return gradient;
}

/* Descent with the optimiser on the batches that the model saw. */
static void descend(one_client *k, const eg_sample *samples, int64_t epochs)
{
    eg_optimizer *o;
    assert_ok(eg_optimizer_new("sgd", k->c->n_params, &o));
    assert_ok(eg_optimizer_set(o, "lr", "0.1"));
    eg_rng rng = orders();
    for (int64_t p = 1; p <= epochs; p++) {
        int64_t order[N];
        for (int64_t i = 0; i < N; i++)
            order[i] = i;
        eg_rng_shuffle(&rng, N, order);
        for (int64_t at = 0; at < N; at += 8)
            eg_optimizer_step(o, k->c->param,
                              batch_gradient(k, samples, order + at, N - at < 8 ? N - at : 8));
    }
    eg_optimizer_free(o);
}

static void test_lambda_towards_one_is_local_training(void **state)
{
    (void)state;
    one_client a, b;
    eg_sample samples[N];
    double scores[N] = {0};
    one_client_open(&a, regression, NULL);
    one_client_open(&b, regression, NULL);
    one_client_samples(&a, 0, N, samples);
    eg_learner *v = learner_of(&a);
    eg_rng rng = orders();
    assert_ok(eg_pim_train(a.c,
                           &(eg_pim){5, 0.1, eg_pim_pull(1 - 1e-9), EG_EMPHASIS_EARLY, NULL}, v,
                           a.c->param, &(eg_pim_samples){samples, N, &rng}, scores));
    descend(&b, samples, 5);
    double moved = 0;
    for (size_t i = 0; i < a.c->n_params; i++) {
        assert_near((double)v->param[i], (double)b.c->param[i], 1e-6);
        moved = fmax(moved, fabs((double)(v->param[i] - a.c->param[i])));
    }
    assert_true(moved > 0.05);
    one_client_close(&a);
    one_client_close(&b);
}

static const char pictures[] =
    "name: t\n"
    "data: {name: glyphs, train: 120, test: 20, size: 16}\n"
    "model: {name: mlp}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, partition: {kind: iid}}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {batch: 24}\n"
    "runs: [{label: a, method: fedavg}]\n";

/* Squared gradient norms [n] by one backward pass per sample, in eval form. */
static void one_by_one(one_client *k, const eg_sample *samples, int64_t n, double *norms)
{
    eg_graph *g;
    eg_plan *plan;
    const eg_params *table = eg_net_params(k->net);
    assert_ok(eg_graph_new(&g));
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(1, k->feed.channels, 16, 16));
    eg_node *logits = eg_net_forward(k->net, g, x);
    eg_net_backward(k->net, g,
                    eg_cross_entropy(g, logits, eg_input(g, "labels", eg_dims(1)), NULL));
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, table, k->c->param, k->c->grad, k->c->state));
    for (int64_t i = 0; i < n; i++) {
        eg_client_feed(k->c, &samples[i], 1, eg_plan_input(plan, "x"),
                       eg_plan_input(plan, "labels"));
        assert_ok(eg_plan_run(plan));
        norms[i] = 0;
        for (size_t j = 0; j < k->c->n_params; j++)
            norms[i] += (double)k->c->grad[j] * (double)k->c->grad[j];
    }
    eg_plan_free(plan);
    eg_graph_free(g);
}

/* One epoch over one batch: the scores are the norms at w. */
static void check_scores(const char *model)
{
    one_client k;
    enum { ROWS = 24 };
    eg_sample samples[ROWS];
    double want[ROWS], have[ROWS] = {0};
    char set[64];
    snprintf(set, sizeof set, "model=%s", model);
    one_client_open(&k, pictures, set);
    one_client_samples(&k, 0, ROWS, samples);
    float *param = calloc(k.c->n_params, sizeof *param);
    float *moments = calloc(k.c->n_state + 1, sizeof *moments);
    assert_true(param && moments);
    memcpy(param, k.c->param, k.c->n_params * sizeof *param);
    if (k.c->n_state)
        memcpy(moments, k.c->state, k.c->n_state * sizeof *moments);
    one_by_one(&k, samples, ROWS, want);
    eg_pim how = {1, 0.1, 0.5, EG_EMPHASIS_EARLY, NULL};
    eg_rng rng = orders();
    assert_ok(eg_pim_score(k.c, &how, &(eg_weights){0}, &(eg_pim_samples){samples, ROWS, &rng},
                           have));
    for (int i = 0; i < ROWS; i++) {
        assert_near(have[i], want[i], 1e-4 * want[i]);
        for (int j = 0; j < ROWS; j++)
            if (want[i] > want[j] + 1e-4 * (want[i] + want[j]))
                assert_true(have[i] > have[j]);
    }
    /* And nothing is left of the training. */
    assert_memory_equal(param, k.c->param, k.c->n_params * sizeof *param);
    if (k.c->n_state)
        assert_memory_equal(moments, k.c->state, k.c->n_state * sizeof *moments);
    assert_int_equal(k.c->step, 0);
    free(param);
    free(moments);
    one_client_close(&k);
}

static void test_scores_are_those_of_one_backward_pass_a_sample(void **state)
{
    (void)state;
    check_scores("mlp");
    check_scores("cnn");
    check_scores("resnet18-thin");
}

static void test_divergence_is_said(void **state)
{
    (void)state;
    one_client k;
    eg_sample samples[N];
    double scores[N] = {0};
    one_client_open(&k, regression, NULL);
    one_client_samples(&k, 0, N, samples);
    eg_pim how = {400, 1, 5, EG_EMPHASIS_EARLY, NULL};
    eg_rng rng = orders();
    assert_fails(
        eg_pim_score(k.c, &how, &(eg_weights){0}, &(eg_pim_samples){samples, N, &rng}, scores),
        EG_EINVAL, "the personalised model of client 0 diverges in epoch");
    one_client_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_step_is_equation_3),
        cmocka_unit_test(test_scores_gather_by_every_emphasis),
        cmocka_unit_test(test_small_lambda_stays_at_the_global_model),
        cmocka_unit_test(test_lambda_towards_one_is_local_training),
        cmocka_unit_test(test_scores_are_those_of_one_backward_pass_a_sample),
        cmocka_unit_test(test_divergence_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
