/* moon_test.c - the contrast against the same in double, and its limits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* One client, one batch a round; features are the hidden layer's. */
#define TEXT(method, depth)                                                                    \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 12, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: " depth ", width: 5}\n"                                         \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 3}\n"                   \
    "train: {epochs: 1, batch: 12, lr: 0.5}\n"                                                 \
    "runs: [{label: a, method: " method "}]\n"

enum { DIM = 4, WIDTH = 5, CLASSES = 3, ROWS = 12 };

/* The hidden layer's weights and biases, the head's, in the order of the table. */
typedef struct net {
    const eg_params *table;
    const float *x, *labels; /* [ROWS, DIM], [ROWS] */
} net;

static double at(const net *n, const float *param, size_t tensor, int i)
{
    return (double)param[eg_params_at(n->table, tensor)->offset + (size_t)i];
}

static void features(const net *n, const float *param, int row, double z[WIDTH])
{
    for (int k = 0; k < WIDTH; k++) {
        z[k] = at(n, param, 1, k);
        for (int d = 0; d < DIM; d++)
            z[k] += at(n, param, 0, k * DIM + d) * (double)n->x[row * DIM + d];
        z[k] = z[k] > 0 ? z[k] : 0;
    }
}

static double cross_entropy(const net *n, const float *param, int row, const double z[WIDTH])
{
    double logits[CLASSES], sum = 0;
    for (int k = 0; k < CLASSES; k++) {
        logits[k] = at(n, param, 3, k);
        for (int j = 0; j < WIDTH; j++)
            logits[k] += at(n, param, 2, k * WIDTH + j) * z[j];
        sum += exp(logits[k]);
    }
    return log(sum) - logits[(int)n->labels[row]];
}

static double cosine(const double a[WIDTH], const double b[WIDTH])
{
    double ab = 0, aa = 0, bb = 0;
    for (int k = 0; k < WIDTH; k++)
        ab += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    return ab / (sqrt(aa + 1e-24) * sqrt(bb + 1e-24));
}

/* The whole loss in double: cross entropy and mu times the contrast. */
static double loss_by_hand(const net *n, const float *param, const float *global,
                           const float *past, double mu, double temperature)
{
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
        double z[WIDTH], g[WIDTH], p[WIDTH];
        features(n, param, row, z);
        features(n, global, row, g);
        features(n, past, row, p);
        double s = cosine(z, g) / temperature, q = cosine(z, p) / temperature;
        sum += cross_entropy(n, param, row, z) - mu * (s - log(exp(s) + exp(q)));
    }
    return sum / ROWS;
}

/* Another model as the client's last one: its record before the round. */
static float *put_past(one_client *o)
{
    float *past;
    eg_bundle *record;
    assert_ok(eg_params_alloc(eg_net_params(o->net), &past));
    eg_params_init(eg_net_params(o->net), 77, past, NULL);
    assert_ok(eg_bundle_new(&record));
    assert_ok(eg_bundle_add_flat(record, "moon.param", past, o->c->n_params));
    one_client_keep(o, 0, "moon", record);
    return past;
}

static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("moon", "1"), "moon.mu=3");
    size_t n = o.c->n_params;
    float *past = put_past(&o), *global, *moved;
    assert_ok(eg_alloc(n, sizeof *global, &global));
    assert_ok(eg_alloc(n, sizeof *moved, &moved));
    memcpy(global, o.c->param, n * sizeof *global);
    one_client_train(&o); /* one batch: its gradient is still there */
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    double most = 0;
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < eg_params_at(k.table, t)->size; i++) {
            size_t place = eg_params_at(k.table, t)->offset + i;
            double step = 1e-4, up, down;
            memcpy(moved, global, n * sizeof *moved);
            moved[place] = global[place] + (float)step;
            up = loss_by_hand(&k, moved, global, past, 3, 0.5);
            moved[place] = global[place] - (float)step;
            down = loss_by_hand(&k, moved, global, past, 3, 0.5);
            assert_near((double)o.c->grad[place], (up - down) / (2 * step), 2e-3);
            most = fmax(most, fabs((double)o.c->grad[place]));
        }
    assert_true(most > 0.05);
    assert_near(o.c->loss, loss_by_hand(&k, global, global, past, 3, 0.5), 1e-5);
    free(past);
    free(global);
    free(moved);
    one_client_close(&o);
}

static void test_it_begins_with_a_clients_second_round(void **state)
{
    (void)state;
    const char *avg = TEXT("fedavg", "1"), *moon = TEXT("moon", "1");
    assert_true(one_client_same(avg, NULL, moon, NULL, 1));
    assert_true(one_client_same(avg, NULL, moon, "moon.mu=0", 3));
}

/* Features that no weight changes are alike in all models: the term is mu log 2, and teaches
 * nothing. */
static void test_features_without_weights_learn_nothing_from_it(void **state)
{
    (void)state;
    const char *avg = TEXT("fedavg", "0"), *moon = TEXT("moon", "0");
    assert_true(one_client_same(avg, NULL, moon, NULL, 3));
    one_client a, b;
    one_client_open(&a, avg, NULL);
    one_client_open(&b, moon, "moon.mu=2");
    for (int i = 0; i < 2; i++) {
        one_client_train(&a);
        one_client_train(&b);
    }
    assert_near(b.c->loss - a.c->loss, 2 * log(2), 1e-5);
    one_client_close(&a);
    one_client_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_that_of_the_loss_by_hand),
        cmocka_unit_test(test_it_begins_with_a_clients_second_round),
        cmocka_unit_test(test_features_without_weights_learn_nothing_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
