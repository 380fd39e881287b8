/* cfed_test.c - who distils when, on which rows, and what that costs, by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"
#include "own_folder.h"

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 80, test: 10, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: mlp, depth: 1, width: 6}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 5}\n"
    "optimizer: {lr: 0}\n"
    "train: {epochs: 1, batch: 10}\n"
    "cfed: {surrogate: glyphs classes=26 first=10 train=30, rows: 10, share: 1, lambda: 0.3}\n"
    "runs: [{label: a, method: cfed}]\n";

/* With a step size of 0 the model is its own teacher: the loss is lambda times the entropy of
 * the softmax of outputs over 2. */
static void test_a_round_of_distillation_by_hand(void **state)
{
    (void)state;
    one_client o;
    size_t n;
    float z[10 * 4], labels[10] = {0};
    double want = 0;
    one_client_open(&o, text, NULL);
    for (int round = 0; round < 5; round++) /* the first task's */
        one_client_train(&o);
    assert_null(one_client_kept(&o, "cfed.surrogate"));
    assert_int_equal(o.c->n_rows, 0);
    one_client_train(&o);
    const float *x = eg_bundle_find(one_client_kept(&o, "cfed.surrogate"), "x", &n);
    assert_int_equal(n, 10 * 64);
    assert_int_equal(o.c->n_rows, 10);
    assert_int_equal(o.c->n_samples, 10);
    for (size_t i = 0; i < n; i++)
        assert_true(x[i] >= -1 && x[i] <= 1);
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = 10, .x = x, .labels = labels},
                             &(eg_look){.logits = z}));
    for (int i = 0; i < 10; i++) {
        double all = 0, q[4];
        for (int y = 0; y < 4; y++)
            all += q[y] = exp((double)z[i * 4 + y] / 2);
        for (int y = 0; y < 4; y++)
            want -= 0.3 * q[y] / all * log(q[y] / all) / 10;
    }
    assert_near(o.c->loss / (double)o.c->n_batches, want, 1e-5);
    one_client_close(&o);
}

/* Rounds 5 to 9 are the second task's; floor(0.4 (n + 1)) is above floor(0.4 n) at 7 and 9. */
static void test_a_share_of_rounds_is_distilled(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, "cfed.share=0.4");
    for (int round = 0; round < 10; round++) {
        one_client_train(&o);
        assert_int_equal(o.c->n_rows > 0, round == 7 || round == 9);
    }
    one_client_close(&o);
}

static void test_a_surrogate_that_is_not_there_is_said(void **state)
{
    (void)state;
    char file[FILES_PATH * 2];
    eg_experiment *e;
    const char *set = "cfed.surrogate=nothing";
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_int_not_equal(eg_experiment_load(file, NULL, 1, &set, &e), EG_OK);
    assert_non_null(strstr(eg_error(), "there is no data set 'nothing'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_round_of_distillation_by_hand),
        cmocka_unit_test(test_a_share_of_rounds_is_distilled),
        cmocka_unit_test(test_a_surrogate_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
