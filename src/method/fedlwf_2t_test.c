/* fedlwf_2t_test.c - the loss with two teachers against the same in double, and when it begins.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hidden_net.h"

#define TEXT(method) HIDDEN_NET_TEXT(method, "1", "2")

static const double own = 0.33, server = 0.34, temperature = 2;

/* The models that teach. */
typedef struct teachers {
    const float *past, *global;
} teachers;

static void cold_softmax(const net *n, const float *param, int row, double p[CLASSES])
{
    double z[WIDTH], sum = 0;
    features(n, param, row, z);
    outputs(n, param, z, p);
    for (int k = 0; k < CLASSES; k++)
        sum += p[k] = exp(p[k] / temperature);
    for (int k = 0; k < CLASSES; k++)
        p[k] /= sum;
}

/* KL(teacher || student), both at the temperature. */
static double divergence(const net *n, const float *teacher, const float *student, int row)
{
    double p[CLASSES], q[CLASSES], sum = 0;
    cold_softmax(n, teacher, row, p);
    cold_softmax(n, student, row, q);
    for (int k = 0; k < CLASSES; k++)
        sum += p[k] * log(p[k] / q[k]);
    return sum;
}

static double loss_by_hand(const net *n, const float *param, const void *context)
{
    const teachers *t = context;
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
        double z[WIDTH];
        features(n, param, row, z);
        sum += (1 - own - server) * cross_entropy(n, param, row, z) +
               own * divergence(n, t->past, param, row) +
               server * divergence(n, t->global, param, row);
    }
    return sum / ROWS;
}

/* In the second step of a round the client has left the model it received, so that both
 * teachers say something. Where that step began follows from what it left and its gradient. */
static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("fedlwf-2t"), NULL);
    size_t n = o.c->n_params;
    float *past = put_past(&o, "fedlwf_2t.past", "fedlwf_2t.param"), *global, *before;
    assert_ok(eg_alloc(n, sizeof *global, &global));
    assert_ok(eg_alloc(n, sizeof *before, &before));
    memcpy(global, o.c->param, n * sizeof *global);
    one_client_train(&o);
    for (size_t i = 0; i < n; i++)
        before[i] = o.c->param[i] + 0.5F * o.c->grad[i];
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    teachers with = {past, global};
    assert_true(divergence(&k, global, before, 0) > 1e-4);
    assert_gradient(&k, before, o.c->grad, loss_by_hand, &with);
    free(past);
    free(global);
    free(before);
    one_client_close(&o);
}

/* In the first step the client stands at the model it received. */
static void test_the_loss_is_that_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, HIDDEN_NET_TEXT("fedlwf-2t", "1", "1"), NULL);
    float *past = put_past(&o, "fedlwf_2t.past", "fedlwf_2t.param"), *global;
    assert_ok(eg_alloc(o.c->n_params, sizeof *global, &global));
    memcpy(global, o.c->param, o.c->n_params * sizeof *global);
    one_client_train(&o);
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    teachers with = {past, global};
    assert_near(o.c->loss, loss_by_hand(&k, global, &with), 1e-5);
    free(past);
    free(global);
    one_client_close(&o);
}

/* The batch's own labels keep what the teachers leave; all of the weight may be theirs. */
static void test_teachers_have_no_more_weight_than_there_is(void **state)
{
    (void)state;
    const eg_method *m = eg_method_find("fedlwf-2t");
    struct {
        double own, server, temperature;
    } options = {0.5, 0.5, 2};
    eg_wishes wishes = {0};
    assert_ok(m->setup(&options, &(eg_setting){0}, &wishes));
    options.own = 0.625;
    assert_fails(m->setup(&options, &(eg_setting){0}, &wishes), EG_EINVAL,
                 "0.625 and 0.5 are more than 1");
}

static void test_it_begins_with_a_clients_second_task(void **state)
{
    (void)state;
    const char *avg = TEXT("fedavg"), *lwf = TEXT("fedlwf-2t");
    assert_true(one_client_same(avg, NULL, lwf, NULL, 3));
}

/* A model that a record holds is this one. */
static void assert_kept(const one_client *o, const char *record, const char *tensor,
                        const float *model)
{
    const eg_bundle *kept = one_client_kept(o, record);
    size_t n;
    assert_non_null(kept);
    const float *values = eg_bundle_find(kept, tensor, &n);
    assert_int_equal(n, o->c->n_params);
    assert_memory_equal(values, model, n * sizeof *values);
}

/* Three tasks of two rounds: in each but the first the teacher is the model that the client's
 * training left in the last round of the task before, in both rounds. */
static void test_each_task_has_the_model_of_the_last_as_its_teacher(void **state)
{
    (void)state;
    static const char text[] =
        "name: t\n"
        "data: {name: blobs, train: 36, test: 6, classes: 6, dim: 4}\n"
        "model: {name: mlp, depth: 1, width: 5}\n"
        "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2}\n"
        "train: {epochs: 1, batch: 12}\n"
        "optimizer: {lr: 0.5}\n"
        "runs: [{label: a, method: fedlwf-2t}]\n";
    one_client o;
    one_client_open(&o, text, NULL);
    size_t n = o.c->n_params;
    float *left;
    assert_ok(eg_alloc(n, sizeof *left, &left));
    for (int round = 0; round < 6; round++) {
        one_client_train(&o);
        if (round < 2)
            assert_null(one_client_kept(&o, "fedlwf_2t.past"));
        else
            assert_kept(&o, "fedlwf_2t.past", "fedlwf_2t.param", left);
        if (round % 2 == 1)
            memcpy(left, o.c->param, n * sizeof *left);
    }
    free(left);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_that_of_the_loss_by_hand),
        cmocka_unit_test(test_the_loss_is_that_by_hand),
        cmocka_unit_test(test_teachers_have_no_more_weight_than_there_is),
        cmocka_unit_test(test_each_task_has_the_model_of_the_last_as_its_teacher),
        cmocka_unit_test(test_it_begins_with_a_clients_second_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
