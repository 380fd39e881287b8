/* dgr_test.c - the loss of new and drawn rows against the same in double.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* One client, a batch a round; the network is linear, so that its gradient is by hand. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: glyphs, classes: 4, train: 64, test: 16, size: 8, mean: 0.5, std: 0.5}\n"    \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "train: {steps: 1, batch: 8}\n"                                                            \
    "dgr: {width: 4}\n"                                                                        \
    "runs: [{label: a, method: " method "}]\n"

enum { PIXELS = 64, CLASSES = 4, ROWS = 8 };

/* A linear network's weights [CLASSES, PIXELS] and biases [CLASSES]. */
typedef struct linear {
    const float *w, *b;
} linear;

static linear linear_of(const one_client *o, const float *param)
{
    const eg_params *table = eg_net_params(o->net);
    assert_int_equal(eg_params_at(table, 0)->size, CLASSES * PIXELS);
    return (linear){param + eg_params_at(table, 0)->offset,
                    param + eg_params_at(table, 1)->offset};
}

static void outputs(linear net, const float *x, double logits[CLASSES])
{
    for (int k = 0; k < CLASSES; k++) {
        logits[k] = (double)net.b[k];
        for (int i = 0; i < PIXELS; i++)
            logits[k] += (double)net.w[k * PIXELS + i] * (double)x[i];
    }
}

/* Adds share times the gradient of the rows' mean cross entropy to w and b. */
static void add_gradient(linear net, const float *x, const float *labels, double share,
                         double w[CLASSES * PIXELS], double b[CLASSES])
{
    for (int row = 0; row < ROWS; row++) {
        double logits[CLASSES], sum = 0;
        outputs(net, x + row * PIXELS, logits);
        for (int k = 0; k < CLASSES; k++)
            sum += exp(logits[k]);
        for (int k = 0; k < CLASSES; k++) {
            double miss = exp(logits[k]) / sum - ((int)labels[row] == k);
            b[k] += share * miss / ROWS;
            for (int i = 0; i < PIXELS; i++)
                w[k * PIXELS + i] += share * miss / ROWS * (double)x[row * PIXELS + i];
        }
    }
}

static int best(linear net, const float *x)
{
    double logits[CLASSES];
    int k = 0;
    outputs(net, x, logits);
    for (int i = 1; i < CLASSES; i++)
        k = logits[i] > logits[k] ? i : k;
    return k;
}

static void test_the_second_task_learns_from_drawn_rows_too(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("dgr"), NULL);
    one_client_train(&o);
    size_t n = o.c->n_params;
    float *past; /* the model as the first task left it, which is also what is received */
    assert_ok(eg_alloc(n, sizeof *past, &past));
    memcpy(past, o.c->param, n * sizeof *past);
    one_client_train(&o); /* one batch: its gradient and inputs are still there */

    const float *x = eg_plan_input(o.c->plan, "dgr.x");
    const float *labels = eg_plan_input(o.c->plan, "dgr.labels");
    linear before = linear_of(&o, past), grad = linear_of(&o, o.c->grad);
    double w[CLASSES * PIXELS] = {0}, b[CLASSES] = {0}, most = 0;
    for (int row = 0; row < ROWS; row++)
        assert_int_equal((int)labels[row], best(before, x + row * PIXELS));
    add_gradient(before, o.c->x, o.c->labels, 0.3, w, b);
    add_gradient(before, x, labels, 0.7, w, b);
    for (int i = 0; i < CLASSES * PIXELS; i++) {
        assert_near((double)grad.w[i], w[i], 1e-5);
        most = fmax(most, fabs(w[i]));
    }
    for (int k = 0; k < CLASSES; k++)
        assert_near((double)grad.b[k], b[k], 1e-5);
    assert_true(most > 0.01);
    free(past);
    one_client_close(&o);
}

static void test_the_first_task_is_averaging(void **state)
{
    (void)state;
    assert_true(one_client_same(TEXT("fedavg"), NULL, TEXT("dgr"), NULL, 1));
    assert_false(one_client_same(TEXT("fedavg"), NULL, TEXT("dgr"), NULL, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_second_task_learns_from_drawn_rows_too),
        cmocka_unit_test(test_the_first_task_is_averaging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
