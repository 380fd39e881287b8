/* mixture_test.c - the gradient by the weights of a sum of networks, and weights that suit.
 * SPDX-License-Identifier: Apache-2.0
 */
/* size: a fit by hand nests its sums. */
#include "one_client.h"

#include "method/lib/pfedgrp.h"
#include "method/lib/project.h"

#define TEXT(data, model)                                                                      \
    "name: t\n"                                                                                \
    "data: {name: " data ", train: 64, test: 8, classes: 4}\n"                                 \
    "model: " model "\n"                                                                       \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 20}\n"                  \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "runs: [{label: a, method: fedavg}]\n"
#define BLOBS  "blobs, dim: 64"
#define GLYPHS "glyphs, size: 8, mean: 0.5, std: 0.5"

enum { NETWORKS = 3, ROWS = 24, PIXELS = 64 };

typedef struct mixing {
    one_client o;
    float *params[NETWORKS], *states[NETWORKS];
    float x[ROWS * PIXELS], labels[ROWS];
    eg_mixture m;
    eg_rows rows;
} mixing;

/* The first network is trained a little, the others are as new, all with statistics. */
static void mixing_open(mixing *t, const char *text)
{
    one_client_open(&t->o, text, NULL);
    const eg_client *c = t->o.c;
    eg_sample samples[ROWS];
    one_client_train(&t->o);
    for (int u = 0; u < NETWORKS; u++) {
        assert_ok(eg_params_alloc(eg_net_params(t->o.net), &t->params[u]));
        assert_ok(eg_state_alloc(eg_net_params(t->o.net), &t->states[u]));
        eg_params_init(eg_net_params(t->o.net), (uint64_t)u, t->params[u], t->states[u]);
        for (size_t i = 0; u > 0 && i < c->n_state; i++)
            t->states[u][i] += 0.1f * (float)u;
    }
    memcpy(t->params[0], c->param, c->n_params * sizeof *c->param);
    if (c->n_state)
        memcpy(t->states[0], c->state, c->n_state * sizeof *c->state);
    one_client_samples(&t->o, 0, ROWS, samples);
    eg_client_feed(t->o.c, samples, ROWS, t->x, t->labels);
    t->rows = (eg_rows){.n = ROWS, .x = t->x, .labels = t->labels};
    t->m = (eg_mixture){.net = t->o.net,
                        .n = NETWORKS,
                        .params = (const float *const *)t->params,
                        .states = (const float *const *)t->states,
                        .n_params = c->n_params,
                        .n_state = c->n_state};
}

static void mixing_close(mixing *t)
{
    for (int u = 0; u < NETWORKS; u++) {
        free(t->params[u]);
        free(t->states[u]);
    }
    one_client_close(&t->o);
}

/* Statistics stay as they are at w, as the gradient has it. */
static void check_gradient(const char *text)
{
    mixing t;
    const double w[NETWORKS] = {0.5, 0.3, 0.2};
    double dw[NETWORKS], scale = 0;
    mixing_open(&t, text);
    float *param = malloc(t.m.n_params * sizeof *param);
    float *state = malloc((t.m.n_state + 1) * sizeof *state);
    assert_true(param && state);
    eg_mixture_take(&t.m, w, param, state);
    assert_ok(eg_mixture_loss(&t.m, &t.o.worker, w, &t.rows, NULL, NULL, dw));
    for (int u = 0; u < NETWORKS; u++)
        scale = fmax(scale, fabs(dw[u]));
    assert_true(scale > 0.01);
    for (int u = 0; u < NETWORKS; u++) {
        const double step = 0.01; /* the loss has seven digits */
        double near[NETWORKS], above, below;
        memcpy(near, w, sizeof near);
        near[u] = w[u] + step;
        assert_ok(eg_mixture_loss(&t.m, &t.o.worker, near, &t.rows, state, &above, NULL));
        near[u] = w[u] - step;
        assert_ok(eg_mixture_loss(&t.m, &t.o.worker, near, &t.rows, state, &below, NULL));
        assert_near(dw[u], (above - below) / (2 * step), 2e-3 * scale);
    }
    free(param);
    free(state);
    mixing_close(&t);
}

static void test_the_gradient_without_batch_norm(void **state)
{
    (void)state;
    check_gradient(TEXT(BLOBS, "{name: layers, layers: '[flatten, linear 16, tanh]'}"));
}

static void test_the_gradient_with_batch_norm_whose_statistics_are_held(void **state)
{
    (void)state;
    check_gradient(TEXT(GLYPHS, "{name: layers, layers: '[conv 8 k3 p1, batch-norm, tanh, "
                                "flatten]'}"));
}

/* All three began alike, and only the first went on, by ten rounds. */
static void mixing_open_trained(mixing *t)
{
    mixing_open(t, TEXT(BLOBS, "{name: mlp, depth: 1, width: 16}"));
    for (int i = 0; i < 10; i++)
        one_client_train(&t->o);
    memcpy(t->params[0], t->o.c->param, t->m.n_params * sizeof(float));
    for (int u = 1; u < NETWORKS; u++)
        eg_params_init(eg_net_params(t->o.net), ONE_CLIENT_SEED, t->params[u], t->states[u]);
}

/* Weights are not negative, add up to one, and lower the loss; most goes to the network that
 * was trained. */
static void test_weights_go_to_the_network_that_knows_the_rows(void **state)
{
    (void)state;
    mixing t;
    double w[NETWORKS], alike[NETWORKS] = {1 / 3.0, 1 / 3.0, 1 / 3.0}, before, after;
    bool finite;
    mixing_open_trained(&t);
    assert_ok(eg_mixture_loss(&t.m, &t.o.worker, alike, &t.rows, NULL, &before, NULL));
    for (int moves = EG_MIXTURE_SIMPLEX; moves <= EG_MIXTURE_SOFTMAX; moves++) {
        const eg_mixture_opts o = {
            .epochs = 200, .batch = 7, .lr = 0.1, .momentum = 0.9, .moves = moves};
        eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
        double sum = 0;
        assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &t.rows, &rng, w, &finite));
        assert_ok(eg_mixture_loss(&t.m, &t.o.worker, w, &t.rows, NULL, &after, NULL));
        for (int u = 0; u < NETWORKS; u++) {
            assert_true(w[u] >= 0);
            sum += w[u];
        }
        assert_true(finite && w[0] > 0.8);
        assert_near(sum, 1, 1e-9);
        assert_true(after < before);
    }
    mixing_close(&t);
}

/* The fit once more in double, by the gradients that were tested above: batches in the drawn
 * order, the last one short; momentum and decay as torch.optim.SGD has them. */
static void fit_by_hand(mixing *t, const eg_mixture_opts *o, double w[NETWORKS])
{
    double a[NETWORKS], v[NETWORKS] = {0}, dw[NETWORKS], order_of[NETWORKS];
    int64_t order[ROWS];
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    for (int u = 0; u < NETWORKS; u++) {
        w[u] = 1.0 / NETWORKS;
        a[u] = o->moves == EG_MIXTURE_SOFTMAX ? 0 : w[u];
    }
    for (int64_t i = 0; i < ROWS; i++)
        order[i] = i;
    for (int64_t epoch = 0; epoch < o->epochs; epoch++) {
        eg_rng_shuffle(&rng, ROWS, order);
        for (int64_t at = 0; at < ROWS; at += o->batch) {
            float x[ROWS * PIXELS], labels[ROWS];
            int64_t n = at + o->batch < ROWS ? o->batch : ROWS - at;
            double mean = 0, sum = 0;
            for (int64_t i = 0; i < n; i++) {
                memcpy(x + i * PIXELS, t->x + order[at + i] * PIXELS, PIXELS * sizeof *x);
                labels[i] = t->labels[order[at + i]];
            }
            const eg_rows rows = {.n = n, .x = x, .labels = labels};
            assert_ok(eg_mixture_loss(&t->m, &t->o.worker, w, &rows, NULL, NULL, dw));
            for (int u = 0; u < NETWORKS; u++)
                mean += w[u] * dw[u];
            for (int u = 0; u < NETWORKS; u++) {
                double g = o->moves == EG_MIXTURE_SOFTMAX ? w[u] * (dw[u] - mean) : dw[u];
                v[u] = o->momentum * v[u] + g + o->decay * a[u];
                a[u] -= o->lr * v[u];
                sum += exp(a[u]);
            }
            if (o->moves == EG_MIXTURE_SOFTMAX) {
                for (int u = 0; u < NETWORKS; u++)
                    w[u] = exp(a[u]) / sum;
                continue;
            }
            eg_project_simplex(NETWORKS, a, order_of);
            memcpy(w, a, sizeof a);
        }
    }
}

static void test_the_fit_is_that_by_hand(void **state)
{
    (void)state;
    mixing t;
    double w[NETWORKS], wanted[NETWORKS];
    bool finite;
    mixing_open(&t, TEXT(GLYPHS, "{name: layers, layers: '[conv 8 k3 p1, batch-norm, tanh, "
                                 "dropout 0.5, flatten]'}"));
    for (int moves = EG_MIXTURE_SIMPLEX; moves <= EG_MIXTURE_SOFTMAX; moves++) {
        const eg_mixture_opts o = {.epochs = 2,
                                   .batch = 7,
                                   .lr = moves == EG_MIXTURE_SOFTMAX ? 2 : 0.1,
                                   .momentum = 0.9,
                                   .decay = 0.1,
                                   .moves = moves};
        eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
        fit_by_hand(&t, &o, wanted);
        assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &t.rows, &rng, w, &finite));
        assert_true(finite && fabs(wanted[0] - 1.0 / 3) > 0.05);
        for (int u = 0; u < NETWORKS; u++) {
            assert_true(wanted[u] > 0); /* none at the edge, where mistakes could hide */
            assert_near(w[u], wanted[u], 1e-5);
        }
    }
    mixing_close(&t);
}

/* The nearest point of the simplex, worked out on paper; many weights below nothing. */
static void test_weights_come_back_to_the_nearest_point_of_the_simplex(void **state)
{
    (void)state;
    const struct {
        double x[4], wanted[4];
    } cases[] = {
        {{0.25, 0.25, 0.25, 0.25}, {0.25, 0.25, 0.25, 0.25}},
        {{0.5, 0.5, 0.5, 0.5}, {0.25, 0.25, 0.25, 0.25}},
        {{2, 0, 0, 0}, {1, 0, 0, 0}},
        {{0.1, 0.9, 0.6, -1}, {0, 0.65, 0.35, 0}},
        {{0, 0, 0.2, 0}, {0.2, 0.2, 0.4, 0.2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x[4], order[4];
        memcpy(x, cases[i].x, sizeof x);
        eg_project_simplex(4, x, order);
        for (int k = 0; k < 4; k++)
            assert_near(x[k], cases[i].wanted[k], 1e-12);
    }
}

/* What pfedgrp has if nothing is set, on as many rows as a round of the paper's has: the
 * weights leave where they began. Logits would not, at this rate. */
static void test_the_usual_settings_tell_the_networks_apart(void **state)
{
    (void)state;
    enum { TIMES = 17 }; /* 408 rows */
    eg_pfedgrp *p = calloc(1, sizeof *p);
    static float x[TIMES * ROWS * PIXELS], labels[TIMES * ROWS];
    const eg_rows many = {.n = TIMES * ROWS, .x = x, .labels = labels};
    double w[NETWORKS];
    bool finite;
    mixing t;
    assert_non_null(p);
    eg_opts_init(eg_method_find("pfedgrp")->component.opts, p);
    mixing_open_trained(&t);
    for (int i = 0; i < TIMES; i++) {
        memcpy(x + (ptrdiff_t)i * ROWS * PIXELS, t.x, sizeof t.x);
        memcpy(labels + (ptrdiff_t)i * ROWS, t.labels, sizeof t.labels);
    }
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    assert_int_equal(p->server.epochs, 20);
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &p->server, &many, &rng, w, &finite));
    assert_true(finite && w[0] > 0.95);
    free(p);
    mixing_close(&t);
}

static void test_without_rows_or_finite_numbers_weights_are_alike(void **state)
{
    (void)state;
    mixing t;
    eg_mixture_opts o = {.epochs = 2, .batch = 8, .lr = 0.1};
    double w[NETWORKS];
    bool finite;
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    mixing_open(&t, TEXT(BLOBS, "{name: mlp, depth: 1, width: 16}"));
    eg_rows none = t.rows;
    none.n = 0;
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &none, &rng, w, &finite));
    assert_true(finite);
    assert_near(w[2], 1 / 3.0, 0);
    none.n = 1; /* a single one is enough */
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &none, &rng, w, &finite));
    assert_true(finite && fabs(w[2] - 1 / 3.0) > 1e-6);
    for (size_t i = 0; i < t.m.n_params; i++)
        t.params[1][i] *= 1e30f; /* finite, but not what it makes of rows */
    for (o.moves = EG_MIXTURE_SIMPLEX; o.moves <= EG_MIXTURE_SOFTMAX; o.moves++) {
        assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &t.rows, &rng, w, &finite));
        assert_false(finite);
        for (int u = 0; u < NETWORKS; u++)
            assert_near(w[u], 1 / 3.0, 0);
    }
    mixing_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_without_batch_norm),
        cmocka_unit_test(test_the_gradient_with_batch_norm_whose_statistics_are_held),
        cmocka_unit_test(test_weights_go_to_the_network_that_knows_the_rows),
        cmocka_unit_test(test_the_fit_is_that_by_hand),
        cmocka_unit_test(test_weights_come_back_to_the_nearest_point_of_the_simplex),
        cmocka_unit_test(test_the_usual_settings_tell_the_networks_apart),
        cmocka_unit_test(test_without_rows_or_finite_numbers_weights_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
