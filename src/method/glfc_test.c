/* glfc_test.c - GLFC's loss against PyTorch's, its signal, and what its proxy keeps, by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "golden_step.h"
#include "one_client.h"
#include "own_folder.h"

#include "method/lib/glfc.h"

/* With a boundary as the signal: a second task whose clients were sent an old model. */
static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 160, test: 10, classes: 10, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: layers, layers: [conv 8 k3, batch-norm, relu, pool 2, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "memory: {kind: reservoir, size: 10}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "glfc: {signal: boundary, steps: 2, keep: 1, shakes: 2}\n"
    "runs: [{label: a, method: glfc}]\n";

static void test_the_loss_equals_that_of_pytorch(void **state)
{
    (void)state;
    eg_json *file;
    one_client o;
    assert_ok(eg_json_load("tests/golden/glfc-8.json", &file));
    const eg_json *step = eg_json_at(eg_json_get(file, "steps"), 0);
    one_client_open(&o, text, NULL);
    one_client_train(&o);
    eg_client *c = o.c;
    assert_ok(eg_bundle_add_flat(o.down, "glfc.older.param", c->param, c->n_params));
    assert_ok(eg_bundle_add_flat(o.down, "glfc.older.state", c->state, c->n_state));
    assert_ok(one_client_turn(&o, 0));
    assert_int_equal(c->batch, 8);
    golden_fill_inputs(c->plan, step);
    float *y = eg_plan_input(c->plan, "glfc.y");
    for (int i = 0; i < 80; i++)
        y[i] = (int)c->labels[i / 10] == i % 10;
    const eg_params *table = eg_net_params(o.net);
    golden_fill_network(table, eg_json_at(eg_json_get(file, "learners"), 0), 0, c->param,
                        c->state);
    assert_ok(eg_plan_run(c->plan));
    double loss = (double)*eg_plan_output(c->plan, "loss");
    assert_near(golden_step_off(step, loss, table, c->grad), 0, 1e-4);
    eg_plan_input(c->plan, "glfc.old")[0] = 1 - eg_plan_input(c->plan, "glfc.old")[0];
    golden_fill_network(table, eg_json_at(eg_json_get(file, "learners"), 0), 0, c->param,
                        c->state);
    assert_ok(eg_plan_run(c->plan));
    loss = (double)*eg_plan_output(c->plan, "loss");
    assert_true(golden_step_off(step, loss, table, c->grad) > 1e-3);
    one_client_close(&o);
    eg_json_free(file);
}

/* In the first task it sends a gradient for each of five classes, in the second, too, and its
 * memory has got two exemplars of each class of the first. */
static void test_a_new_task_brings_exemplars_and_gradients(void **state)
{
    (void)state;
    one_client o;
    double n;
    one_client_open(&o, text, NULL);
    one_client_train(&o);
    assert_true(eg_bundle_scalar_of(o.up, "glfc.n", &n));
    assert_near(n, 5, 0);
    assert_int_equal(eg_memory_filled(o.c->memory), 0);
    assert_ok(one_client_turn(&o, 0));
    assert_int_equal(eg_memory_filled(o.c->memory), 10);
    const eg_memory_rows rows = eg_memory_get(o.c->memory);
    for (int i = 0; i < 10; i++)
        assert_true(rows.labels[i] < 5);
    one_client_close(&o);
}

/* The entropy of five or so answers is above 1.2 at once; in the next round it has not risen.
 */
static void test_the_entropy_tells_of_a_task_when_it_has_risen(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, "glfc.signal=entropy");
    assert_ok(one_client_turn(&o, 0));
    assert_near(one_client_noted(&o, "glfc.changed"), 1, 0);
    double entropy;
    assert_true(eg_bundle_scalar_of(one_client_kept(&o, "glfc.entropy"), "entropy", &entropy));
    assert_true(entropy > 1.5 && entropy < log(10) + 0.01);
    assert_ok(one_client_turn(&o, 0));
    assert_near(one_client_noted(&o, "glfc.changed"), 0, 0);
    assert_null(eg_bundle_find(o.up, "glfc.gradients", NULL));
    one_client_close(&o);
}

static void test_it_is_also_called_fcil(void **state)
{
    (void)state;
    assert_ptr_equal(eg_method_find("fcil"), eg_method_find("glfc"));
    assert_string_equal(eg_method_find("fcil")->component.name, "glfc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loss_equals_that_of_pytorch),
        cmocka_unit_test(test_a_new_task_brings_exemplars_and_gradients),
        cmocka_unit_test(test_the_entropy_tells_of_a_task_when_it_has_risen),
        cmocka_unit_test(test_it_is_also_called_fcil),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
