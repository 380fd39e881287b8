/* lwf_test.c - the loss against the same in double, over old classes and over all.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hidden_net.h"

/* One class per task, one batch per epoch. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 36, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2}\n"                   \
    "train: {epochs: 2, batch: 12}\n"                                                          \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "lwf: {lambda: 3}\n"                                                                       \
    "runs: [{label: a, method: " method "}]\n"

/* The old model, and how many classes are old. */
typedef struct teacher {
    const float *past;
    int n;
} teacher;

static double loss_by_hand(const net *n, const float *param, const void *context)
{
    const teacher *t = context;
    double sum = 0, lambda = 3, temperature = 2;
    for (int row = 0; row < ROWS; row++) {
        double z[WIDTH], p[CLASSES], q[CLASSES], all_p = 0, all_q = 0;
        features(n, t->past, row, z);
        outputs(n, t->past, z, p);
        features(n, param, row, z);
        outputs(n, param, z, q);
        for (int k = 0; k < t->n; k++) {
            all_p += exp(p[k] / temperature);
            all_q += exp(q[k] / temperature);
        }
        sum += cross_entropy(n, param, row, z);
        for (int k = 0; k < t->n; k++)
            sum -= lambda * exp(p[k] / temperature) / all_p * (q[k] / temperature - log(all_q));
    }
    return sum / ROWS;
}

/* The second step of the third task's second round: the client has left the model that the task
 * began with, which it still has. Where that step began follows from where it ended. */
static void assert_held(const char *over, int n_old)
{
    char set[32];
    one_client o;
    snprintf(set, sizeof set, "lwf.over=%s", over);
    one_client_open(&o, TEXT("lwf"), set);
    size_t n = o.c->n_params;
    float *past, *before;
    for (int round = 0; round < 4; round++)
        one_client_train(&o);
    assert_ok(eg_alloc(n, sizeof *past, &past));
    assert_ok(eg_alloc(n, sizeof *before, &before));
    memcpy(past, o.c->param, n * sizeof *past);
    one_client_train(&o);
    one_client_train(&o);
    for (size_t i = 0; i < n; i++)
        before[i] = o.c->param[i] + 0.5F * o.c->grad[i];
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    const teacher with = {past, n_old}, none = {past, 1};
    assert_gradient(&k, before, o.c->grad, loss_by_hand, &with);
    assert_true(fabs(loss_by_hand(&k, before, &with) - loss_by_hand(&k, before, &none)) > 0.1);
    free(past);
    free(before);
    one_client_close(&o);
}

static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    assert_held("old", 2);
    assert_held("all", 3);
}

/* One old class alone has the probability 1 in both. */
static void test_it_begins_with_a_clients_second_task(void **state)
{
    (void)state;
    const char *avg = TEXT("fedavg"), *lwf = TEXT("lwf");
    assert_true(one_client_same(avg, NULL, lwf, NULL, 2));
    assert_false(one_client_same(avg, NULL, lwf, NULL, 5));
    assert_true(one_client_same(avg, NULL, lwf, "lwf.lambda=0", 5));
    assert_false(one_client_same(lwf, NULL, lwf, "lwf.temperature=1", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_that_of_the_loss_by_hand),
        cmocka_unit_test(test_it_begins_with_a_clients_second_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
