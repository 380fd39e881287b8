/* pass_test.c - what a client keeps of its past, what it draws, and the distance it may hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 24, test: 8, classes: 4, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"                   \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "train: {epochs: 1, batch: 12}\n"                                                          \
    "runs: [{label: a, method: " method "}]\n"

enum { ROWS = 12, WIDTH = 5 };

/* The task's classes before the client's second one are the first's, and those alone. */
static void test_a_client_draws_from_its_past(void **state)
{
    (void)state;
    for (int release = 0; release < 2; release++) {
        one_client o;
        size_t n;
        one_client_open(&o, TEXT("pass"), release ? "pass.variant=release" : NULL);
        for (int round = 0; round < 4; round++) {
            bool current[4] = {0}, met = false;
            one_client_train(&o);
            const float *labels = eg_plan_input(o.c->plan, "pass.old labels");
            assert_int_equal(labels != NULL, release ? round >= 1 : round >= 2);
            for (int i = 0; i < ROWS; i++)
                current[(int)o.c->labels[i]] = true;
            for (int i = 0; labels && i < ROWS; i++)
                met |= current[(int)labels[i]];
            assert_true(release || !met);
            assert_true(!release || round != 3 || met);
            eg_bundle_find(one_client_kept(&o, "pass"), "pass.classes", &n);
            assert_int_equal(n, round < 2 ? 2 : 4);
            assert_null(eg_bundle_find(o.up, "pass.classes", NULL));
        }
        one_client_close(&o);
    }
}

/* The loss differs from that without by the distance, worked out from looks at both models. */
static void test_the_distance_from_the_model_the_task_began_with(void **state)
{
    (void)state;
    one_client a, b;
    float then[ROWS * WIDTH], now[ROWS * WIDTH];
    one_client_open(&a, TEXT("pass"), "pass.distill=0");
    one_client_open(&b, TEXT("pass"), "pass.distill=2");
    for (int round = 0; round < 3; round++) {
        one_client_train(&a);
        one_client_train(&b);
        assert_memory_equal(a.c->param, b.c->param, a.c->n_params * sizeof(float));
    } /* no term in the first task, a distance of 0 in the second's first batch */
    size_t n = a.c->n_params;
    float *began = malloc(n * sizeof *began), *before = malloc(n * sizeof *before);
    assert_true(began && before);
    memcpy(began, eg_bundle_find(one_client_kept(&b, "pass.model"), "pass.model.param", NULL),
           n * sizeof *began);
    memcpy(before, b.c->param, n * sizeof *before);
    one_client_train(&a);
    one_client_train(&b);
    eg_rows rows = {.n = ROWS, .x = b.c->x, .labels = b.c->labels};
    assert_ok(
        eg_client_look(b.c, &(eg_weights){began, NULL}, &rows, &(eg_look){.features = then}));
    assert_ok(
        eg_client_look(b.c, &(eg_weights){before, NULL}, &rows, &(eg_look){.features = now}));
    double squared = 0;
    for (int i = 0; i < ROWS * WIDTH; i++)
        squared += pow((double)now[i] - (double)then[i], 2);
    assert_true(squared > 1e-3);
    assert_near(b.c->loss - a.c->loss, 2 * sqrt(squared), 1e-4);
    assert_memory_not_equal(a.c->param, b.c->param, n * sizeof(float));
    free(began);
    free(before);
    one_client_close(&a);
    one_client_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_draws_from_its_past),
        cmocka_unit_test(test_the_distance_from_the_model_the_task_began_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
