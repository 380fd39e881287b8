/* mixture_test.c - the gradient by the weights of a sum of networks, and weights that suit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "method/lib/mixture.h"

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

/* All three began alike, and only the first went on. Weights are positive, add up to one, and
 * lower the loss; most goes to the network that was trained. */
static void test_weights_go_to_the_network_that_knows_the_rows(void **state)
{
    (void)state;
    mixing t;
    const eg_mixture_opts o = {.epochs = 200, .batch = 7, .lr = 0.1, .momentum = 0.9};
    double w[NETWORKS], alike[NETWORKS] = {1 / 3.0, 1 / 3.0, 1 / 3.0}, before, after, sum = 0;
    bool finite;
    mixing_open(&t, TEXT(BLOBS, "{name: mlp, depth: 1, width: 16}"));
    for (int i = 0; i < 10; i++)
        one_client_train(&t.o);
    memcpy(t.params[0], t.o.c->param, t.m.n_params * sizeof(float));
    for (int u = 1; u < NETWORKS; u++)
        eg_params_init(eg_net_params(t.o.net), ONE_CLIENT_SEED, t.params[u], t.states[u]);
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &t.rows, &rng, w, &finite));
    assert_ok(eg_mixture_loss(&t.m, &t.o.worker, alike, &t.rows, NULL, &before, NULL));
    assert_ok(eg_mixture_loss(&t.m, &t.o.worker, w, &t.rows, NULL, &after, NULL));
    for (int u = 0; u < NETWORKS; u++) {
        assert_true(w[u] > 0);
        sum += w[u];
    }
    assert_true(finite && w[0] > 0.8);
    assert_near(sum, 1, 1e-9);
    assert_true(after < before);
    mixing_close(&t);
}

static void test_without_rows_or_finite_numbers_weights_are_alike(void **state)
{
    (void)state;
    mixing t;
    const eg_mixture_opts o = {.epochs = 2, .batch = 8, .lr = 0.1};
    double w[NETWORKS];
    bool finite;
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    mixing_open(&t, TEXT(BLOBS, "{name: mlp, depth: 1, width: 16}"));
    eg_rows none = t.rows;
    none.n = 0;
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &none, &rng, w, &finite));
    assert_true(finite);
    assert_near(w[2], 1 / 3.0, 0);
    for (size_t i = 0; i < t.m.n_params; i++)
        t.params[1][i] *= 1e30f; /* finite, but not what it makes of rows */
    assert_ok(eg_mixture_fit(&t.m, &t.o.worker, &o, &t.rows, &rng, w, &finite));
    assert_false(finite);
    for (int u = 0; u < NETWORKS; u++)
        assert_near(w[u], 1 / 3.0, 0);
    mixing_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_without_batch_norm),
        cmocka_unit_test(test_the_gradient_with_batch_norm_whose_statistics_are_held),
        cmocka_unit_test(test_weights_go_to_the_network_that_knows_the_rows),
        cmocka_unit_test(test_without_rows_or_finite_numbers_weights_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
