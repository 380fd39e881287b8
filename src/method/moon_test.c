/* moon_test.c - the contrast against the same in double, and its limits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hidden_net.h"

#define TEXT(method, depth) HIDDEN_NET_TEXT(method, depth, "1")

static double cosine(const double a[WIDTH], const double b[WIDTH])
{
    double ab = 0, aa = 0, bb = 0;
    for (int k = 0; k < WIDTH; k++)
        ab += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    return ab / (sqrt(aa + 1e-24) * sqrt(bb + 1e-24));
}

/* The other models that the contrast looks at. */
typedef struct contrast {
    const float *global, *past;
} contrast;

/* The whole loss in double: cross entropy and 3 times the contrast at temperature 0.5. */
static double loss_by_hand(const net *n, const float *param, const void *context)
{
    const contrast *with = context;
    double sum = 0, temperature = 0.5, mu = 3;
    for (int row = 0; row < ROWS; row++) {
        double z[WIDTH], g[WIDTH], p[WIDTH];
        features(n, param, row, z);
        features(n, with->global, row, g);
        features(n, with->past, row, p);
        double s = cosine(z, g) / temperature, q = cosine(z, p) / temperature;
        sum += cross_entropy(n, param, row, z) - mu * (s - log(exp(s) + exp(q)));
    }
    return sum / ROWS;
}

static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("moon", "1"), "moon.mu=3");
    size_t n = o.c->n_params;
    float *past = put_past(&o, "moon", "moon.param"), *global;
    assert_ok(eg_alloc(n, sizeof *global, &global));
    memcpy(global, o.c->param, n * sizeof *global);
    one_client_train(&o); /* one batch: its gradient is still there */
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    contrast with = {global, past};
    assert_gradient(&k, global, o.c->grad, loss_by_hand, &with);
    assert_near(o.c->loss, loss_by_hand(&k, global, &with), 1e-5);
    free(past);
    free(global);
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
