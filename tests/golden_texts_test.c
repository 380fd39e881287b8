/* golden_texts_test.c - small BERT and DistilBERT against PyTorch: loss, features, gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_transformers.py made the values, text by text; here the four texts are one batch
 * with lengths 7, 4, 1 and 5.
 */
#include "golden_file.h"

#include <engram/model.h>
#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, MOST = 7, PIECES = 40, WIDTH = 16, CLASSES = 10 };

/* A tensor has the norm and the entries that PyTorch has. A gradient that is zero but for
 * rounding, as of a key's bias, is so here. */
static void check(const eg_json *want, const float *have, size_t size)
{
    double norm = 0, off = golden_distance(eg_json_get(want, "at"), have, size, 1e-4);
    for (size_t i = 0; i < size; i++)
        norm += (double)have[i] * (double)have[i];
    if (off >= 2e-4)
        fail_msg("%s: norm %.6g, entries off by %.2g", text_of(want, "name"), sqrt(norm), off);
    assert_near(sqrt(norm), real_of(want, "norm"), 2e-4 * real_of(want, "norm") + 1e-6);
}

static void fill_texts(float *x)
{
    static const int lengths[ROWS] = {7, 4, 1, 5};
    golden_fill_labels(GOLDEN_INPUT, PIECES, (size_t)ROWS * MOST, x);
    for (int i = 0; i < ROWS; i++)
        for (int j = lengths[i]; j < MOST; j++)
            x[i * MOST + j] = -1;
}

/* All that a file's run says, in training or eval form, which are one without dropout. */
static void check_run(const eg_json *run, bool training)
{
    char options[160];
    snprintf(options, sizeof options,
             "preset=%s pieces=40 width=16 depth=2 heads=2 hidden=24 positions=9 dropout=0",
             text_of(run, "preset"));
    const eg_net_spec spec = {.model = "bert",
                              .options = options,
                              .channels = 1,
                              .height = 1,
                              .width = MOST,
                              .classes = CLASSES};
    const eg_json *all = eg_json_get(run, "gradients");
    eg_net *net;
    eg_graph *g;
    eg_plan *plan;
    float *value, *grad;
    assert_ok(eg_net_new(&spec, &net));
    const eg_params *p = eg_net_params(net);
    assert_int_equal(eg_json_count(all), eg_params_n(p));
    assert_ok(eg_params_alloc(p, &value));
    assert_ok(eg_params_alloc(p, &grad));
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_json *t = eg_json_at(all, i);
        const eg_param_info *info = tensor_of(p, text_of(t, "name"));
        golden_fill((int)int_of(t, "t"), (float)real_of(t, "base"), (float)real_of(t, "scale"),
                    info->size, value + info->offset);
    }
    assert_ok(eg_graph_new(&g));
    eg_graph_set_training(g, training);
    eg_node *f = eg_net_features(net, g, eg_input(g, "x", eg_dims(ROWS, 1, 1, MOST)));
    eg_node *labels = eg_input(g, "labels", eg_dims(ROWS));
    eg_node *loss = eg_cross_entropy(g, eg_net_head(net, g, f), labels, NULL);
    eg_output(g, "loss", loss);
    eg_output(g, "features", f);
    eg_net_backward(net, g, loss);
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, p, value, grad, NULL));
    fill_texts(eg_plan_input(plan, "x"));
    golden_fill_labels(GOLDEN_LABELS, CLASSES, ROWS, eg_plan_input(plan, "labels"));
    assert_ok(eg_plan_run(plan));
    assert_near((double)*eg_plan_output(plan, "loss"), real_of(run, "loss"), 1e-5);
    check(eg_json_get(run, "features"), eg_plan_output(plan, "features"), ROWS * WIDTH);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *info = tensor_of(p, text_of(eg_json_at(all, i), "name"));
        check(eg_json_at(all, i), grad + info->offset, info->size);
    }
    eg_plan_free(plan);
    eg_graph_free(g);
    eg_net_free(net);
    free(value);
    free(grad);
}

static void test_berts_losses_features_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    eg_json *file;
    assert_ok(eg_json_load("tests/golden/texts.json", &file));
    const eg_json *runs = eg_json_get(file, "runs");
    assert_int_equal(eg_json_count(runs), 2);
    for (size_t i = 0; i < 2; i++) {
        check_run(eg_json_at(runs, i), true);
        check_run(eg_json_at(runs, i), false);
    }
    eg_json_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_berts_losses_features_and_gradients_are_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
